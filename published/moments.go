package published

import (
	"math"

	"tare/analysis/contrast"
	"tare/journal"
)

// series are the values that enter the table.
type series map[key][]value

type key struct{ cell, arm, metric string }

type value struct {
	v       float64
	invalid bool
}

// gather takes the values of valid trials, in the order of the journal, and if
// asked those of invalid ones that have any.
func gather(trials []journal.Trial, withInvalid bool) series {
	s := series{}
	for i := range trials {
		t := &trials[i]
		if !t.Valid() && !withInvalid {
			continue
		}
		for metric, v := range t.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			k := key{t.Cell, t.Arm, metric}
			s[k] = append(s[k], value{v, !t.Valid()})
		}
	}
	return s
}

// moments are computed in two passes in the order of the trials. The variance is
// the population's: the mean squared distance from the mean, over n and not n − 1.
func (s series) moments(cell, arm, metric string) Moments {
	m := Moments{Arm: arm}
	list := s[key{cell, arm, metric}]
	if m.N = len(list); m.N == 0 {
		return m
	}
	n := float64(m.N)
	for _, x := range list {
		m.Mean += x.v / n
		if x.invalid {
			m.Invalid++
		}
	}
	for _, x := range list {
		m.Variance += (x.v - m.Mean) * (x.v - m.Mean) / n
	}
	m.Mean, m.Variance = contrast.Finite(m.Mean), contrast.Finite(m.Variance)
	return m
}
