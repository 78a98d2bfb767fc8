// Package wrapper holds the common part of layers that put a wrapper around subjects: a sandbox, a filter, fewer
// rights. The wrapper is a program on PATH, or Tare's launcher, which restricts itself and then executes the subject
// (Launched).
//
// # Proofs
//
// The prober (Probe), a small helper, is started in the wrapper like a subject. It tries actions that the layer denies,
// and reads in /proc what the kernel reports. A second prober runs outside the wrapper. Evidence is a difference
// between their answers:
//
//   - with the layer, the action is denied inside the wrapper;
//   - in an arm without the layer, the same action is allowed;
//   - afterwards, no container or other leftover exists (Wrapper.Left).
//
// An action that fails both inside and outside the wrapper shows nothing. If no evidence remains, the run ends before
// its first trial.
//
// # Problems that are detected when the layer is put up
//
// A sandbox with its own root hides Tare's executable. Tare then passes the executable into the sandbox as an open
// file. If the sandbox closes that file, Tare can observe nothing inside. The layer is still measured, with a caveat.
//
// Some sandboxes run programs where their CPU time does not count as the sandbox's. The prober detects such a
// sandbox by using CPU time. In such a sandbox, the subjects' CPU time and memory are unavailable.
package wrapper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/lists"
	"tare/internal/testbed"
)

// Wrapper is a wrapper around subjects.
type Wrapper struct {
	Layer  string // kind of the layer
	Around layer.Side
	Args   func(testbed.Command) []string // returns the wrapper's command line, which is put in front of a command
	// Evidence shows that the layer is on. If there is none, the only check is that the wrapper starts its command.
	Evidence []Evidence
	// Shown makes the checks that the layer is on. If it is set, it replaces Evidence.
	Shown   func(ctx context.Context, site testbed.Site, where testbed.Place) ([]layer.Check, error)
	Unshown string // caveat for a layer if no evidence shows its effect
	// Starts names the wrapper program that a launcher starts, if Args begins with a launcher.
	Starts string
	// Elsewhere is set if another process than the wrapper is the subject's ancestor, such as a daemon.
	Elsewhere bool
	// Left removes what the wrapper has left on the system, such as containers, and returns the names.
	Left func(ctx context.Context) ([]string, error)
}

type active struct {
	Wrapper
	session *layer.Session
	layer   *layer.Active
	places  []testbed.Place
	reach   reach
	outside map[testbed.Place]answers
	chosen  map[testbed.Place][]Evidence
	settled bool
}

type reach int // how Tare's executable can be started inside the wrapper

const (
	_      reach = iota // by its path
	byFile              // from an open file
	absent              // not possible
)

// Up puts the wrapper around the subjects. Settle checks the wrapper's effect.
func (f Wrapper) Up(s *layer.Session) *layer.Active {
	a := &active{Wrapper: f, session: s, places: f.Around.Places(s)}
	a.layer = &layer.Active{Settle: a.settle, Wrap: a.wrap, Around: f.Around, Before: a.before, Uncounted: f.Elsewhere}
	if f.Left != nil {
		a.layer.Down = a.down
	}
	return a.layer
}

func (a *active) wrap(cmd testbed.Command) testbed.Command {
	cmd.Args = slices.Concat(a.Args(cmd), cmd.Args)
	return cmd
}

// settle finds out which evidence can show the layer here, and keeps it. An error or a failed check ends the run before
// its first trial.
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	a.settled = true
	alone := layer.WithWrappers(a.session.Site, a.layer)
	if err := a.find(ctx, alone); err != nil {
		return nil, err
	}
	var checks []layer.Check
	if a.reach != absent {
		counted, err := a.count(ctx, alone)
		if err != nil {
			return nil, err
		}
		checks = append(checks, counted...)
		checks = append(checks, a.startUp(ctx, alone)...)
		if err := a.choose(ctx); err != nil {
			return nil, err
		}
	}
	shown, err := a.before(ctx, alone)
	return append(checks, slices.DeleteFunc(shown, func(c layer.Check) bool { return c.OK })...), err
}

func (a *active) find(ctx context.Context, site testbed.Site) error {
	for _, where := range a.places {
		for {
			a.layer.Hides = a.reach == byFile
			_, failed := ask(ctx, site, where, true, nil)
			if err := Interrupted(ctx, failed); err != nil {
				return err
			}
			if failed == nil {
				break
			}
			if a.reach++; a.reach == absent {
				a.layer.Hides = false
				return nil
			}
		}
	}
	return nil
}

// burn is the CPU time that the prober uses in the sandbox. At least the share counts of burn must count as the
// sandbox's: below 1, since clocks are coarse.
const (
	burn   = 80 * time.Millisecond
	counts = 0.5
)

func (a *active) count(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	check := layer.Check{Layer: a.Layer, Name: "CPU time of a program inside", Expected: "counted", OK: true, Once: true}
	if a.Elsewhere {
		check.Observed = "the program runs elsewhere"
		check.Caveat = uncounted
		return []layer.Check{check}, nil
	}
	for _, where := range a.places {
		used, failed := run(ctx, site, where, question{Burn: burn})
		if err := Interrupted(ctx, failed); err != nil {
			return nil, err
		}
		if failed != nil || used.Unavailable { // no value here; the testbed itself reports why usage is unavailable
			continue
		}
		check.Observed = fmt.Sprintf("%v of %v", used.CPU().Round(time.Millisecond), burn)
		if used.CPU() < time.Duration(counts*float64(burn)) {
			a.layer.Uncounted = true
			check.Caveat = uncounted
			return []layer.Check{check}, nil
		}
	}
	if check.Observed == "" {
		return nil, nil
	}
	return []layer.Check{check}, nil
}

const uncounted = "the CPU time and memory of programs inside the wrapper are not counted with it: they are unavailable, and limits on them count them as those of other programs"

func (a *active) choose(ctx context.Context) error {
	if len(a.Evidence) == 0 {
		return nil
	}
	a.outside, a.chosen = map[testbed.Place]answers{}, map[testbed.Place][]Evidence{}
	for _, where := range a.places {
		outside, err := ask(ctx, a.session.Site, where, false, words(a.Evidence))
		if err != nil {
			return fmt.Errorf("run the prober outside the wrapper: %w", err)
		}
		a.outside[where], a.chosen[where] = outside, choose(a.Evidence, outside)
		if len(a.chosen[where]) == 0 {
			return fmt.Errorf("no evidence can show that the layer is on: %s", same(a.Evidence, outside))
		}
	}
	return nil
}

func (a *active) before(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	if !a.settled {
		if broken, err := a.settle(ctx); err != nil || len(broken) > 0 && !broken[len(broken)-1].OK {
			return broken, err
		}
	}
	return layer.Each(a.places, func(where testbed.Place) ([]layer.Check, error) {
		if a.Shown != nil {
			return a.Shown(ctx, site, where)
		}
		if a.reach == absent || len(a.Evidence) == 0 {
			return a.starts(ctx, site, where)
		}
		inside, failed := ask(ctx, site, where, true, words(a.Evidence))
		if err := Interrupted(ctx, failed); err != nil {
			return nil, err
		}
		if failed != nil {
			return []layer.Check{{Layer: a.Layer, Name: "command in front", Expected: starting, Observed: failed.Error()}}, nil
		}
		return lists.Map(a.chosen[where], func(e Evidence) layer.Check { return e.check(a.Layer, inside, a.outside[where]) }), nil
	})
}

const starting = "it starts a command and passes its answer on"

// starts shows that the wrapper starts a command and passes on its output. The command is a helper of Tare, or cat if
// no helper can start inside.
func (a *active) starts(ctx context.Context, site testbed.Site, where testbed.Place) ([]layer.Check, error) {
	check := layer.Check{Layer: a.Layer, Name: "command in front", Expected: starting, Observed: "it does", Caveat: a.Unshown, OK: true}
	var text string
	var failed error
	mark := fmt.Sprint(time.Now().UnixNano())
	want := answerTo(mark)
	if a.reach != absent {
		text, failed = output(ctx, site, where, true, question{Echo: mark})
	} else {
		cmd := testbed.Command{Args: []string{"cat"}, Stdin: strings.NewReader(mark), Subject: true}
		want = mark
		text, failed = evidence.Output(ctx, site, where, cmd, evidence.Limit)
		check.Caveat = cmp.Or(check.Caveat, "the layer was not shown to be on") + "; Tare's executable cannot be started inside the wrapper, for example because the wrapper has its own root"
	}
	if err := Interrupted(ctx, failed); err != nil {
		return nil, err
	}
	if failed != nil || text != want {
		check.OK, check.Observed = false, "it answered "+evidence.Quote(text)
		if failed != nil {
			check.Observed += "; " + failed.Error()
		}
	}
	return []layer.Check{check}, nil
}

// down removes what the wrapper has left, and checks that nothing remains.
func (a *active) down(ctx context.Context) error {
	if _, err := a.Left(ctx); err != nil {
		return err
	}
	left, err := a.Left(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the wrapper has left %s", strings.Join(left, ", "))
	}
	return err
}

// Off shows that the layer's evidence is absent from an arm without the layer. If other layers cause some of the
// effects, one missing effect is enough.
func (f Wrapper) Off(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if len(f.Evidence) == 0 {
		return nil, nil
	}
	dressed := layer.Wrappers(s.Site) > 0
	return layer.Each(f.Around.Places(s), func(where testbed.Place) ([]layer.Check, error) {
		outside, err := ask(ctx, s.Site, where, false, words(f.Evidence))
		if err != nil {
			return nil, err
		}
		inside, failed := ask(ctx, s.Site, where, true, words(f.Evidence))
		if err := Interrupted(ctx, failed); err != nil {
			return nil, err
		}
		if failed != nil && dressed {
			return []layer.Check{{Layer: f.Layer, Name: "without it", Expected: "as outside the wrapper", Observed: "not checked", OK: true,
				Caveat: "Tare's executable cannot be started inside another layer of this arm: Tare did not check that this layer is off"}}, nil
		}
		if failed != nil {
			return nil, failed
		}
		checks := lists.Map(choose(f.Evidence, outside), func(e Evidence) layer.Check { return e.off(f.Layer, inside, outside) })
		if !dressed {
			return checks, nil
		}
		kept := slices.DeleteFunc(slices.Clone(checks), func(c layer.Check) bool { return !c.OK })
		if len(kept) == 0 && len(checks) > 0 {
			kept = checks[:1]
			kept[0].OK, kept[0].Caveat = true, "another layer of this arm has the same effect: whether this layer is off cannot be seen from inside"
		}
		return kept, nil
	})
}

// Interrupted returns an error if a command failed for a reason that says nothing about the layer: it was interrupted,
// or its place was lost.
func Interrupted(ctx context.Context, failed error) error {
	var lost *testbed.Disturbance
	if errors.As(failed, &lost) {
		return failed
	}
	return ctx.Err()
}
