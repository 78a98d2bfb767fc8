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

// TrialDone says that a trial is in the journal.
type TrialDone struct {
	Trial    *journal.Trial
	Progress Progress
}

// RoundsFixed says that the pilot has set the number of rounds.
type RoundsFixed struct{ Rounds int }

// Resting says that the run waits for the machine to become quiet.
type Resting struct{ Pause time.Duration }

func (SiteReady) event()    {}
func (TrialStarted) event() {}
func (TrialDone) event()    {}
func (RoundsFixed) event()  {}
func (Resting) event()      {}

// Progress is how far a run is.
type Progress struct {
	Done, Total int           // trials; repeats of invalid ones are not in Total
	Left        time.Duration // estimate, from the trials of this session as far as there are any
}

// clock estimates the time left.
type clock struct {
	plan   *experiment.Plan
	rounds int
	began  time.Time
	first  int // trials that were there when this session began
}

func newClock(plan *experiment.Plan) *clock {
	return &clock{plan: plan, rounds: plan.Rounds, began: time.Now(), first: -1}
}

// progress counts the steps that are settled (valid, or out of attempts) and
// scales the plan's expectation of the rest by how this session has gone.
func (c *clock) progress(trials []journal.Trial) Progress {
	if c.first < 0 {
		c.first = len(trials)
	}
	expected := map[string]time.Duration{}
	var perRound time.Duration
	for _, cell := range c.plan.Cells {
		expected[cell.ID] = cell.Expected
		perRound += cell.Expected * time.Duration(len(c.plan.Arms))
	}
	type key struct {
		round     int
		cell, arm string
	}
	settled := map[key]bool{}
	var done, here time.Duration
	for i, t := range trials {
		if i >= c.first {
			here += expected[t.Cell]
		}
		k := key{t.Round, t.Cell, t.Arm}
		if !settled[k] && (t.Valid() || t.Attempt >= c.plan.Attempts) {
			settled[k] = true
			done += expected[t.Cell]
		}
	}
	left := max(perRound*time.Duration(c.rounds)-done, 0)
	if here > 0 {
		left = time.Duration(float64(left) * float64(time.Since(c.began)) / float64(here))
	}
	return Progress{Done: len(settled), Total: c.rounds * len(c.plan.Cells) * len(c.plan.Arms), Left: left}
}
