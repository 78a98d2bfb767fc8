package stats

import "math"

// Side is the question on which side of a limit an effect lies. The answer is given if the interval of a
// new run lies completely below or completely above the limit. The chance of an answer is averaged over the
// possible effects. Noise is assumed normal.
type Side struct {
	Below, Above float64 // one-sided significance levels for a result below and above the limit
	Assurance    float64 // required chance of either result
	Limit        int     // largest number to try
}

// Pairs returns the smallest number of pairs that decide the side by signed ranks. The belief comes from n
// pairs and is about the effect minus the limit. The result is 0 if the number exceeds Limit.
func (s Side) Pairs(n int, b belief) int {
	scale := b.Error * math.Sqrt(float64(n))
	return s.size(&pairs{sd: scale, scale: scale}, b)
}

// Rounds is Pairs for rounds with two others each, by aligned ranks.
func (s Side) Rounds(n int, b belief) int {
	scale := b.Error * math.Sqrt(float64(n))
	return s.size(&triples{pairs: pairs{sd: scale, scale: scale}, apart: make([]float64, n)}, b)
}

// Values is Pairs for two independent samples of equal size, by the rank-sum test.
func (s Side) Values(n int, b belief) int {
	return s.size(&samples{scale: b.Error * math.Sqrt(float64(n))}, b)
}

func (s Side) size(t noise, b belief) int {
	valid := s.Below > 0 && s.Below < 0.5 && s.Above > 0 && s.Above < 0.5 && s.Assurance > 0 && s.Assurance < 1
	if !valid || s.Limit < 2 || !b.valid() {
		return 0
	}
	return fewest(s.Limit, func(n int) bool { return s.chance(t, b, n) >= s.Assurance })
}

// chance returns the chance that an interval from n values does not contain the limit.
func (s Side) chance(t noise, b belief, n int) float64 {
	scale := math.Hypot(b.Error, t.err(n))
	beyond := func(distance float64) float64 {
		if math.IsInf(distance, 1) {
			return 0
		}
		return studentTail(distance/scale, b.DF)
	}
	return beyond(t.claim(n, 2*s.Below)+b.At) + beyond(t.claim(n, 2*s.Above)-b.At)
}
