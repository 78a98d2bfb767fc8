package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/workload"
)

// fakeResident starts a fake service that records calls.
type fakeResident struct {
	fakeWorkload
	log    *[]string
	shared string
	setUp  error
	broken func() error // result of Check
	seen   []workload.Server
}

func (w *fakeResident) Shared() string { return w.shared }

func (w *fakeResident) SetUp(_ context.Context, s workload.SetUp) (workload.Server, error) {
	*w.log = append(*w.log, "set up "+w.shared)
	if w.setUp != nil {
		return nil, w.setUp
	}
	return &fakeStanding{w}, nil
}

func (w *fakeResident) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	w.seen = append(w.seen, t.Standing)
	return w.fakeWorkload.Prepare(ctx, t)
}

type fakeStanding struct{ of *fakeResident }

func (s *fakeStanding) Check(context.Context) error {
	if s.of.broken != nil {
		return s.of.broken()
	}
	return nil
}

func (s *fakeStanding) Down(context.Context) error {
	*s.of.log = append(*s.of.log, "take down "+s.of.shared)
	return nil
}

// residing is an expansion whose arm has a layer, and whose workload has a service.
func residing() (*experiment.Expansion, *fakeResident) {
	w := &fakeResident{log: new([]string), shared: "server"}
	x := expand(&w.fakeWorkload, &fakeLayer{log: w.log, name: "l"})
	x.Plan.SetUps = experiment.SetUpsOnce
	x.Cells[0].Workload = w
	return x, w
}

// A service starts after the layers, ends before them, and is passed to the trials.
func TestResident(t *testing.T) {
	x, w := residing()
	finished(t, x)
	var of []string // of the arm with the layer; its site is the only one with one
	for i, what := range *w.log {
		if what == "up l" || what == "down l" {
			of = append(of, what)
		}
		if what == "down l" && (*w.log)[i-1] != "take down server" {
			t.Errorf("the layer goes before what is kept up: %q", *w.log)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(*w.log), func(s string) bool { return s != "set up server" })); n != 3 || len(of) != 2 {
		t.Errorf("not once in each arm: %q", *w.log)
	}
	if len(w.seen) != 9 || slices.Contains(w.seen, nil) {
		t.Errorf("%d trials got what is kept up: %v", len(w.seen), w.seen)
	}
}

// Cells with equal Shared have one service together; other cells have their own.
func TestResidentsShare(t *testing.T) {
	x, w := residing()
	other := &fakeResident{log: w.log, shared: "another"}
	for i, load := range []workload.Workload{w, other} {
		cell, setUp := x.Plan.Cells[0], x.Cells[0]
		cell.ID, setUp.Workload = fmt.Sprint("cell-", i), load
		x.Plan.Cells, x.Cells = append(x.Plan.Cells, cell), append(x.Cells, setUp)
	}
	finished(t, x)
	count := map[string]int{}
	for _, what := range *w.log {
		count[what]++
	}
	if count["set up server"] != 3 || count["set up another"] != 3 || count["take down server"] != 3 || count["take down another"] != 3 {
		t.Errorf("%v, want one of each in each of 3 arms", count)
	}
}

// An arm whose service is broken is set up anew. A workload whose service cannot start leaves nothing behind.
func TestResidentBreaks(t *testing.T) {
	x, w := residing()
	asked := 0
	w.broken = func() error {
		if asked++; asked == 4 {
			return errors.New("the server has ended")
		}
		return nil
	}
	o := options(x, record(t, x))
	bed := anewBed{opened: map[string]int{}}
	o.Testbed = bed
	finish(t, o)
	if n := bed.opened["plain"] + bed.opened["control"] + bed.opened["arm"]; n != 4 {
		t.Errorf("opened %v, want one of them twice", bed.opened)
	}

	x, w = residing()
	w.setUp = errors.New("no such program")
	err := Run(t.Context(), options(x, record(t, x)))
	if err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("error %v", err)
	}
	if last := (*w.log)[len(*w.log)-1]; strings.HasPrefix(last, "up") {
		t.Errorf("a layer is left: %q", *w.log)
	}
}
