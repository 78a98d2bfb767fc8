package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
)

// withArm adds an arm with layers to an expansion.
func withArm(x *experiment.Expansion, name string, layers ...*fakeLayer) {
	arm := experiment.PlannedArm{Name: name, Role: experiment.Treatment}
	var items []experiment.LayerItem
	for _, l := range layers {
		items = append(items, experiment.LayerItem{Kind: l.name, Config: l})
		arm.Layers = append(arm.Layers, experiment.PlannedLayer{Kind: l.name, Config: l.name})
	}
	x.Plan.Arms = append(x.Plan.Arms, arm)
	x.Layers = append(x.Layers, items)
}

// told describes the result of a try, with one line for each arm and layer.
func told(tried []Tried) []string {
	var lines []string
	for _, t := range tried {
		lines = append(lines, fmt.Sprintf("%s: %s %v", t.Arm, t.Layer, t.Err))
		for _, l := range t.Layers {
			text := fmt.Sprintf("%s: %s of %q", t.Arm, l.Kind, l.Of)
			for _, c := range l.Checks {
				text += fmt.Sprintf(" %s=%v", c.Name, c.OK)
			}
			lines = append(lines, fmt.Sprintf("%s %v %v", text, l.Err, l.Later))
		}
	}
	return lines
}

// Every proof is made once: on in its arm, and off in the other arms. Failures are reported beside the other results,
// and everything is taken down.
func TestTry(t *testing.T) {
	var log []string
	good := &fakeLayer{log: &log, name: "good"}
	off := &fakeLayer{log: &log, name: "off", proof: func() []layer.Check { return []layer.Check{{Layer: "off", Name: "on"}} }}
	broken := &fakeLayer{log: &log, name: "broken", change: func(a *layer.Active) {
		a.Before = func(context.Context, testbed.Site) ([]layer.Check, error) { return nil, errors.New("cannot be seen") }
		a.After = nil
	}}
	never := &fakeLayer{log: &log, name: "never", upErr: errors.New("not here")}
	x := expand(&fakeWorkload{}, good, off)
	withArm(x, "broken", broken)
	withArm(x, "never", never)
	var ready []string
	tried, err := Try(t.Context(), x, fakeBed{}, func(e Event) { ready = append(ready, e.(SiteReady).Arm) })
	if err != nil {
		t.Fatal(err)
	}
	absent := func(arm string, of ...string) (lines []string) {
		for _, o := range of {
			kind, from, _ := strings.Cut(o, "@")
			lines = append(lines, fmt.Sprintf("%s: %s of %q off=true <nil> false", arm, kind, from))
		}
		return lines
	}
	others := []string{"good@arm", "off@arm", "broken@broken", "never@never"}
	want := slices.Concat(
		[]string{"plain:  <nil>"}, absent("plain", others...),
		[]string{"control:  <nil>"}, absent("control", others...),
		[]string{"arm:  <nil>", `arm: good of "" once=true on=true <nil> true`, `arm: off of "" once=true on=false <nil> true`}, absent("arm", others[2:]...),
		[]string{"broken:  <nil>", `broken: broken of "" once=true cannot be seen false`}, absent("broken", others[0], others[1], others[3]),
		[]string{"never: never layer never: not here"},
	)
	if got := told(tried); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"plain", "control", "arm", "broken"}; !slices.Equal(ready, want) {
		t.Errorf("ready are %v, want %v", ready, want)
	}
	if want := []string{"up good", "up off", "up broken", "up never", "down off", "down good", "down broken"}; !slices.Equal(log, want) {
		t.Errorf("layers did %v, want %v", log, want)
	}
}

// A layer with a switch is on only for the proofs of its own arm.
func TestTrySwitches(t *testing.T) {
	var log []string
	note := func(what string, err error) func(context.Context) error {
		return func(context.Context) error { log = append(log, what); return err }
	}
	one := &fakeLayer{log: &log, name: "one", switched: &layer.Switch{On: note("on one", nil), Off: note("off one", nil)}}
	two := &fakeLayer{log: &log, name: "two", switched: &layer.Switch{On: note("on two", errors.New("stuck")), Off: note("off two", nil)}}
	x := expand(&fakeWorkload{}, one)
	withArm(x, "second", two)
	tried, err := Try(t.Context(), x, fakeBed{}, func(Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if got := tried[3]; got.Arm != "second" || fmt.Sprint(got.Err) != "turn a layer on: stuck" || got.Layers != nil {
		t.Errorf("the arm whose layer cannot be turned on: %+v", got)
	}
	if want := []string{"up one", "up two", "on one", "off one", "on two", "off two", "down one", "down two"}; !slices.Equal(log, want) {
		t.Errorf("layers did %v, want %v", log, want)
	}
}

// triedWorkload is a workload that can be tried without a trial.
type triedWorkload struct {
	*fakeWorkload
	try func(context.Context) error
}

func (w *triedWorkload) Try(ctx context.Context, _ testbed.Site) error { return w.try(ctx) }

// A workload that can be tried is tried once at each of its sites, within its time limit.
func TestTryWorkload(t *testing.T) {
	x := expand(&fakeWorkload{})
	calls := 0
	x.Cells[0].Workload = &triedWorkload{&fakeWorkload{}, func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("there is no limit")
		}
		if calls++; calls == 2 {
			return errors.New("refused")
		}
		return nil
	}}
	x.Cells = append(x.Cells, x.Cells[0]) // another level of the same workload
	x.Plan.Cells = append(x.Plan.Cells, x.Plan.Cells[0])
	var said []string
	tried, err := Try(t.Context(), x, fakeBed{}, func(e Event) { said = append(said, fmt.Sprintf("%T", e)) })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range tried {
		got = append(got, fmt.Sprint(one.Arm, one.Workloads))
	}
	if want := []string{"plain[{fake <nil>}]", "control[{fake refused}]", "arm[{fake <nil>}]"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := strings.Count(fmt.Sprint(said), "runner.Trying"); n != 3 {
		t.Errorf("events %v", said)
	}
}

// An interruption ends a try, and everything is taken down.
func TestTryInterrupted(t *testing.T) {
	var log []string
	ctx, cancel := context.WithCancel(t.Context())
	l := &fakeLayer{log: &log, name: "l", proof: func() []layer.Check { cancel(); return nil }}
	if _, err := Try(ctx, expand(&fakeWorkload{}, l), fakeBed{}, func(Event) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if want := []string{"up l", "down l"}; !slices.Equal(log, want) {
		t.Errorf("layers did %v, want %v", log, want)
	}
}
