package analysis

import (
	"slices"

	"tare/analysis/contrast"
	"tare/stats"
)

// corrected are p values after Holm's correction, by hypothesis.
type corrected struct {
	p      []float64 // of no difference
	equiv  []float64 // of no equivalence by the leading estimator
	both   []float64 // the same by both estimators
	others []float64 // of what else is in the family
}

// adjusted are those of one hypothesis.
type adjusted struct {
	p, equiv, both float64
	normal         bool // noise is taken to be normal
}

func (c corrected) at(i int) adjusted { return adjusted{p: c.p[i], equiv: c.equiv[i], both: c.both[i]} }

// claims counts the headline hypotheses; two metrics that a closed loop makes one
// are one.
func claims(all []*hypothesis) (n int) {
	for _, h := range all {
		if h.Metric.Headline && !h.echo {
			n++
		}
	}
	return n
}

// holm adjusts the p values of the headline hypotheses for their number, and with them
// those of others that are tests of no difference. What a closed loop makes two metrics
// say is one claim: the one that restates is adjusted in the other's place.
func holm(all []*hypothesis, others []float64, of func(*hypothesis) (contrast.View, float64)) corrected {
	n := len(all)
	adj := corrected{p: make([]float64, n), equiv: make([]float64, n), both: make([]float64, n)}
	type place struct{ cell, arm, against, metric string }
	echoed := map[place]bool{}
	for i, h := range all {
		v, both := of(h)
		adj.p[i], adj.equiv[i], adj.both[i] = v.P, v.Equiv, both
		if h.echo {
			echoed[place{h.Cell, h.Arm, h.Against, h.Restates}] = true
		}
	}
	raw := corrected{p: slices.Clone(adj.p), equiv: slices.Clone(adj.equiv), both: slices.Clone(adj.both)}
	for _, echo := range []bool{false, true} { // the family as it is, then with every echo in its original's place
		var family []int
		for i, h := range all {
			replaced := h.echo
			if echo {
				replaced = echoed[place{h.Cell, h.Arm, h.Against, h.Metric.Name}]
			}
			if h.Metric.Headline && !replaced {
				family = append(family, i)
			}
		}
		p := stats.Holm(append(picked(raw.p, family), others...))
		equiv, both := stats.Holm(picked(raw.equiv, family)), stats.Holm(picked(raw.both, family))
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

func picked(x []float64, at []int) []float64 {
	y := make([]float64, len(at))
	for k, i := range at {
		y[k] = x[i]
	}
	return y
}
