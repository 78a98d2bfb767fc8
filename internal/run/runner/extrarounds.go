package runner

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/report/wording"
)

// plannedPerExtra limits the extra rounds that replace rounds spoilt by the machine's condition: one for
// every four planned rounds, and at least one.
const plannedPerExtra = 4

// resume returns the first round of this session. Arms that the previous session left out take part again
// from the next round on, since trials of one round must be close in time.
func (r *run) resume() (first int) {
	trials := r.Journal.Trials()
	first = 1
	var left []string // arms that the previous session left out
	for i := range trials {
		if first <= trials[i].Round {
			first, left = trials[i].Round, r.Journal.LeftOut(trials[i].Session)
		}
	}
	r.since = make([]int, len(r.plan.Arms))
	for a, arm := range r.plan.Arms {
		r.since[a] = first
		if slices.Contains(left, arm.Name) {
			r.since[a]++
		}
	}
	r.clock.missed = r.missed()
	return first
}

// missed counts, by cell and arm, the rounds that an earlier session ran without the arm.
func (r *run) missed() map[[2]string]int {
	done := settled(r.plan, r.Journal.Trials(), r.cpuLimited())
	passed := map[[2]string]int{}
	for a, arm := range r.plan.Arms {
		for _, cell := range r.plan.Cells {
			for round := 1; round < r.since[a]; round++ {
				if r.plan.TakesPart(a, round) && !done[trialKey{round, cell.ID, arm.Name}] {
					passed[[2]string{cell.ID, arm.Name}]++
				}
			}
		}
	}
	return passed
}

// total returns the number of rounds to run, of which the argument planned were planned. It adds one extra round for
// each round that a left-out arm has missed. The result spoilt is the number of extra rounds that replace rounds
// spoilt by the machine's condition. All arms run in extra rounds.
func (r *run) total(planned int) (rounds, spoilt int) {
	missed := 0
	for a, arm := range r.plan.Arms {
		for _, cell := range r.plan.Cells {
			if !r.dropped[a] {
				missed = max(missed, r.clock.missed[[2]string{cell.ID, arm.Name}])
			}
		}
	}
	spoilt = min(r.costRounds(math.MaxInt), (planned+plannedPerExtra-1)/plannedPerExtra)
	return planned + missed + spoilt, spoilt
}

// costRounds counts, up to the round last, the rounds in which the last attempt at a trial was spoilt. It counts in
// the cell with most of these rounds.
func (r *run) costRounds(last int) int {
	trials := r.Journal.Trials()
	stands, tried := map[trialKey]bool{}, map[trialKey]bool{}
	for i := range trials {
		t := &trials[i]
		arm := slices.IndexFunc(r.plan.Arms, func(arm experiment.PlannedArm) bool { return arm.Name == t.Arm })
		if arm < 0 || r.dropped[arm] || t.Round > last {
			continue
		}
		at := trialKey{t.Round, t.Cell, t.Arm}
		// Only the last attempt of a sliced trial counts.
		stands[at] = stands[at] && t.Slices == 0 || !repeats(t, r.cpuLimited())
		tried[at] = tried[at] || t.Attempt >= r.plan.Attempts
	}
	most := 0
	for _, cell := range r.plan.Cells {
		rounds := map[int]bool{}
		for at := range tried {
			if at.cell == cell.ID && tried[at] && !stands[at] {
				rounds[at.round] = true
			}
		}
		most = max(most, len(rounds))
	}
	return most
}

// addExtraRounds records that rounds are added to replace rounds spoilt by the machine's condition.
func (r *run) addExtraRounds(planned, spoilt int) error {
	if spoilt <= r.Journal.ExtraRounds() {
		return nil
	}
	why := fmt.Sprintf("after the %s of the plan, %s make up for those in which the machine's condition, or a failed proof, cost a trial", wording.Count(planned, "round", "rounds"), wording.Count(spoilt, "more round", "more rounds"))
	if err := r.Journal.AddExtraRounds(spoilt, why); err != nil {
		return err
	}
	r.Events(ExtraRoundsAdded{Rounds: spoilt})
	return nil
}
