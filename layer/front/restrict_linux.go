package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"tare/testbed"
)

// Become is the main function of such a helper: it restricts itself by the parameters and
// becomes the command that stands behind them. The restriction holds for the thread that
// restricts, of which the command is made, so that no other thread matters.
func Become[P any](restrict func(P) error) func(context.Context) error {
	return func(context.Context) error {
		args := testbed.HelperOwnArguments()
		if len(args) < 2 {
			return errors.New("it takes its parameters and a command")
		}
		var parameters P
		if err := json.Unmarshal([]byte(args[0]), &parameters); err != nil {
			return fmt.Errorf("its parameters: %w", err)
		}
		program, err := exec.LookPath(args[1])
		if err != nil {
			return err
		}
		runtime.LockOSThread()
		if err := restrict(parameters); err != nil {
			return err
		}
		return fmt.Errorf("start %s: %w", program, syscall.Exec(program, args[1:], os.Environ()))
	}
}
