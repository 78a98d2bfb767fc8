package analysis

import (
	"cmp"
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/stats"
	"tare/workload"
)

// A program that fails, runs into its time limit or gives answers that cannot be used
// says something about its arm. Such trials have no value, so they cannot enter the
// comparison of a metric; they are counted and compared by themselves.
//
// How often the program failed is compared by Fisher's exact test, or where rounds share set-ups,
// whose executions may fail together, by set-ups. The reference is the baseline and the control together, which are the same, as long as they do not
// differ; where they do, a claim must hold against both. The hypotheses are members of
// the family under Holm's correction. Which of them count is known before anyone looks
// at who failed: a cell in which so few trials failed, over all arms together, that no
// way to deal them out to an arm and its reference would be a finding adds nothing to
// the family (Tarone 1990, Biometrics 46). A run in which nothing fails so has the
// family that it was planned with. Given how many failed in an arm and its reference
// together, how many failed elsewhere says nothing about who did, so that what is
// counted does not favour any outcome.

// Frequency is how often something happened.
type Frequency struct {
	Count int `json:"count"` // times that it did
	Of    int `json:"of"`    // times that it could have
	// Share is the share with its exact interval (Clopper–Pearson), at the confidence of the intervals of its run.
	Share Interval `json:"share"`
}

func frequency(count, of int, confidence float64) Frequency {
	i, _ := stats.ClopperPearson(count, of, confidence) // 0 ≤ count ≤ of
	return Frequency{Count: count, Of: of, Share: Interval(i)}
}

// Failures says how often the program failed in an arm, of all executions that the
// machine's condition did not spoil. A trial that was repeated counts each time.
type Failures struct {
	Cell string          `json:"cell"` // ID of a cell of the plan
	Arm  string          `json:"arm"`  // name of an arm of the plan
	Role experiment.Role `json:"role"` // of the arm
	// Verdict compares a treatment: fails, gains where it fails less often than the
	// baseline, not resolved, or no verdict; empty for the baseline and the control.
	Verdict Verdict        `json:"verdict,omitempty"`
	Reason  Reason         `json:"-"`
	Failed  Frequency      `json:"failed"`
	Rules   []RuleFailures `json:"rules,omitempty"` // the most frequent first; a trial counts once for each rule
	// Reference is what it is compared with; nil for the baseline.
	Reference *Frequency `json:"reference,omitempty"`
	Pooled    bool       `json:"pooled,omitempty"` // the reference is the baseline and the control together
	// Difference is the share of the arm less that of the reference, with its interval; none for the baseline.
	Difference Interval `json:"difference,omitzero"`
	Method     string   `json:"method,omitempty"` // MethodFisher or MethodSetUps; "" for the baseline
	P          float64  `json:"p"`                // by that test, two-sided; 1 for the baseline
	PAdjusted  float64  `json:"pAdjusted"`        // after Holm
	// Observational says that what is claimed here is of no experiment.
	Observational bool `json:"observational,omitempty"`
}

// The tests that Failures.Method names.
const (
	// MethodFisher is Fisher's exact test, which takes executions for independent.
	MethodFisher = "fisher"
	// MethodSetUps takes what failed in a set-up as one value, since its executions may fail together.
	MethodSetUps = "set-ups"
)

// FailuresOf are those of an arm in a cell; nil where no arm of the cell has any.
func (r *Run) FailuresOf(cell, arm string) *Failures {
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Cell == cell && f.Arm == arm {
			return f
		}
	}
	return nil
}

// Executed is how often the program of an arm was executed in a cell, and failed, by the
// trials that the run was analysed from.
func (r *Run) Executed(trials []journal.Trial, cell, arm string) Frequency {
	if f := r.FailuresOf(cell, arm); f != nil {
		return f.Failed
	}
	n := 0
	for i := range trials { // none failed in the cell
		if t := &trials[i]; t.Cell == cell && t.Arm == arm && t.Valid() {
			n++
		}
	}
	return frequency(0, n, float64(r.Plan.Judged()))
}

// RuleFailures is how often a rule was broken.
type RuleFailures struct {
	Rule string `json:"rule"` // the rule that was broken
	Frequency
}

// failed says whether a trial is invalid by what the program did, and not by the
// machine's condition or a proof of the treatment, after which it is tried again. Of an
// imported trial it is known of its failed operations only.
func failed(plan *experiment.Plan, t *journal.Trial) bool {
	if t.Valid() {
		return false
	}
	if plan.Import != nil {
		return !slices.ContainsFunc(t.Invalid, func(v journal.Violation) bool { return v.Rule != workload.RuleErrors })
	}
	limited := plan.Testbed == experiment.TestbedKubernetes
	return !slices.ContainsFunc(t.Invalid, func(v journal.Violation) bool { return workload.Repeated(v.Rule, limited) })
}

// failures counts the trials of an arm that failed and have no value.
func (t *table) failures(c, a int) (n int) {
	for i := range t.slots[c][a] {
		if t.slots[c][a][i].broke() {
			n++
		}
	}
	return n
}

// tally counts the executions of an arm in a cell.
type tally struct {
	executed
	rules  map[string]int
	setUps map[int]executed // by set-up, where rounds share them; else nil
}

// executed is how often a program was executed, and how often it failed.
type executed struct{ executions, failed int }

func (e executed) plus(o executed) executed {
	return executed{e.executions + o.executions, e.failed + o.failed}
}

// tallies counts every execution, by cell and arm.
func tallies(t *table, trials []journal.Trial) [][]tally {
	all := make([][]tally, len(t.plan.Cells))
	for c := range all {
		all[c] = make([]tally, len(t.plan.Arms))
	}
	for i := range trials {
		trial := &trials[i]
		c, a, ok := t.place(trial.Cell, trial.Arm)
		bad := failed(t.plan, trial)
		if !ok || !bad && !trial.Valid() {
			continue
		}
		n := &all[c][a]
		once := executed{executions: 1}
		if bad {
			once.failed = 1
		}
		n.executed = n.plus(once)
		if n.setUps == nil && t.setUps.Shared() {
			n.setUps = map[int]executed{}
		}
		if n.setUps != nil {
			n.setUps[trial.SetUp] = n.setUps[trial.SetUp].plus(once)
		}
		seen := map[string]bool{}
		for _, v := range trial.Invalid {
			if bad && !seen[v.Rule] {
				seen[v.Rule] = true
				if n.rules == nil {
					n.rules = map[string]int{}
				}
				n.rules[v.Rule]++
			}
		}
	}
	return all
}

// outage is the comparison of failures on its way to a verdict.
type outage struct {
	Failures
	cell, arm int
	counts    bool // as a hypothesis of the family: it can be rejected at all
}

// failings compares the failures of every arm in the cells that have any.
func failings(t *table, trials []journal.Trial, r contrast.Rules) []*outage {
	var list []*outage
	base, control := role(t.plan, experiment.Baseline), role(t.plan, experiment.Control)
	for c, arms := range tallies(t, trials) {
		if base < 0 || !slices.ContainsFunc(arms, func(n tally) bool { return n.failed > 0 }) {
			continue
		}
		references, pooled := arms[base:base+1:base+1], false
		if control >= 0 && arms[control].differs(references) > r.Alpha {
			references, pooled = append(references, arms[control]), true
		}
		for a, arm := range t.plan.Arms {
			f := &outage{cell: c, arm: a, Failures: Failures{Cell: t.plan.Cells[c].ID, Arm: arm.Name, Role: arm.Role,
				Failed: frequency(arms[a].failed, arms[a].executions, r.AtLook()), Rules: arms[a].byRule(r), P: 1, PAdjusted: 1,
				Observational: t.plan.Import != nil}}
			switch arm.Role {
			case experiment.Control:
				f.against(arms[a], arms[base:base+1], r)
				f.PAdjusted = f.P
			case experiment.Treatment:
				f.against(arms[a], references, r)
				f.Pooled = pooled
				if control >= 0 && !pooled {
					f.P = max(f.P, r.TwoSided(arms[a].differs(arms[control:control+1])))
				}
				f.counts = arms[a].able(references, arms, r.Alpha)
				if t.unlike(c, a, base) != nil { // other work fails in other ways
					f.P, f.counts = 1, false
				}
			}
			list = append(list, f)
		}
	}
	return list
}

func (n tally) byRule(r contrast.Rules) []RuleFailures {
	var list []RuleFailures
	for rule, count := range n.rules {
		list = append(list, RuleFailures{rule, frequency(count, n.executions, r.AtLook())})
	}
	slices.SortFunc(list, func(a, b RuleFailures) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

func fisher(a, b executed) float64 {
	p, err := stats.FisherExact(a.failed, a.executions, b.failed, b.executions)
	if err != nil {
		return 1
	}
	return p
}

// able says whether total failures or fewer, dealt out to samples of m and n, could be
// a finding at all.
func able(total, m, n int, alpha float64) bool {
	for k := 1; k <= min(total, m+n); k++ {
		if stats.FisherLeast(k, m, n) <= alpha {
			return true
		}
	}
	return false
}

// decide is the verdict by the p after Holm's correction.
func (f *outage) decide(alpha float64) {
	if f.Role != experiment.Treatment {
		return
	}
	switch {
	case f.PAdjusted > alpha:
		f.Verdict = NotResolved
	case f.Failed.Share.Point > f.Reference.Share.Point:
		f.Verdict = Fails
	default:
		f.Verdict = Gains
	}
}
