package stats

import "math"

// Side asks on which side of a limit an effect lies: that of new intervals, all below it or
// all above it, with a chance averaged over what the effect may be. Noise is taken for normal.
type Side struct {
	Below, Above float64 // one-sided levels of saying so
	Assurance    float64 // chance of either that is asked for
	Limit        int     // the largest number to be looked for
}

// Pairs is the smallest number of pairs that say it by signed ranks, where so many have led
// to a belief, of the effect as it lies above the limit; 0: over the limit of numbers.
func (s Side) Pairs(n int, b Belief) int {
	scale := b.Error * math.Sqrt(float64(n))
	return s.size(&pairs{sd: scale, scale: scale}, b)
}

// Rounds is the same by aligned ranks, of rounds with two others each.
func (s Side) Rounds(n int, b Belief) int {
	scale := b.Error * math.Sqrt(float64(n))
	return s.size(&triples{pairs: pairs{sd: scale, scale: scale}, apart: make([]float64, n)}, b)
}

// Values is the same of two independent samples of n each, by the rank-sum test.
func (s Side) Values(n int, b Belief) int {
	return s.size(&samples{scale: b.Error * math.Sqrt(float64(n))}, b)
}

func (s Side) size(t noise, b Belief) int {
	valid := s.Below > 0 && s.Below < 0.5 && s.Above > 0 && s.Above < 0.5 && s.Assurance > 0 && s.Assurance < 1
	if !valid || s.Limit < 2 || !b.valid() {
		return 0
	}
	return fewest(s.Limit, func(n int) bool { return s.chance(t, b, n) >= s.Assurance })
}

// chance is that of an estimate so far from the limit that the interval does not hold it.
func (s Side) chance(t noise, b Belief, n int) float64 {
	scale := math.Hypot(b.Error, t.err(n))
	beyond := func(distance float64) float64 {
		if math.IsInf(distance, 1) {
			return 0
		}
		return studentTail(distance/scale, b.DF)
	}
	return beyond(t.claim(n, 2*s.Below)+b.At) + beyond(t.claim(n, 2*s.Above)-b.At)
}
