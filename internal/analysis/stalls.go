package analysis

import (
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// A trial is stalled if it is worse than its arm's median by both limits: a factor, and robust standard deviations of a
// cell's logarithms. Estimates include it.
const (
	stallDeviations = 5
	stallLeast      = 1.25
	robust          = 1.4826 // ratio of the standard deviation to the median absolute deviation, for a normal distribution
)

// Stalls is the frequency of stalled trials in an arm and in its reference: the baseline, alone or with the control.
type Stalls struct {
	Factor    float64   `json:"factor"` // a stalled trial is worse than its arm's median by more than this factor
	Arm       Frequency `json:"arm"`
	Reference Frequency `json:"reference"`
	Pooled    bool      `json:"pooled,omitempty"` // set if the reference is the baseline together with the control
	P         float64   `json:"p"`                // two-sided p-value of "equal shares of stalled trials", by Fisher's exact test
	testable  bool      // set if enough trials stalled for a difference to be significant
}

// stalls adds the numbers of stalled trials to the comparisons, and a finding if arm and reference differ
// significantly, corrected for possible findings.
func (x explainer) stalls(run *Run) {
	for _, list := range [][]Comparison{run.Comparisons, run.Controls} {
		able := map[bool]int{}
		for i := range list {
			c := &list[i]
			c.Stalls = x.stallsOf(c)
			if c.Stalls != nil && c.Stalls.testable && c.Restates == "" {
				able[c.Metric.Headline]++
			}
		}
		for i := range list {
			c := &list[i]
			if c.Stalls != nil && c.Restates == "" && c.Stalls.P <= x.Alpha/float64(max(able[c.Metric.Headline], 1)) {
				c.Warnings = append(c.Warnings, Stalling{*c.Stalls})
			}
		}
	}
}

// stallsOf counts the stalled trials of a comparison; nil if no trial stalled.
func (x explainer) stallsOf(c *Comparison) *Stalls {
	// the blocks of an import differ anyway, so a slow trial need not be a stall
	if c.Metric.Scale == experiment.Difference || x.table.blockOf != nil {
		return nil
	}
	metrics := x.cells[x.table.cells[c.Cell]].Metrics
	series := &metrics[slices.IndexFunc(metrics, func(m MetricSeries) bool { return m.Metric.Name == c.Metric.Name })]
	if series.stalled == nil {
		series.factor, series.stalled = stalled(series)
	}
	count := func(arm int) executed {
		if arm < 0 {
			return executed{}
		}
		return executed{len(series.Arms[arm].Values), series.stalled[arm]}
	}
	arm := count(x.table.arms[c.Arm])
	reference, control := count(role(x.plan, experiment.Baseline)), count(role(x.plan, experiment.Control))
	s := &Stalls{Factor: series.factor}
	if !c.Control && control.executions > 0 && fisher(control, reference) > x.Alpha {
		s.Pooled, reference = true, reference.plus(control)
	}
	if arm.failed+reference.failed == 0 {
		return nil
	}
	s.Arm, s.Reference = frequency(arm.failed, arm.executions, x.Confidence), frequency(reference.failed, reference.executions, x.Confidence)
	total := 0
	for _, n := range series.stalled {
		total += n
	}
	s.P, s.testable = fisher(arm, reference), testable(total, arm.executions, reference.executions, x.Alpha)
	return s
}

func stalled(m *MetricSeries) (factor float64, counts []int) {
	counts = make([]int, len(m.Arms))
	worse := make([][]float64, len(m.Arms)) // by arm and value: logarithm of how many times worse the value is than the arm's median
	var sizes []float64
	for a, s := range m.Arms {
		worse[a] = make([]float64, len(s.Values))
		for i, v := range s.Values {
			worse[a][i] = math.Log(v / s.Summary.Median)
			if m.Metric.Better == experiment.Higher {
				worse[a][i] = -worse[a][i]
			}
			sizes = append(sizes, math.Abs(worse[a][i]))
		}
	}
	if len(sizes) == 0 {
		return stallLeast, counts
	}
	limit := max(math.Log(stallLeast), stallDeviations*robust*stats.Median(sizes))
	for a := range worse {
		for _, w := range worse[a] {
			if w > limit {
				counts[a]++
			}
		}
	}
	return contrast.Finite(math.Exp(limit)), counts
}

// MoreRepeats is the finding that an arm has more or fewer spoilt trials (machine's condition, failed proof) than
// baseline and control. If rules discard only slow trials, the remaining values are biased.
type MoreRepeats struct {
	Arm       Frequency `json:"arm"` // number of the arm's spoilt executions, and of all its executions
	Reference Frequency `json:"reference"`
	P         float64   `json:"p"` // two-sided p-value of "no difference", by Fisher's exact test
}

// Kind returns the name of this kind of finding.
func (MoreRepeats) Kind() string { return "more-repeats" }

// spoilt counts an arm's executions in a cell. The field failed of the result counts the spoilt executions.
func (t *table) spoilt(c, a int) (n failureCount) {
	for _, s := range t.slots[c][a] {
		n.executions, n.failed = n.executions+s.attempts, n.failed+s.attempts-s.failed
		if s.valid != nil {
			n.failed--
		}
	}
	return n
}

// moreRepeats compares how often trials were spoilt, by treatment, against baseline and control. alpha is divided by
// the number of possible differences.
func moreRepeats(t *table) (list []Warning) {
	alpha, ables := 1-float64(t.plan.Judged()), 0
	for c, cell := range t.plan.Cells {
		var arms, references []failureCount
		for a, arm := range t.plan.Arms {
			arms = append(arms, t.spoilt(c, a))
			if arm.Role != experiment.Treatment {
				references = append(references, arms[a])
			}
		}
		for a, arm := range t.plan.Arms {
			if of := sum(references); arm.Role == experiment.Treatment && arms[a].testable(references, arms, alpha) {
				ables++
				list = append(list, Warning{Cell: cell.ID, Arm: arm.Name, Finding: MoreRepeats{P: fisher(arms[a].executed, of.executed),
					Arm: frequency(arms[a].failed, arms[a].executions, 1-alpha), Reference: frequency(of.failed, of.executions, 1-alpha)}})
			}
		}
	}
	return slices.DeleteFunc(list, func(w Warning) bool { return w.Finding.(MoreRepeats).P > alpha/float64(ables) })
}
