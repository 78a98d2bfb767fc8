package analysis

import (
	"math"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// explainer adds explanations to verdicts: reasons, detectable effects, diagnostics.
type explainer struct {
	contrast.Rules
	plan  *experiment.Plan
	table *table        // trials of the run; nil for comparisons across runs
	cells []CellSummary // cells of the run; nil for comparisons across runs
}

func (x explainer) explain(results []Comparison, of []*hypothesis) {
	for i, h := range of {
		x.complete(&results[i], h)
	}
}

func (x explainer) complete(c *Comparison, h *hypothesis) {
	c.Baseline, c.Treated = x.summaries(h)
	c.Overheads = stats.Mapped(h.Contrasts, func(v float64) float64 { return contrast.Overhead(v, h.Metric) })
	x.detectable(c, h)
	x.inner(c, h)
	c.Mean = x.mean(h)
	c.Observational = h.Observational
	c.Blocks = x.inBlocks(h)
	x.diagnose(c, h)
	if c.Verdict == h.verdict { // the verdict was not withheld
		c.Reason = h.reason
	}
	if _, few := h.reason.(TooFewValues); few {
		c.Reason = TooFewValues{Loss: x.lost(h)}
	}
}

func (x explainer) mean(h *hypothesis) *Interval {
	at, ok := x.Mean(&h.Data)
	if !ok {
		return nil
	}
	return new(Interval(contrast.Overheads(at, h.Metric)))
}

// inner adds the narrower interval on which a claim of equivalence rests, if the comparison's own interval reaches
// beyond the margin.
func (x explainer) inner(c *Comparison, h *hypothesis) {
	if h.verdict != Equivalent && h.reason != Reason(FarReaching{}) || !beyond(h.Main.At, x.MarginOf(&h.Data)) {
		return
	}
	e := x.Inner().Estimate(&h.Data)
	v := e.Main
	if e.Method != h.Method { // ranks gave e an interval but not h, whose confidence is higher: both then use t
		v = e.T
	}
	if v.OK && !beyond(v.At, x.MarginOf(&h.Data)) {
		c.Inner = &Inner{Interval: Interval(contrast.Overheads(v.At, h.Metric)), Confidence: x.Inner().Confidence}
	}
}

// summaries returns the summaries of the values of both arms. For independent samples, they come from the cell, which
// has them already.
func (x explainer) summaries(h *hypothesis) (base, treated Summary) {
	if h.cell < len(x.cells) && !h.Paired {
		for _, m := range x.cells[h.cell].Metrics {
			if m.Metric.Name == h.Metric.Name {
				return m.Arms[h.base].Summary, m.Arms[h.arm].Summary
			}
		}
	}
	return summarize(h.Baseline, x.Confidence), summarize(h.Treated, x.Confidence)
}

// detectable sets the minimum detectable effect and, if not resolved, the needed rounds, at Holm's worst case. After a
// pilot, both are slightly too small.
func (x explainer) detectable(c *Comparison, h *hypothesis) {
	if !h.Main.OK || h.Size() < 2 {
		return
	}
	alpha, power := x.Alpha/float64(h.family), float64(x.plan.Power)
	if c.MDE = x.found(h, alpha, power); c.MDE > 0 {
		c.Power = power
	}
	switch h.reason.(type) {
	case nil, WithinBias, NoControl, ThinControl, MissingTrials, SameClaim:
		return // more rounds would not change the verdict, or the needed number cannot be computed
	}
	if h.SD == 0 || h.Missing.Count() > 0 { // the future failures of trials cannot be foreseen, nor the arms in which they happen
		return
	}
	if c.Needed = x.needed(h, alpha, power); c.Needed > 0 {
		df := h.Freedom() // degrees of freedom of the noise; c.Needed is proportional to the noise's variance
		at := func(p float64) int {
			return int(math.Ceil(float64(c.Needed) * df / stats.ChiSquaredQuantile(p, df)))
		}
		c.NeededRange = &[2]int{max(at(0.975), (h.Size()+1)*h.RoundsEach()), at(0.025)}
	}
}

// found returns the smallest overhead that the present number of values detects with the probability power; 0: no
// overhead is large enough.
func (x explainer) found(h *hypothesis, alpha, power float64) float64 {
	return math.Abs(contrast.Magnitude(deviation(h)*unitEffect(h, alpha, power), h.Metric))
}
