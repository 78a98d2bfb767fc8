package runner

import (
	"fmt"
	"math"
	"slices"

	"tare/experiment"
	"tare/wording"
)

// For rounds that the machine's condition has cost, one for this many planned ones may be added,
// and always one.
const plannedForOne = 4

// behind finds out where an earlier session stopped: the first round of this one. Arms that
// were left out take part again from the round after the last one, with all others: trials
// of one round are to be neighbours in time.
func (r *run) behind() (first int) {
	trials := r.Journal.Trials()
	first = 1
	var out []string
	for i := range trials {
		if first <= trials[i].Round {
			first, out = trials[i].Round, r.Journal.LeftOut(trials[i].Session)
		}
	}
	r.since = make([]int, len(r.plan.Arms))
	for a, arm := range r.plan.Arms {
		r.since[a] = first
		if slices.Contains(out, arm.Name) {
			r.since[a]++
		}
	}
	r.clock.passed = r.passed()
	return first
}

// passed counts the rounds that an earlier session ran without an arm, by cell and arm.
func (r *run) passed() map[[2]string]int {
	done := settled(r.plan, r.Journal.Trials(), r.cpuLimited())
	passed := map[[2]string]int{}
	for a, arm := range r.plan.Arms {
		for _, cell := range r.plan.Cells {
			for round := 1; round < r.since[a]; round++ {
				if r.plan.TakesPart(a, round) && !done[step{round, cell.ID, arm.Name}] {
					passed[[2]string{cell.ID, arm.Name}]++
				}
			}
		}
	}
	return passed
}

// total is how many rounds there are to be in all, when so many were planned: at the end come
// as many as an arm that takes part lacks because it was left out, and as many as the
// machine's condition has cost, these up to a bound. All arms run in them.
func (r *run) total(planned int) (rounds, spoilt int) {
	left := 0
	for a, arm := range r.plan.Arms {
		for _, cell := range r.plan.Cells {
			if !r.dropped[a] {
				left = max(left, r.clock.passed[[2]string{cell.ID, arm.Name}])
			}
		}
	}
	spoilt = min(r.costRounds(math.MaxInt), (planned+plannedForOne-1)/plannedForOne)
	return planned + left + spoilt, spoilt
}

// costRounds counts the rounds up to one in which the last attempt at a trial was spoilt; in the
// cell that has most of them.
func (r *run) costRounds(last int) int {
	trials := r.Journal.Trials()
	stands, tried := map[step]bool{}, map[step]bool{}
	for i := range trials {
		t := &trials[i]
		if a := slices.IndexFunc(r.plan.Arms, func(arm experiment.PlannedArm) bool { return arm.Name == t.Arm }); a < 0 || r.dropped[a] || t.Round > last {
			continue
		}
		at := step{t.Round, t.Cell, t.Arm}
		// Of trials that are cut into slices only the last attempt counts.
		stands[at] = stands[at] && t.Slices == 0 || !again(t, r.cpuLimited())
		tried[at] = tried[at] || t.Attempt >= r.plan.Attempts
	}
	cost := map[string]map[int]bool{}
	most := 0
	for at := range tried {
		if tried[at] && !stands[at] {
			if cost[at.cell] == nil {
				cost[at.cell] = map[int]bool{}
			}
			cost[at.cell][at.round] = true
			most = max(most, len(cost[at.cell]))
		}
	}
	return most
}

// makeUp records that rounds are added for those that the machine's condition has cost.
func (r *run) makeUp(planned, spoilt int) error {
	if spoilt <= r.Journal.MadeUp() {
		return nil
	}
	why := fmt.Sprintf("after the %s of the plan, %s make up for those in which the machine's condition, or a failed proof, cost a trial", wording.Count(planned, "round", "rounds"), wording.Count(spoilt, "more round", "more rounds"))
	if err := r.Journal.MakeUp(spoilt, why); err != nil {
		return err
	}
	r.Events(RoundsMadeUp{Rounds: spoilt})
	return nil
}
