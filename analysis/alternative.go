package analysis

import (
	"fmt"

	"tare/journal"
)

// alternatives judges the run once more with the trials that are invalid for
// their failed operations only, and notes it where that changes a verdict. The
// rule stands: an answer that is an error says nothing of what a good one costs,
// and errors are often fast. But a verdict that hangs on the rule must say so.
func (w wording) alternatives(run *Run, j *judgement, trials []journal.Trial) {
	taken := 0
	for i := range trials {
		if onlyFailed(&trials[i]) {
			taken++
		}
	}
	if taken == 0 {
		return
	}
	t := tabulate(w.table.plan, trials, withFailed)
	t.loops = w.table.loops // what kind of load it is does not change
	other := judge(t)
	if len(other.reasons) > 0 {
		return // with these trials the control fails: there is no verdict to set beside
	}
	with := w
	with.table = t
	for i, h := range other.treatments {
		if h.verdict == j.treatments[i].verdict {
			continue
		}
		c := other.comparison(t.plan, h)
		with.detectable(&c, h)
		with.inner(&c, h)
		n := t.taken(h)
		a := &Alternative{Verdict: h.verdict, Overhead: c.Overhead, Trials: n}
		a.Text = fmt.Sprintf("with the %s that had failed operations, %s", counted(n, "trial"), with.verdict(&c, h))
		if w.observational {
			a.Text = "observational: " + a.Text
		}
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
