// Package front is what layers share that put something in front of programs under test: a
// sandbox, a filter, fewer rights. What stands there is a program that is found on PATH, or Tare's
// launcher, which restricts itself and becomes the program (Launched).
//
// # Proofs
//
// A small process of Tare's own, the prober (Probe), is started in the way of the programs under
// test. It tries what the layer denies, by the system call itself, and reads what the kernel
// says of it in /proc. The same prober outside of the layer says what is to be seen there.
// Evidence is what must differ:
//
//   - the positive control: behind the front, the action is denied;
//   - the negative control: in an arm without the layer, the same action is allowed;
//   - afterwards: nothing that was started is left, where that could be (Front.Left).
//
// What looks the same outside already, as where this user may not do it in any case, shows
// nothing; where no evidence is left the layer is refused before the first trial.
//
// # What may go wrong, and is found out when the layer is put up
//
// A sandbox with a root of its own hides Tare's own program. It is then handed in as an open
// file. Where that is closed as well, nothing can be looked at from inside: the layer is priced, and
// its check says that it was not shown. A sandbox may also have its programs run where their CPU time
// is not counted with it: the prober burns some, and where that is missing, CPU time and memory
// are unavailable.
package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/layer"
	"tare/layer/evidence"
	"tare/testbed"
)

// Front is something in front of programs under test.
type Front struct {
	Layer  string // kind
	Around layer.Around
	// Args gives the program and the arguments that stand before a command.
	Args func(testbed.Command) []string
	// Evidence are what shows that it is on; none: that it starts what it is given is all that
	// is shown, and Unshown says so.
	Evidence []Evidence
	// Shown gives the checks that it is on, in place of Evidence.
	Shown func(ctx context.Context, site testbed.Site, where testbed.Place) ([]layer.Check, error)
	// Unshown is the caveat where nothing of the effect is shown.
	Unshown string
	// Starts names the program of its own that it starts, where Args begins with a launcher; "" where it starts none.
	Starts string
	// Elsewhere: what it starts is no descendant of it, as where a daemon starts containers.
	Elsewhere bool
	// Left lists what it has left on the system, such as containers, and takes that away.
	Left func(ctx context.Context) ([]string, error)
}

// active is a front at one site.
type active struct {
	Front
	session *layer.Session
	layer   *layer.Active
	places  []testbed.Place
	reach   reach
	outside map[testbed.Place]answers
	chosen  map[testbed.Place][]chosen
	settled bool
}

// reach says how Tare's own program is started behind a front.
type reach int

const (
	byPath reach = iota
	byFile       // as an open file
	absent       // it cannot be
)

// Up puts the front in place. What it does is seen when the site is ready.
func (f Front) Up(s *layer.Session) *layer.Active {
	a := &active{Front: f, session: s, places: f.Around.Places(s)}
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

// settle finds out how the front treats what it starts, and which evidence there is. It gives
// what is wrong, so that a run which cannot be ends before its first trial.
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	a.settled = true
	alone := layer.Dress(a.session.Site, a.layer)
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

// find sees by which way Tare's own program can be started behind the front.
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

// burn is how much CPU time the prober uses to see whether it is counted, and counts is the
// share of it that must be found again: clocks of sandboxes are coarse.
const (
	burn   = 80 * time.Millisecond
	counts = 0.5
)

// count sees whether what a program uses behind the front is counted.
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
		if failed != nil || used.Unavailable { // the testbed has said so itself
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

const uncounted = "what programs use behind it is not counted with it: their CPU time and memory are unavailable, and count as that of other programs where limits are on it"

// choose takes the evidence that looks otherwise outside, at each place.
func (a *active) choose(ctx context.Context) error {
	if len(a.Evidence) == 0 {
		return nil
	}
	a.outside, a.chosen = map[testbed.Place]answers{}, map[testbed.Place][]chosen{}
	for _, where := range a.places {
		outside, err := ask(ctx, a.session.Site, where, false, words(a.Evidence))
		if err != nil {
			return fmt.Errorf("look outside of it: %w", err)
		}
		a.outside[where], a.chosen[where] = outside, choose(a.Evidence, outside)
		if len(a.chosen[where]) == 0 {
			return fmt.Errorf("nothing would show that it is on: %s", same(a.Evidence, outside))
		}
	}
	return nil
}

// before shows that the layer is on.
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
		var checks []layer.Check
		for _, c := range a.chosen[where] {
			checks = append(checks, c.check(a.Layer, inside, a.outside[where]))
		}
		return checks, nil
	})
}

const starting = "it starts a command and passes its answer on"

// starts shows that the front starts a command and passes on its answer: a process of Tare's
// own, or cat where that cannot be started.
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
		check.Caveat = cmp.Or(check.Caveat, "that it is on was not shown") + "; Tare's own program cannot be started behind it, as where that has a root of its own"
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

// down takes away what is left, and sees that it is gone.
func (a *active) down(ctx context.Context) error {
	if _, err := a.Left(ctx); err != nil {
		return err
	}
	left, err := a.Left(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("it has left %s", strings.Join(left, ", "))
	}
	return err
}

// Off shows that what the evidence is about is not to be seen at the site of an arm without the
// layer. Where another layer of that arm stands in front of its programs, that one may show some
// of it too: then it is enough that one piece of evidence is missing, since the layer would show all.
func (f Front) Off(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	if len(f.Evidence) == 0 {
		return nil, nil
	}
	dressed := layer.Fronts(s.Site) > 0
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
			return []layer.Check{{Layer: f.Layer, Name: "without it", Expected: "what is to be seen outside", Observed: "not looked for", OK: true,
				Caveat: "Tare's own program cannot be started behind another layer of this arm: that this one is off was not shown"}}, nil
		}
		if failed != nil {
			return nil, failed
		}
		var checks []layer.Check
		for _, c := range choose(f.Evidence, outside) {
			checks = append(checks, c.off(f.Layer, inside, outside))
		}
		if !dressed || !slices.ContainsFunc(checks, func(c layer.Check) bool { return !c.OK }) {
			return checks, nil
		}
		kept := slices.DeleteFunc(slices.Clone(checks), func(c layer.Check) bool { return !c.OK })
		if len(kept) == 0 {
			kept = checks[:1]
			kept[0].OK, kept[0].Caveat = true, "another layer of this arm shows the same: that this one is off cannot be told from inside"
		}
		return kept, nil
	})
}

// Interrupted gives the error of a command that shows nothing of the layer: it was
// interrupted, or its place was lost.
func Interrupted(ctx context.Context, failed error) error {
	var lost *testbed.Disturbance
	if errors.As(failed, &lost) {
		return failed
	}
	return ctx.Err()
}
