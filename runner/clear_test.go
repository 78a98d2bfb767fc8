package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tare/testbed"
	"tare/workload"
)

// clearing is a workload that has to be cleared up after.
type clearing struct {
	fakeWorkload
	log *[]string
	err error
}

func (w *clearing) Clear(context.Context, testbed.Site) error {
	*w.log = append(*w.log, "clear")
	return w.err
}

func TestClearedAfterEveryTrial(t *testing.T) {
	var log []string
	w := &clearing{log: &log}
	w.run = func(n int) (workload.Result, error) {
		log = append(log, "trial")
		if n == 2 {
			return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: "exit status 1"}
		}
		return good(), nil
	}
	x := expand(&w.fakeWorkload)
	x.Plan.Rounds = 1
	x.Cells[0].Workload = w
	if err := Run(t.Context(), options(x, record(t, x))); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(strings.Repeat("trial clear ", 4)) // three arms and a repetition
	if !slices.Equal(log, want) {
		t.Errorf("order %v, want %v", log, want)
	}
}

func TestWhatCannotBeClearedEndsTheRun(t *testing.T) {
	var log []string
	w := &clearing{log: &log, err: errors.New("12 pods are still there")}
	x := expand(&w.fakeWorkload)
	x.Cells[0].Workload = w
	err := Run(t.Context(), options(x, record(t, x)))
	if err == nil || !strings.Contains(err.Error(), "clear up after fake in arm") || !strings.Contains(err.Error(), "12 pods are still there") {
		t.Errorf("error %v", err)
	}
	if len(log) != 1 {
		t.Errorf("%d trials were cleared up after, want 1", len(log))
	}
}
