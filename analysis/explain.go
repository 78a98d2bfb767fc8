package analysis

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/analysis/contrast"
	"tare/experiment"
)

// explainer adds to verdicts what explains them.
type explainer struct {
	contrast.Rules
	plan  *experiment.Plan
	table *table        // nil: of no single run
	cells []CellSummary // of the run; nil: of no single run
}

// explain completes the results of hypotheses.
func (x explainer) explain(results []Comparison, of []*hypothesis) {
	for i, h := range of {
		x.complete(&results[i], h)
	}
}

// complete adds what explains a verdict: the reason, the minimum detectable
// effect, the values themselves, the diagnostics.
func (x explainer) complete(c *Comparison, h *hypothesis) {
	c.Baseline, c.Treated = x.summaries(h)
	c.Overheads = make([]float64, len(h.Contrasts))
	for i, v := range h.Contrasts {
		c.Overheads[i] = contrast.Overhead(v, h.Metric)
	}
	x.detectable(c, h)
	x.inner(c, h)
	c.Mean = x.mean(h)
	c.Observational = h.Observational
	c.Blocks = x.inBlocks(h)
	x.diagnose(c, h)
	if c.Verdict == h.verdict { // it was not withheld
		c.Reason = h.reason
	}
	if _, few := h.reason.(TooFewValues); few {
		c.Reason = TooFewValues{Loss: x.lost(h)}
	}
}

// mean is the overhead of the arithmetic mean; nil where the values allow none.
func (x explainer) mean(h *hypothesis) *Interval {
	at, ok := x.Mean(&h.Data)
	if !ok {
		return nil
	}
	mean := Interval(contrast.Overheads(at, h.Metric))
	return &mean
}

// inner adds the interval that equivalence rests on, of the estimator that leads,
// where the one shown does not lie within the margin.
func (x explainer) inner(c *Comparison, h *hypothesis) {
	if h.verdict != Equivalent && h.reason != Reason(FarReaching{}) || !beyond(h.Main.At, x.MarginOf(&h.Data)) {
		return
	}
	e := x.Inner().Estimate(&h.Data)
	v := e.Main
	if e.Method != h.Method { // with less confidence, ranks may have an interval already
		v = e.T
	}
	if v.OK && !beyond(v.At, x.MarginOf(&h.Data)) {
		c.Inner = &Inner{Interval: Interval(contrast.Overheads(v.At, h.Metric)), Confidence: x.Inner().Confidence}
	}
}

// summaries describe the values of both arms. Those of independent samples are
// the whole series, which have been described already.
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

// detectable sets the minimum detectable effect and, for what is not resolved, the
// number of rounds, or of values of each arm, with which a new run gets a verdict. Both
// are made for the worst case of Holm's correction, alpha over the number of
// hypotheses, and from the deviation seen. Where so few values can claim nothing there
// is no effect that they could detect, and it stays 0. After a pilot both are
// slightly optimistic, because they leave out Stein's interval.
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
		return // more rounds would change nothing, or what they would is not known
	}
	if h.SD == 0 || h.Missing.Count() > 0 { // how many of more trials fail, and in which arm, is not foreseen
		return
	}
	if c.Needed = x.needed(h, alpha, power); c.Needed > 0 {
		df := h.Freedom() // that the noise is known with; the number grows with its variance
		at := func(p float64) int {
			return int(math.Ceil(float64(c.Needed) * df / distuv.ChiSquared{K: df}.Quantile(p)))
		}
		c.NeededRange = &[2]int{max(at(0.975), (h.Size()+1)*h.RoundsEach()), at(0.025)}
	}
}

// found is the overhead that so many values find with the chance power; 0: none.
func (x explainer) found(h *hypothesis, alpha, power float64) float64 {
	return math.Abs(contrast.Magnitude(deviation(h)*unitOf(h, alpha, power).effect(), h.Metric))
}
