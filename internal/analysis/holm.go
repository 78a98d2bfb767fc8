package analysis

import (
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/stats"
)

// corrected holds p values after Holm's correction, by hypothesis.
type corrected struct {
	p      []float64 // p-values of "no difference"
	equiv  []float64 // p-values of "not equivalent", by the headline estimator
	both   []float64 // p-values of "not equivalent", by both estimators
	others []float64 // p-values of the comparisons of failures
}

// adjusted holds the corrected p values of one hypothesis.
type adjusted struct {
	p, equiv, both float64
	normal         bool // noise is assumed to be normal
}

func (c corrected) at(i int) adjusted { return adjusted{p: c.p[i], equiv: c.equiv[i], both: c.both[i]} }

// claims counts the headline hypotheses. In a closed loop, two metrics that carry the same information
// count once.
func claims(all []*hypothesis) (n int) {
	for _, h := range all {
		if h.Metric.Headline && !h.echo {
			n++
		}
	}
	return n
}

// holm adjusts the p-values of the headline hypotheses for their number. The other p-values are from
// comparisons of failures, and belong to the same family. In a closed loop, two metrics that carry the same
// information are one claim. The metric that restates the other one is adjusted as if it took the other's
// place.
func holm(all []*hypothesis, others []float64, of func(*hypothesis) (contrast.View, float64)) corrected {
	var raw corrected
	type claim struct{ cell, arm, against, metric string }
	echoed := map[claim]bool{}
	for _, h := range all {
		v, both := of(h)
		raw.p, raw.equiv, raw.both = append(raw.p, v.P), append(raw.equiv, v.Equiv), append(raw.both, both)
		if h.echo {
			echoed[claim{h.Cell, h.Arm, h.Against, h.Restates}] = true
		}
	}
	adj := corrected{p: slices.Clone(raw.p), equiv: slices.Clone(raw.equiv), both: slices.Clone(raw.both)}
	for _, echo := range []bool{false, true} { // first the family without metrics that restate others, then the family with each such metric in place of the one that it restates
		var family []int
		var p, equiv, both []float64
		for i, h := range all {
			replaced := h.echo
			if echo {
				replaced = echoed[claim{h.Cell, h.Arm, h.Against, h.Metric.Name}]
			}
			if h.Metric.Headline && !replaced {
				family, p, equiv, both = append(family, i), append(p, raw.p[i]), append(equiv, raw.equiv[i]), append(both, raw.both[i])
			}
		}
		p, equiv, both = stats.Holm(append(p, others...)), stats.Holm(equiv), stats.Holm(both)
		for k, i := range family {
			if all[i].echo == echo {
				adj.p[i], adj.equiv[i], adj.both[i] = p[k], equiv[k], both[k]
			}
		}
		if !echo {
			adj.others = p[len(family):]
		}
	}
	return adj
}
