package runner

import (
	"time"

	"tare/experiment"
	"tare/journal"
)

// Event is something that happened in a run: one of the types below.
type Event interface{ event() }

// SiteReady says that an arm is set up, with its layers, at one level of the testbed.
type SiteReady struct{ Arm string }

// TrialStarted says that a trial begins.
type TrialStarted struct {
	Round, Rounds int
	Cell, Arm     string
	Attempt       int
	Expected      time.Duration
	Progress      Progress
}

// BlockStarted says that one trial of each of some arms begins, cut into slices between
// which the arms alternate.
type BlockStarted struct {
	Round, Rounds int
	Cell          string
	Arms          []string // in the order of the first slices
	Slices        int
	Attempt       int
	Progress      Progress
}

// TrialDone says that a trial is in the journal.
type TrialDone struct {
	Trial    *journal.Trial
	Failed   bool              // it is no data, and not repeated: a failure counts as a result of its arm
	Why      journal.Violation // the broken rule because of which it is no data
	Progress Progress
}

// RoundsFixed says that the pilot has set the number of rounds.
type RoundsFixed struct{ Rounds int }

// RoundsMadeUp says that so many rounds are added for those that the machine's condition
// has cost.
type RoundsMadeUp struct{ Rounds int }

// SettingUp says that all arms are set up anew, as the design asks for it.
type SettingUp struct{ Number int }

// SetUpsFixed says that it is decided how often all arms are set up anew.
type SetUpsFixed struct {
	Every int // rounds that share a set-up; 0: all
	Why   string
}

// Resting says that the run waits for the machine to become quiet.
type Resting struct {
	Pause time.Duration
	Why   journal.Violation // of the last trial that the machine's condition has spoilt
}

// Waiting says that the machine was looked at and is not quiet yet, once before the wait and after
// each look.
type Waiting struct {
	Left  time.Duration // how long the run still waits
	Why   string
	First bool // of this wait
}

// SetUpAnew says that an arm is taken down and set up again, because something broke.
type SetUpAnew struct{ Arm, Why string }

// Decided says that every headline comparison is decided, which ends the run.
type Decided struct {
	Rounds int // that it has
	Of     int // at most
}

// EndedEarly says that the run is done with fewer rounds than were planned.
type EndedEarly struct {
	Rounds, Of int
	Why        journal.Violation
}

// ArmDropped says that the session goes on without an arm.
type ArmDropped struct {
	Arm string
	Why error
}

func (SetUpAnew) event()    {}
func (ArmDropped) event()   {}
func (Decided) event()      {}
func (EndedEarly) event()   {}
func (SiteReady) event()    {}
func (TrialStarted) event() {}
func (BlockStarted) event() {}
func (TrialDone) event()    {}
func (RoundsFixed) event()  {}
func (RoundsMadeUp) event() {}
func (SettingUp) event()    {}
func (SetUpsFixed) event()  {}
func (Resting) event()      {}
func (Waiting) event()      {}

// Progress is how far a run is.
type Progress struct {
	Done, Total int           // trials; repeats of invalid ones are not in Total
	Left        time.Duration // estimate, from the trials of this session as far as there are any
}

// step is what one trial settles.
type step struct {
	round     int
	cell, arm string
}

// clock estimates the time left.
type clock struct {
	plan       *experiment.Plan
	rounds     int
	cpuLimited bool
	began      time.Time
	first      int // trials that were there when this session began
	// passed counts the rounds that an earlier session ran without an arm, by cell and
	// arm, and gone are the arms that this one goes on without.
	passed map[[2]string]int
	gone   map[string]bool
	// setUp is how long the last set-up of all arms took, allSetUps all of this session together,
	// and anew how many are to come.
	setUp, allSetUps time.Duration
	anew             int
}

// settingUp notes how long setting all arms up took.
func (c *clock) settingUp(d time.Duration) {
	c.setUp, c.allSetUps = d, c.allSetUps+d
	c.anew = max(c.anew-1, 0)
}

func newClock(plan *experiment.Plan, cpuLimited bool) *clock {
	return &clock{plan: plan, cpuLimited: cpuLimited, rounds: plan.Rounds, began: time.Now(), first: -1, gone: map[string]bool{}}
}

// progress counts the steps that are settled (valid, or out of attempts) and
// scales the plan's expectation of the rest by how this session has gone.
func (c *clock) progress(trials []journal.Trial) Progress {
	if c.first < 0 {
		c.first = len(trials)
	}
	done := map[[2]string]int{}
	for s := range settled(c.plan, trials, c.cpuLimited) {
		done[[2]string{s.cell, s.arm}]++
	}
	p := Progress{}
	expected := map[string]time.Duration{}
	for _, cell := range c.plan.Cells {
		expected[cell.ID] = cell.Expected
		for a, arm := range c.plan.Arms {
			k := [2]string{cell.ID, arm.Name}
			planned := max(c.plan.RoundsOf(a, c.rounds)-c.passed[k], done[k])
			if c.gone[arm.Name] {
				planned = done[k]
			}
			p.Done, p.Total = p.Done+done[k], p.Total+planned
			p.Left += time.Duration(planned-done[k]) * cell.Expected
		}
	}
	var here time.Duration
	for _, t := range trials[c.first:] {
		here += expected[t.Cell]
	}
	if here > 0 {
		p.Left = time.Duration(float64(p.Left) * float64(time.Since(c.began)-c.allSetUps) / float64(here))
	}
	p.Left += time.Duration(c.anew) * c.setUp
	return p
}

// settled are the steps to which nothing more is to come: a trial that stands, as data or as
// a failure, or no attempt left.
func settled(plan *experiment.Plan, trials []journal.Trial, cpuLimited bool) map[step]bool {
	steps := map[step]bool{}
	for i := range trials {
		if t := &trials[i]; !again(t, cpuLimited) || t.Attempt >= plan.Attempts {
			steps[step{t.Round, t.Cell, t.Arm}] = true
		}
	}
	return steps
}
