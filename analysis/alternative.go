package analysis

import "tare/journal"

// alternatives judges the run once more with the trials that are invalid for
// their failed operations only, and notes it where that changes a verdict. The
// rule stands: an answer that is an error says nothing of what a good one costs,
// and errors are often fast. But a verdict that hangs on the rule must say so.
func (x explainer) alternatives(run *Run, j *judgement, trials []journal.Trial) {
	taken := 0
	for i := range trials {
		if onlyFailed(&trials[i]) {
			taken++
		}
	}
	if taken == 0 {
		return
	}
	t := tabulate(x.table.plan, trials, withFailed)
	t.loops = x.table.loops // what kind of load it is does not change
	other := judge(t)
	if len(other.reasons) > 0 {
		return // with these trials the control fails: there is no verdict to set beside
	}
	with := x
	with.table, with.cells = t, nil
	for i, h := range other.treatments {
		if h.verdict == j.treatments[i].verdict {
			continue
		}
		a := &Alternative{Trials: t.taken(h), Comparison: h.comparison(t.plan)}
		with.complete(&a.Comparison, h)
		run.Comparisons[i].WithInvalid = a
	}
}

// taken counts the invalid trials among the values of a comparison.
func (t *table) taken(h *hypothesis) (n int) {
	arm, base := t.slots[h.cell][h.arm], t.slots[h.cell][h.base]
	used := func(list []slot, i int) bool {
		if i >= len(list) {
			return false
		}
		_, ok := value(list[i].valid, h.Metric)
		return ok
	}
	for i := range max(len(arm), len(base)) {
		for _, lists := range [2][2][]slot{{arm, base}, {base, arm}} {
			if used(lists[0], i) && !lists[0][i].valid.Valid() && (!h.Paired || used(lists[1], i)) {
				n++
			}
		}
	}
	return n
}
