package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
	"tare/internal/workload"
)

// A failed program gives no value. Failed trials are therefore counted, and the counts compared by Fisher's exact test.
// If rounds share set-ups, counts per set-up are compared, since the executions of a set-up may fail together. The
// reference is the baseline and the control together. If baseline and control differ, a claim must hold against each of
// them.
//
// The tests belong to the headline's family under Holm's correction, but only if they can be significant. A cell with
// too few failures over all arms adds no test (Tarone 1990, Biometrics 46), so a run without failures keeps the planned
// family. This choice favours no outcome, since the sum does not tell which arm failed.

// Frequency counts an event, such as a failure, among trials or executions.
type Frequency struct {
	Count int `json:"count"` // number of events
	Of    int `json:"of"`    // number of trials or executions in which the event can occur
	// Share is Count ÷ Of. Its interval is exact (Clopper–Pearson), at the confidence of the run's intervals.
	Share Interval `json:"share"`
}

func frequency(count, of int, confidence float64) Frequency {
	i, _ := stats.ClopperPearson(count, of, confidence) // no error, since 0 ≤ count ≤ of
	return Frequency{Count: count, Of: of, Share: Interval(i)}
}

// Failures is how often programs fail in an arm. It counts every execution, repeated or not, except those that the
// machine or a failed proof spoilt.
type Failures struct {
	Cell string          `json:"cell"` // ID of a cell of the plan
	Arm  string          `json:"arm"`  // name of an arm of the plan
	Role experiment.Role `json:"role"` // role of the arm
	// Verdict says whether a treatment fails more often than the baseline (Fails) or less often (Gains), or neither is
	// shown. It is "" for baseline and control.
	Verdict Verdict        `json:"verdict,omitempty"`
	Reason  Reason         `json:"-"`
	Failed  Frequency      `json:"failed"`
	Rules   []RuleFailures `json:"rules,omitempty"` // failures by broken rule, the most frequent first; a trial counts once for each rule that it broke
	// Reference says how often programs fail in the arms that this arm is compared with; nil for the baseline.
	Reference *Frequency `json:"reference,omitempty"`
	Pooled    bool       `json:"pooled,omitempty"` // the reference is the baseline and the control together
	// Difference is the arm's share of failures minus the reference's share, with its interval; none for the
	// baseline.
	Difference Interval `json:"difference,omitzero"`
	Method     string   `json:"method,omitempty"` // MethodFisher or MethodSetUps; "" for the baseline
	P          float64  `json:"p"`                // two-sided p-value of "equal shares of failures", by the test in Method; 1 for the baseline
	PAdjusted  float64  `json:"pAdjusted"`        // P after Holm's correction
	// Observational is set if the data come from no experiment, such as imported files.
	Observational bool `json:"observational,omitempty"`
}

// These are the tests that the field Method of Failures names.
const (
	// methodFisher is Fisher's exact test, which treats executions as independent.
	methodFisher = "fisher"
	// MethodSetUps compares failures per set-up by a permutation test, if rounds share set-ups: executions of one
	// set-up may fail together.
	MethodSetUps = "set-ups"
)

// FailuresOf returns the failures of an arm in a cell; nil if no arm of the cell failed.
func (r *Run) FailuresOf(cell, arm string) *Failures {
	i := slices.IndexFunc(r.Failures, func(f Failures) bool { return f.Cell == cell && f.Arm == arm })
	if i < 0 {
		return nil
	}
	return &r.Failures[i]
}

// Executed returns how often an arm's program was executed in a cell, and how often it failed. The run must come from
// the given trials.
func (r *Run) Executed(trials []journal.Trial, cell, arm string) Frequency {
	if f := r.FailuresOf(cell, arm); f != nil {
		return f.Failed
	}
	n := 0
	for i := range trials { // no failure is known in this cell, so every execution is a valid trial
		if t := &trials[i]; t.Cell == cell && t.Arm == arm && t.Valid() {
			n++
		}
	}
	return frequency(0, n, float64(r.Plan.Judged()))
}

// RuleFailures is the number of trials that broke one rule.
type RuleFailures struct {
	Rule string `json:"rule"` // name of the rule
	Frequency
}

// failed reports whether a trial is invalid because of the program, not of the machine or a proof. In an import, only
// failed operations count.
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

type failureCount struct {
	executed
	rules  map[string]int
	setUps map[int]executed // executions by the number of the set-up; nil: no rounds share a set-up
}

// executed holds the number of executions of a program, and the number that failed.
type executed struct{ executions, failed int }

func (e executed) plus(o executed) executed {
	return executed{e.executions + o.executions, e.failed + o.failed}
}

func failureCounts(t *table, trials []journal.Trial) [][]failureCount {
	all := make([][]failureCount, len(t.plan.Cells))
	for c := range all {
		all[c] = make([]failureCount, len(t.plan.Arms))
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

type failureTest struct {
	Failures
	cell, arm int
	counts    bool // set if the failures could be significant; the comparison is then in the headline's family
}

// failureTests compares the failures of each arm with the failures of its reference, in all cells with a failure.
func failureTests(t *table, trials []journal.Trial, r contrast.Rules) (list []*failureTest) {
	base, control := role(t.plan, experiment.Baseline), role(t.plan, experiment.Control)
	for c, arms := range failureCounts(t, trials) {
		if base < 0 || !slices.ContainsFunc(arms, func(n failureCount) bool { return n.failed > 0 }) {
			continue
		}
		references, pooled := arms[base:base+1:base+1], false
		if control >= 0 && arms[control].differs(references) > r.Alpha {
			references, pooled = append(references, arms[control]), true
		}
		for a, arm := range t.plan.Arms {
			f := &failureTest{cell: c, arm: a, Failures: Failures{Cell: t.plan.Cells[c].ID, Arm: arm.Name, Role: arm.Role,
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
				f.counts = arms[a].testable(references, arms, r.Alpha)
				if t.unlike(c, a, base) != nil { // the arm did other work than the baseline, so their failures cannot be compared
					f.P, f.counts = 1, false
				}
			}
			list = append(list, f)
		}
	}
	return list
}

func (n failureCount) byRule(r contrast.Rules) (list []RuleFailures) {
	for rule, count := range n.rules {
		list = append(list, RuleFailures{rule, frequency(count, n.executions, r.AtLook())})
	}
	slices.SortFunc(list, func(a, b RuleFailures) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

func fisher(a, b executed) float64 {
	return stats.FisherExact(a.failed, a.executions, b.failed, b.executions)
}

// testable reports whether failures in samples of sizes m and n can be significant: some number up to total, all in one
// sample, gives p of at most alpha.
func testable(total, m, n int, alpha float64) bool {
	for k := 1; k <= min(total, m+n); k++ {
		if stats.FisherLeast(k, m, n) <= alpha {
			return true
		}
	}
	return false
}

func (f *failureTest) decide(alpha float64) {
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

// against compares an arm's failures with its references. The interval comes from both shares (Zou and Donner 2008,
// "Construction of confidence limits about effect measures", Statistics in Medicine 27). Shared set-ups widen it by the
// root of the executions per set-up, the largest design effect (Rao and Scott 1992, Biometrics 48).
func (f *failureTest) against(arm failureCount, references []failureCount, r contrast.Rules) {
	of := sum(references)
	reference, wider := frequency(of.failed, of.executions, r.AtLook()), 1.0
	f.Reference, f.P, f.Method = &reference, r.TwoSided(arm.differs(references)), methodFisher
	if n := len(arm.setUps); n > 0 {
		f.Method, wider = MethodSetUps, math.Sqrt(float64(arm.executions)/float64(n))
	}
	x, y := f.Failed.Share, reference.Share
	d := x.Point - y.Point
	f.Difference = Interval{Point: d, Lo: max(-1, d-wider*math.Hypot(x.Point-x.Lo, y.Hi-y.Point)), Hi: min(1, d+wider*math.Hypot(x.Hi-x.Point, y.Point-y.Lo))}
}

// differs returns the p-value of "an arm and its references fail equally often", by Fisher's exact test. With shared
// set-ups, counts are permuted within each set-up, among arms with equally many executions.
func (n failureCount) differs(references []failureCount) float64 {
	if n.setUps == nil {
		return fisher(n.executed, sum(references).executed)
	}
	var blocks [][]int
	for _, setUp := range slices.Sorted(maps.Keys(n.setUps)) {
		block := []int{n.setUps[setUp].failed}
		for _, other := range references {
			if other := other.setUps[setUp]; other.executions == n.setUps[setUp].executions {
				block = append(block, other.failed)
			}
		}
		blocks = append(blocks, block)
	}
	return stats.PermutedCounts(blocks)
}

// testable reports whether the arm's failures could differ significantly from the references', if the cell's failures
// were spread in the most extreme way.
func (n failureCount) testable(references, arms []failureCount, alpha float64) bool {
	all := sum(arms)
	if n.setUps == nil {
		return testable(all.failed, n.executions, sum(references).executions, alpha)
	}
	failing := 0
	for _, s := range all.setUps {
		failing += min(s.failed, 1)
	}
	return math.Pow(float64(1+len(references)), -float64(failing)) <= alpha
}

func sum(list []failureCount) (all failureCount) {
	all.setUps = map[int]executed{}
	for _, n := range list {
		all.executed = all.plus(n.executed)
		for setUp, s := range n.setUps {
			all.setUps[setUp] = all.setUps[setUp].plus(s)
		}
	}
	return all
}
