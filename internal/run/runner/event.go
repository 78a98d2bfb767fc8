package runner

import (
	"time"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Event is an event of a run. Its type is Trying, or one of the types below, from SiteReady to ArmDropped.
type Event any

// SiteReady is sent when an arm's site is set up with its layers.
type SiteReady struct{ Arm string }

// TrialStarted is sent when a trial begins.
type TrialStarted struct {
	Round, Rounds int
	Cell, Arm     string
	Attempt       int
	Expected      time.Duration
	Progress      Progress
}

// BlockStarted is sent when all arms of a cell begin their sliced trials of a round. The arms alternate by slices.
type BlockStarted struct {
	Round, Rounds int
	Cell          string
	Arms          []string // in the order of their first slices
	Slices        int
	Attempt       int
	Progress      Progress
}

// TrialDone is sent when a trial is in the journal.
type TrialDone struct {
	Trial    *journal.Trial
	Failed   bool              // set if the trial failed and is not repeated: its failure is a result of the arm
	Why      journal.Violation // the rule that the trial broke
	Progress Progress
}

// RoundsFixed is sent when the pilot has fixed the number of rounds.
type RoundsFixed struct{ Rounds int }

// ExtraRoundsAdded is sent when extra rounds replace rounds spoilt by the machine's condition. Rounds counts all extra
// rounds so far.
type ExtraRoundsAdded struct{ Rounds int }

// SettingUp is sent when a new set-up of all arms begins. Number counts the set-ups of the run.
type SettingUp struct{ Number int }

// SetUpsFixed is sent when the number of rounds per set-up is fixed.
type SetUpsFixed struct {
	Every int // rounds that share a set-up; 0: all rounds
	Why   string
}

// Resting is sent when the run waits before it repeats a trial. The machine shall become quiet meanwhile.
type Resting struct {
	Pause time.Duration
	Why   journal.Violation // the rule broken by the last trial that the machine's condition has spoilt
}

// Waiting is sent while the run waits for a busy machine: once before the wait and after each check.
type Waiting struct {
	Left  time.Duration // the remaining waiting time
	Why   string
	First bool // set in the first event of a wait
}

// SetUpAnew is sent when a broken arm is taken down and set up again.
type SetUpAnew struct{ Arm, Why string }

// Decided is sent when every headline comparison is decided, which ends the run.
type Decided struct {
	Rounds int // rounds run
	Of     int // maximum number of rounds
}

// EndedEarly is sent when a run ends successfully with fewer rounds than planned.
type EndedEarly struct {
	Rounds, Of int
	Why        journal.Violation
}

// ArmDropped is sent when the session continues without an arm.
type ArmDropped struct {
	Arm string
	Why error
}

// Progress is the progress of a run.
type Progress struct {
	Done, Total int           // numbers of trials; the repeat of an invalid trial does not count as another trial
	Left        time.Duration // estimated remaining time, according to the speed of this session's trials
}

// trialKey identifies a trial without its attempt.
type trialKey struct {
	round     int
	cell, arm string
}

// clock estimates the remaining time.
type clock struct {
	plan       *experiment.Plan
	rounds     int
	cpuLimited bool
	began      time.Time
	first      int               // number of trials that earlier sessions recorded
	missed     map[[2]string]int // rounds in which earlier sessions left out an arm, by cell and arm
	dropped    map[int]bool      // arms that this session left out
	setUp      time.Duration     // duration of the last set-up of all arms
	allSetUps  time.Duration     // duration of all set-ups of this session
	anew       int               // number of set-ups to come
}

func (c *clock) settingUp(d time.Duration) {
	c.setUp, c.allSetUps = d, c.allSetUps+d
	c.anew = max(c.anew-1, 0)
}

func newClock(plan *experiment.Plan, cpuLimited bool) *clock {
	return &clock{plan: plan, cpuLimited: cpuLimited, rounds: plan.Rounds, began: time.Now(), first: -1, dropped: map[int]bool{}}
}

// progress counts the steps of the plan that need no further attempt. It estimates the time of all other steps from
// this session's speed.
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
			planned := max(c.plan.RoundsOf(a, c.rounds)-c.missed[k], done[k])
			if c.dropped[a] {
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

// settled returns the steps of the plan that need no further attempt: those with a valid trial, a failure of the arm,
// or no attempt left.
func settled(plan *experiment.Plan, trials []journal.Trial, cpuLimited bool) map[trialKey]bool {
	steps := map[trialKey]bool{}
	for i := range trials {
		if t := &trials[i]; !repeats(t, cpuLimited) || t.Attempt >= plan.Attempts {
			steps[trialKey{t.Round, t.Cell, t.Arm}] = true
		}
	}
	return steps
}
