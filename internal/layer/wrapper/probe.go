package wrapper

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

// Works tests whether a wrapper starts a program on this machine. It starts the program true in the wrapper.
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

// tryLimit is how long a wrapper may take to start a program and end.
const tryLimit = 20 * time.Second

func try(ctx context.Context, front []string) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	var out, problems bytes.Buffer
	_, err := testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{Args: append(slices.Clone(front), "true"), Stdout: &out, Stderr: &problems})
	switch said := safetext.Line(safetext.Tail(strings.TrimSpace(out.String()+problems.String()), 300)); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("it did not start true in time")
	case said != "":
		return errors.New(said)
	}
	return err
}

// Launchable returns the probe of a layer whose only effect is that of launcher settings.
func Launchable(name string, s launcher.Settings) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding { return []testbed.Finding{Launches(ctx, name, s)} }
}

// Launches tests on this machine whether the launcher, with the settings, starts a program.
func Launches(ctx context.Context, name string, s launcher.Settings) testbed.Finding {
	f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "uses Tare's launcher, which starts a program here"}
	return f.Tried(try(ctx, []string{s.Argument()}))
}
