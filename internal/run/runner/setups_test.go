package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name      string
		setUps    experiment.SetUps
		rounds    int
		precision bool
		run       int // rounds that it has in the end
		want      []int
	}{
		{"every round", experiment.SetUpsEveryRound, 3, false, 4, []int{1, 1, 1, 1}},
		{"once", experiment.SetUpsOnce, 3, false, 5, []int{5}},
		{"a number", 6, 20, false, 20, []int{4, 3, 3, 4, 3, 3}},
		{"a number that divides", 3, 12, false, 13, []int{4, 4, 4, 1}},
		{"as many as rounds", 5, 5, false, 5, []int{1, 1, 1, 1, 1}},
		{"more than rounds", 50, 5, false, 5, []int{1, 1, 1, 1, 1}},
		{"with a goal", 3, 8, true, 13, []int{2, 2, 2, 2, 2, 2, 1}},
		{"with a goal, more than rounds", 30, 8, true, 9, []int{1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		p := &experiment.Plan{SetUps: c.setUps, Rounds: c.rounds}
		if c.precision {
			p.Precision = 0.02
		}
		b := groupsOf(p)
		var got []int
		for round := 1; round <= c.run; round++ {
			if round == 1 || b.begins(round) {
				got = append(got, 0)
			}
			got[len(got)-1]++
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: groups of %v rounds, want %v", c.name, got, c.want)
		}
	}
}

func TestAffordable(t *testing.T) {
	for _, c := range []struct {
		setUp, round   time.Duration
		rounds, fewest int
		want           int
	}{
		{time.Second, 5 * time.Second, 12, 6, 1},
		{time.Second, 4 * time.Second, 12, 6, 1},
		{2 * time.Second, 5 * time.Second, 12, 6, 2},
		{12 * time.Second, 20 * time.Second, 60, 6, 3},
		{time.Hour, time.Second, 60, 6, 10},
		{time.Hour, time.Second, 60, 8, 7},
		{time.Hour, time.Second, 60, 1, 10},
		{time.Hour, time.Second, 7, 6, 1},
		{time.Hour, time.Second, 4, 6, 1},
		{time.Second, 0, 12, 6, 2},
	} {
		if got := affordable(c.setUp, c.round, c.rounds, c.fewest); got != c.want {
			t.Errorf("set-up %v, round %v, %d rounds, at least %d: every %d rounds, want %d", c.setUp, c.round, c.rounds, c.fewest, got, c.want)
		}
	}
}

// countedBed records opened and closed sites in order, and knows which are open.
type countedBed struct {
	fakeBed
	log  *[]string
	mu   sync.Mutex // several sites are closed at once
	open map[*countedSite]bool
	fail func(arm string, n int) error // of the nth time that anything is opened; may be nil
	n    int
}

type countedSite struct {
	fakeSite
	bed *countedBed
	arm string
}

func newCountedBed() *countedBed {
	return &countedBed{log: new([]string), open: map[*countedSite]bool{}}
}

func (b *countedBed) Open(ctx context.Context, want testbed.Request) (testbed.Site, error) {
	b.n++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.fail != nil {
		if err := b.fail(want.Name, b.n); err != nil {
			return nil, err
		}
	}
	*b.log = append(*b.log, "open "+want.Name)
	s := &countedSite{bed: b, arm: want.Name}
	b.open[s] = true
	return s, nil
}

func (s *countedSite) Close() error {
	s.bed.mu.Lock()
	defer s.bed.mu.Unlock()
	*s.bed.log = append(*s.bed.log, "close "+s.arm)
	delete(s.bed.open, s)
	return nil
}

// setUps lists the rounds with the set-ups that their trials ran in: "1:1 2:1 3:2".
func setUps(trials []journal.Trial) string {
	var list []string
	for _, t := range trials {
		if s := fmt.Sprintf("%d:%d", t.Round, t.SetUp); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return strings.Join(list, " ")
}

// All arms are taken down, and then set up in a new random order.
func TestSetUpAnewEveryRound(t *testing.T) {
	l := &fakeLayer{log: new([]string), name: "l"}
	x := expand(&fakeWorkload{}, l)
	x.Plan.SetUps = experiment.SetUpsEveryRound
	j := record(t, x)
	o := options(x, j)
	bed := newCountedBed()
	l.log, o.Testbed = bed.log, bed
	finish(t, o)
	if got, want := setUps(j.Trials()), "1:1 2:2 3:3"; got != want {
		t.Errorf("set-ups by round: %s, want %s", got, want)
	}
	var want []string
	for setUp := 1; setUp <= 3; setUp++ {
		for _, a := range x.Plan.SetUpOrder(setUp, 3) {
			want = append(want, "open "+x.Plan.Arms[a].Name)
			if a == 2 {
				want = append(want, "up l")
			}
		}
		if setUp < 3 {
			want = append(want, "down l", "close arm", "close control", "close plain")
		}
	}
	want = append(want, "down l") // sites are the testbed's to close
	for setUp := range 2 {
		at := 5 + 8*setUp
		slices.Sort((*bed.log)[at : at+3]) // several sites are closed at once
	}
	if diff := cmp.Diff(want, *bed.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The order in which arms are set up differs from one set-up to the next.
func TestSetUpOrder(t *testing.T) {
	x := expand(&fakeWorkload{})
	seen := map[string]bool{}
	for setUp := range 30 {
		seen[fmt.Sprint(x.Plan.SetUpOrder(setUp+1, 3))] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d orders of three in 30 set-ups, want all 6", len(seen))
	}
}

// A resumed session begins with a new set-up. Blocks depend only on the numbers of rounds.
func TestSetUpsOfAResumedRun(t *testing.T) {
	for _, c := range []struct {
		stop int // trial in which the first session is interrupted
		want string
	}{
		{4, "1:1 2:2 3:3 4:3 5:4 6:4"},      // between two rounds of a block
		{5, "1:1 2:1 2:2 3:3 4:3 5:4 6:4"},  // within a round
		{7, "1:1 2:1 3:2 4:2 5:3 6:3"},      // at the end of a block: nothing is set up twice
		{9, "1:1 2:1 3:2 3:3 4:3 5:4 6:4"},  // within the first round of a block
		{10, "1:1 2:1 3:2 4:3 5:4 6:4"},     // after the first round of a block
		{100, "1:1 2:1 3:2 4:2 5:3 6:3"},    // never
		{1, "1:1 2:1 3:2 4:2 5:3 6:3"},      // before any trial is recorded
		{18, "1:1 2:1 3:2 4:2 5:3 6:3 6:4"}, // in the last trial
	} {
		ctx, cancel := context.WithCancel(t.Context())
		w := &fakeWorkload{run: func(n int) (workload.Result, error) {
			if n == c.stop {
				cancel()
			}
			return good(), nil
		}}
		x := expand(w)
		x.Plan.Rounds, x.Plan.SetUps = 6, 3
		j := record(t, x)
		o := options(x, j)
		o.Testbed = newCountedBed()
		if err := Run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		j.Close()
		again, err := journal.Resume(j.Dir())
		if err != nil {
			t.Fatal(err)
		}
		o.Journal = again
		finish(t, o)
		if got := setUps(again.Trials()); got != c.want || len(again.Trials()) != 18 {
			t.Errorf("interrupted in trial %d: set-ups by round %s, want %s", c.stop, got, c.want)
		}
		again.Close()
		cancel()
	}
}

// If sites cannot be taken down one by one, arms are set up once. A request for several set-ups is then an error
// before the first trial.
func TestSetUpsThatCannotBe(t *testing.T) {
	for _, n := range []experiment.SetUps{experiment.SetUpsEveryRound, 2} {
		x := expand(&fakeWorkload{})
		x.Plan.SetUps = n
		j := record(t, x)
		err := Run(t.Context(), options(x, j))
		if err == nil || !strings.HasPrefix(err.Error(), "design.setups: "+n.String()+": ") || len(j.Trials()) > 0 {
			t.Errorf("%v: %v, %d trials", n, err, len(j.Trials()))
		}
	}
	x := expand(&fakeWorkload{})
	j := record(t, x)
	o := options(x, j)
	told := ""
	o.Events = func(e Event) {
		if e, ok := e.(SetUpsFixed); ok {
			told = e.Why
		}
	}
	finish(t, o)
	every, fixed := j.SetUps()
	if got := setUps(j.Trials()); got != "1:1 2:1 3:1" || every != 0 || !fixed || !strings.Contains(told, "cannot be taken down") {
		t.Errorf("set-ups by round %s; every %d rounds, fixed is %t, told %q", got, every, fixed, told)
	}
}

// The number of rounds per set-up is decided once for the whole run.
func TestSetUpsAreDecidedOnce(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Rounds = 6
	j := record(t, x)
	if err := j.FixSetUps(4, "all arms are set up anew before every 4 rounds"); err != nil {
		t.Fatal(err)
	}
	o := options(x, j)
	o.Testbed = newCountedBed()
	o.Events = func(e Event) {
		if e, ok := e.(SetUpsFixed); ok {
			t.Errorf("decided once more: %s", e.Why)
		}
	}
	finish(t, o)
	if got, want := setUps(j.Trials()), "1:1 2:1 3:1 4:1 5:2 6:2"; got != want {
		t.Errorf("set-ups by round %s, want %s", got, want)
	}
	if err := j.FixSetUps(4, ""); err == nil {
		t.Error("fixed twice")
	}
}

// With auto, the decision and its reason are recorded before the second round.
func TestSetUpsAreDecided(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Rounds = 60
	j := record(t, x)
	o := options(x, j)
	o.Testbed, o.Fewest = newCountedBed(), 20
	var told []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Events = func(e Event) {
		if e, ok := e.(SetUpsFixed); ok {
			told = append(told, e.Why)
			if len(j.Trials()) != 3 || e.Every < 1 || e.Every > 3 {
				t.Errorf("after %d trials: every %d rounds", len(j.Trials()), e.Every)
			}
			if every, fixed := j.SetUps(); every != e.Every || !fixed {
				t.Errorf("on record: every %d rounds, fixed is %t", every, fixed)
			}
			cancel()
		}
	}
	if err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "all arms are set up anew before every ") || !strings.Contains(told[0], "setting up takes ") {
		t.Errorf("told %q", told)
	}
}

// A run that an older Tare began has one set-up in each session.
func TestSetUpsOfAnOlderRun(t *testing.T) {
	x := expand(&fakeWorkload{})
	j := record(t, x)
	first := x.Plan.Arms[x.Plan.Order(1)[0].Arm].Name
	raw, err := j.Raw(1, 1, first, "fake")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(&journal.Trial{Round: 1, Attempt: 1, Position: 1, Cell: "fake", Arm: first, Values: good().Values, Raw: raw.Dir()}); err != nil {
		t.Fatal(err)
	}
	o := options(x, j)
	o.Testbed = newCountedBed()
	finish(t, o)
	if got, want := setUps(j.Trials()), "1:0 1:1 2:1 3:1"; got != want {
		t.Errorf("set-ups by round %s, want %s", got, want)
	}
}

// An arm that cannot be set up anew is left out. If it is the baseline or the control, the session ends. Nothing is
// left behind in either case.
func TestSetUpAnewFails(t *testing.T) {
	for _, arm := range []string{"arm", "plain", "control"} {
		bed := newCountedBed()
		l := &fakeLayer{log: bed.log, name: "l"}
		x := twoTreatments(&fakeWorkload{}, l)
		x.Plan.SetUps = experiment.SetUpsEveryRound
		j := record(t, x)
		o := options(x, j)
		o.Testbed = bed
		bed.fail = func(name string, n int) error {
			if name == arm && n > 4 {
				return errors.New("no node has room")
			}
			return nil
		}
		err := Run(t.Context(), o)
		var dropped *DroppedError
		if errors.As(err, &dropped) != (arm == "arm") || err == nil || !strings.HasSuffix(err.Error(), "arm "+arm+": no node has room") || j.Finished() {
			t.Errorf("%s: %v, finished is %t", arm, err, j.Finished())
		}
		got := validRounds(j.Trials())
		if arm == "arm" && (got["arm"] != "1" || got["plain"] != "1 2 3" || got["other"] != "1 2 3") || arm != "arm" && got["other"] != "1" {
			t.Errorf("%s: valid trials by arm: %v", arm, got)
		}
		ups, downs := 0, 0
		for _, did := range *bed.log {
			switch did {
			case "up l":
				ups++
			case "down l":
				downs++
			}
		}
		if ups != downs || len(bed.open) > 4 {
			t.Errorf("%s: the layer was put up %d times and taken down %d times, %d sites are open", arm, ups, downs, len(bed.open))
		}
	}
}

// An interruption during a new set-up leaves no layer behind.
func TestInterruptedWhileSettingUp(t *testing.T) {
	for n := 4; n <= 6; n++ {
		bed := newCountedBed()
		l := &fakeLayer{log: bed.log, name: "l"}
		x := expand(&fakeWorkload{}, l)
		x.Plan.SetUps = experiment.SetUpsEveryRound
		j := record(t, x)
		o := options(x, j)
		o.Testbed = bed
		ctx, cancel := context.WithCancel(t.Context())
		bed.fail = func(_ string, at int) error {
			if at == n {
				cancel()
			}
			return nil
		}
		if err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want canceled", err)
		}
		up := 0
		for _, did := range *bed.log {
			switch did {
			case "up l":
				up++
			case "down l":
				up--
			}
		}
		if up != 0 || len(j.Trials()) != 3 {
			t.Errorf("interrupted at site %d: %d layers are still up, %d trials", n, up, len(j.Trials()))
		}
	}
}

// The remaining time includes set-ups to come.
func TestTimeLeftCountsSetUps(t *testing.T) {
	x := expand(&fakeWorkload{})
	x.Plan.Rounds = 6
	c := newClock(&x.Plan, false)
	c.rounds, c.anew = 6, 3
	without := c.progress(nil).Left
	c.settingUp(time.Hour)
	if got := c.progress(nil).Left - without; got != 2*time.Hour {
		t.Errorf("two set-ups of an hour add %v", got)
	}
}
