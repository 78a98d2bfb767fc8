package wrapper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

// Works tests whether a wrapper can start the program `true` on this machine.
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

const tryLimit = 20 * time.Second // timeout of a wrapper that starts a program

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

// Launchable returns the probe of a layer that does nothing but set up the launcher.
func Launchable(name string, s launcher.Settings) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding { return []testbed.Finding{Launches(ctx, name, s)} }
}

// Launches tests whether, on this machine, the launcher can start a program with the settings.
func Launches(ctx context.Context, name string, s launcher.Settings) testbed.Finding {
	f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "uses Tare's launcher, which starts a program here"}
	return f.Tried(try(ctx, []string{s.Argument()}))
}

// Magic is no valid descriptor, address or set of flags, and so no program passes it to a system call.
const Magic = 0x7a7e_7a7e_7a7e_7a7e

// Launched returns the wrapper of a layer that Tare's launcher applies, with the settings s.
func Launched(kind string, around layer.Side, s launcher.Settings, evidence ...Evidence) Wrapper {
	return Wrapper{Layer: kind, Around: around, Args: Always(s.Argument()), Evidence: evidence}
}

// Idle returns the wrapper of a layer with 0 rules: a launcher without settings. The argument effect describes the
// layer, such as "installs no filter".
func Idle(kind string, around layer.Side, effect string) Wrapper {
	f := Launched(kind, around, launcher.Settings{})
	f.Unshown = "rules: 0 " + effect + ": the only check is that the launcher starts programs"
	return f
}

// Makeable lists actions that the prober can try: each makes a file in a directory. The least harmful action is first.
var Makeable = []string{"write:/tmp", "write:/var/tmp", "write:/dev/shm", "write:/run", "write:/"}

// Always returns a function that puts the same arguments before every command.
func Always(args ...string) func(testbed.Command) []string {
	return func(testbed.Command) []string { return args }
}

const starts = 5 // number of starts from which the start-up time of a wrapper is measured

// startUp measures how long a program that ends at once takes, inside and outside the wrapper. Wrappers that start no
// program of their own have no such check.
func (a *active) startUp(ctx context.Context, behind testbed.Site) []layer.Check {
	var checks []layer.Check
	for _, where := range a.places {
		program := a.Starts
		if args := a.Args(testbed.Command{}); program == "" && launcher.Count(args) == 0 {
			program = filepath.Base(args[0])
		}
		if program == "" {
			continue
		}
		with, ok := typical(ctx, behind, where, true)
		without, also := typical(ctx, a.session.Site, where, false)
		if !ok || !also {
			continue
		}
		checks = append(checks, layer.Check{Layer: a.Layer, Name: "start of " + program, Expected: "measured", OK: true, Once: true,
			Observed: fmt.Sprintf("%v; without it %v", with.Round(10*time.Microsecond), without.Round(10*time.Microsecond)),
			StartUp:  max(with-without, 0), Program: program})
	}
	return checks
}

func typical(ctx context.Context, site testbed.Site, where testbed.Place, subject bool) (time.Duration, bool) {
	ctx, cancel := context.WithTimeout(ctx, evidence.Limit)
	defer cancel()
	var took []time.Duration
	for range starts {
		used, err := testbed.Run(ctx, site, where, testbed.Command{Args: []string{"true"}, Subject: subject})
		if err != nil {
			return 0, false
		}
		took = append(took, used.Wall)
	}
	slices.Sort(took)
	return took[starts/2], true
}
