package analysis

import (
	"slices"

	"tare/journal"
	"tare/workload"
)

// inOrder gives every trial a place of its own, in the order measured: by start
// where every file of an arm tells it, otherwise as they stand in the journal.
// Rounds mean nothing here, and no trial replaces another.
func (t *table) inOrder(trials []journal.Trial) {
	lists := make([][][]*journal.Trial, len(t.plan.Cells))
	for c := range lists {
		lists[c] = make([][]*journal.Trial, len(t.plan.Arms))
	}
	for i := range trials {
		c, a, ok := t.place(trials[i].Cell, trials[i].Arm)
		if !ok {
			t.lose(&trials[i])
			continue
		}
		lists[c][a] = append(lists[c][a], &trials[i])
	}
	t.slots = make([][][]slot, len(lists))
	for c := range lists {
		t.slots[c] = make([][]slot, len(lists[c]))
		for a, list := range lists[c] {
			byStart(list)
			t.slots[c][a] = make([]slot, len(list))
			for i, trial := range list {
				t.add(&t.slots[c][a][i], trial)
			}
			for len(t.rounds) < len(list) {
				t.rounds = append(t.rounds, len(t.rounds)+1)
			}
		}
	}
	t.final = len(t.rounds)
	t.at = make([][]int, len(lists))
	for c := range t.at {
		t.at[c] = t.rounds
	}
}

// byStart sorts trials by their start if all of them tell it.
func byStart(list []*journal.Trial) {
	if slices.ContainsFunc(list, func(t *journal.Trial) bool { return t.Start.IsZero() }) {
		return
	}
	slices.SortStableFunc(list, func(a, b *journal.Trial) int { return a.Start.Compare(b.Start) })
}

// onlyFailed says whether a trial would be data but for its failed operations.
func onlyFailed(t *journal.Trial) bool {
	return len(t.Invalid) > 0 && len(t.Values) > 0 &&
		!slices.ContainsFunc(t.Invalid, func(v journal.Violation) bool { return v.Rule != workload.RuleErrors })
}
