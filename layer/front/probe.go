package front

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"tare/safetext"
	"tare/testbed"
)

// Works tries whether a front starts a program on this machine: it has it run true.
func Works(ctx context.Context, front []string, install string) testbed.Finding {
	f := testbed.Finding{Name: front[0], Status: testbed.Works}
	path, err := exec.LookPath(front[0])
	if err != nil {
		f.Status, f.Detail, f.Hint = testbed.Missing, err.Error(), install
		return f
	}
	f.Detail = path + " starts a program"
	if err := try(ctx, front); err != nil {
		f.Status, f.Detail = testbed.Refused, path+": "+err.Error()
	}
	return f
}

// tryLimit is how long a front may take to start a program.
const tryLimit = 20 * time.Second

func try(ctx context.Context, front []string) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	args := append(append([]string{}, front[1:]...), "true")
	cmd := exec.CommandContext(ctx, front[0], args...)
	cmd.WaitDelay = time.Second
	grouped(cmd)
	out, err := cmd.CombinedOutput()
	switch said := safetext.Line(safetext.Tail(strings.TrimSpace(string(out)), 300)); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("it has not started true in time")
	case said != "":
		return errors.New(said)
	}
	return err
}

// OwnWorks tries whether a front that is a helper of Tare's starts a program on this machine.
func OwnWorks(ctx context.Context, name string, front []string) testbed.Finding {
	f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "by a process of Tare's own; here it starts a program"}
	self, err := os.Executable()
	if err == nil {
		err = try(ctx, append([]string{self}, front[1:]...))
	}
	if err != nil {
		f.Status, f.Detail = testbed.Refused, err.Error()
	}
	return f
}
