package runner

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/report/wording"
)

// plannedPerExtra limits the extra rounds, which replace rounds spoilt by the machine's condition. A run has at
// most one extra round for every four planned rounds, rounded up.
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
	done := settled(r.plan, trials, r.cpuLimited())
	r.since, r.clock.missed = make([]int, len(r.plan.Arms)), map[[2]string]int{}
	for a, arm := range r.plan.Arms {
		r.since[a] = first
		if slices.Contains(left, arm.Name) {
			r.since[a]++
		}
		for _, cell := range r.plan.Cells {
			for round := 1; round < r.since[a]; round++ {
				if r.plan.TakesPart(a, round) && !done[trialKey{round, cell.ID, arm.Name}] {
					r.clock.missed[[2]string{cell.ID, arm.Name}]++
				}
			}
		}
	}
	return first
}

// total adds extra rounds to the number of planned rounds: one for each round that a left-out arm has missed,
// and those that replace rounds spoilt by the machine's condition. The result spoilt counts the latter. All
// arms run in extra rounds.
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

// costRounds counts the spoilt rounds up to the round last, in the cell with most spoilt rounds. A round is
// spoilt if the last attempt at one of its trials is spoilt.
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

// addExtraRounds records the number of extra rounds in the journal if the number has grown.
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
