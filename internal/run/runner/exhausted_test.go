package runner

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"tare/internal/layer"
	"tare/internal/testbed"
)

// TestExhausted: if a proof fails because Tare itself has reached a limit of the system, this shows nothing about the
// arm. The run ends and names the limit. It does not record invalid trials.
func TestExhausted(t *testing.T) {
	for _, reached := range []error{
		&fs.PathError{Op: "fork/exec", Path: "/usr/bin/true", Err: syscall.EAGAIN},
		fmt.Errorf("start it: %w", syscall.EMFILE),
	} {
		for part, change := range map[string]func(*layer.Active){
			"before": func(a *layer.Active) {
				a.Before = func(context.Context, testbed.Site) ([]layer.Check, error) { return nil, reached }
			},
			"after": func(a *layer.Active) {
				a.After = func(context.Context, layer.Did) ([]layer.Check, error) { return nil, reached }
			},
		} {
			x := expand(&fakeWorkload{}, &fakeLayer{log: new([]string), name: "l", change: change})
			j := record(t, x)
			err := Run(t.Context(), options(x, j))
			if err == nil || !strings.Contains(err.Error(), "arm arm, round 1: ") || !strings.HasSuffix(err.Error(), reached.Error()) {
				t.Errorf("%s: error %v", part, err)
			}
			for _, trial := range j.Trials() {
				if !trial.Valid() {
					t.Errorf("%s: an invalid trial is on record: %+v", part, trial.Invalid)
				}
			}
		}
	}
}
