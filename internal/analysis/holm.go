package analysis

import (
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/stats"
)

// corrected holds p values after Holm's correction, by hypothesis.
type corrected struct {
	p      []float64 // p of no difference
	equiv  []float64 // p of no equivalence, by the leading estimator
	both   []float64 // p of no equivalence, by both estimators
	others []float64 // p of the other members of the family
}

// adjusted holds the corrected p values of one hypothesis.
type adjusted struct {
	p, equiv, both float64
	normal         bool // noise is assumed to be normal
}

func (c corrected) at(i int) adjusted { return adjusted{p: c.p[i], equiv: c.equiv[i], both: c.both[i]} }

// claims counts the headline hypotheses. Two metrics with the same information in a closed loop
// count once.
func claims(all []*hypothesis) (n int) {
	for _, h := range all {
		if h.Metric.Headline && !h.echo {
			n++
		}
	}
	return n
}

// holm adjusts the p values of the headline hypotheses for their number, together with those of
// other tests of no difference. Two metrics with the same information in a closed loop are one
// claim: the one that restates the other is adjusted in the other's place.
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
	for _, echo := range []bool{false, true} { // first the family without restated metrics, then with each of them in place of its original
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
