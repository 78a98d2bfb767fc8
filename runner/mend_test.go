package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tare/testbed"
	"tare/workload"
)

// mendedSite is a site that breaks: mend says how the nth look at it ends.
type mendedSite struct {
	fakeSite
	looks int
	mend  func(n int) error
}

func (s *mendedSite) Mend(context.Context) error {
	s.looks++
	return s.mend(s.looks)
}

type mendedBed struct {
	fakeBed
	site *mendedSite
}

func (b mendedBed) Open(context.Context, testbed.Request) (testbed.Site, error) { return b.site, nil }

// A site that is lost costs the trial, which is repeated, and not the run.
func TestLostSite(t *testing.T) {
	gone := &testbed.Disturbance{What: "pod a/client on node n cannot be reached", Err: errors.New("the pod is gone")}
	const detail = "pod a/client on node n cannot be reached: the pod is gone"
	tests := []struct {
		name string
		mend func(n int) error                    // of the nth look before a trial
		run  func(n int) (workload.Result, error) // of the nth trial that is run
		runs int                                  // trials that reached the workload
	}{
		{"during the trial", func(int) error { return nil }, func(n int) (workload.Result, error) {
			if n == 2 {
				return workload.Result{}, fmt.Errorf("iperf3 client: %w", gone)
			}
			return good(), nil
		}, 10},
		{"before the trial", func(n int) error {
			if n == 2 {
				return gone
			}
			return nil
		}, nil, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &fakeWorkload{run: tt.run}
			x := expand(w)
			j := record(t, x)
			o := options(x, j)
			site := &mendedSite{mend: tt.mend}
			o.Testbed = mendedBed{site: site}
			if err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			trials := j.Trials()
			if len(trials) != 10 || site.looks != 10 || w.count != tt.runs {
				t.Fatalf("%d trials, %d looks, %d runs; want 10, 10, %d", len(trials), site.looks, w.count, tt.runs)
			}
			for i, trial := range trials {
				switch {
				case i == 1 && (len(trial.Invalid) != 1 || trial.Invalid[0].Rule != workload.RuleLost || trial.Invalid[0].Detail != detail && trial.Invalid[0].Detail != "iperf3 client: "+detail):
					t.Errorf("trial 2 broke %+v; want the rule %s with %q", trial.Invalid, workload.RuleLost, detail)
				case i != 1 && !trial.Valid():
					t.Errorf("trial %d broke %+v", i+1, trial.Invalid)
				}
			}
		})
	}
}

// A site that cannot be mended for good ends the run, with the reason.
func TestSiteThatIsGone(t *testing.T) {
	x := expand(&fakeWorkload{})
	j := record(t, x)
	o := options(x, j)
	o.Testbed = mendedBed{site: &mendedSite{mend: func(n int) error {
		if n == 3 {
			return errors.New("node n is gone")
		}
		return nil
	}}}
	err := Run(t.Context(), o)
	if err == nil || !strings.HasSuffix(err.Error(), "round 1: node n is gone") {
		t.Errorf("got %v; want the reason", err)
	}
	if n := len(j.Trials()); n != 2 {
		t.Errorf("%d trials on record, want the 2 before", n)
	}
}
