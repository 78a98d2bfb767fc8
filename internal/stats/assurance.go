package stats

import (
	"math"
	"math/rand/v2"
)

// The number of rounds that would resolve a comparison is computed from its data, by assurance: the power averaged over
// the possible effects (O'Hagan, Stevens & Campbell 2005, "Assurance in clinical trial design", Pharmaceutical
// Statistics 4). Power at the observed effect would mislead: an effect near 0 leads to thousands of rounds, although
// few would show equivalence.

// Aim is the goal of a comparison.
type Aim struct {
	Alpha  float64 // two-sided significance level of a claim, and one-sided level of each test of equivalence
	Margin float64 // margin of equivalence, in the unit of the values; 0: equivalence is no possible verdict
	// Shown is the error probability of the interval that users see: 0.05 at 95 %. If Reach > 0, equivalence needs this
	// interval within ±Reach.
	Shown, Reach float64
	Assurance    float64 // required chance of a verdict, such as 0.8
	Limit        int     // largest number of values or rounds that are tried as the answer
	Resamples    int     // simulated runs that correct the answer, with observed noise; 0: noise taken as normal
	Seed         uint64
}

// belief is the distribution of the possible effects: Student's t around At with DF degrees of freedom, scaled by the
// standard error Error.
type belief struct{ At, Error, DF float64 }

// BeliefOf returns the belief about an effect whose interval i has this confidence and df degrees of freedom.
func BeliefOf(i Interval, confidence, df float64) belief {
	return belief{At: i.Point, Error: (i.Hi - i.Lo) / 2 / StudentQuantile(1-(1-confidence)/2, df), DF: df}
}

func (b belief) valid() bool {
	return b.DF > 0 && b.Error > 0 && !math.IsInf(b.Error, 0) && !math.IsNaN(b.At)
}

// noise is the noise of a comparison, with the tests that the comparison uses.
type noise interface {
	// err returns the standard error of the estimate with n values.
	err(n int) float64
	// claim returns how far from 0 an estimate from n values must be to be significant (two-sided, normal noise);
	// infinite: no claim is possible.
	claim(n int, alpha float64) float64
	// equal returns how far inside the margin an estimate must be for a claim of equivalence. alpha is the level of
	// each one-sided test.
	equal(n int, alpha float64) float64
	// most returns the largest number of values for which the simulation does not take too long.
	most() int
	// simulation returns a function that draws n values with a given effect, and reports whether they give a verdict.
	simulation(n int, a *Aim) func(rng *rand.Rand, effect float64) bool
}

// PairsForVerdict returns the smallest number of rounds for a verdict by the signed-rank test, with noise like that of
// the contrasts d; 0: above a.Limit, or not computable.
func PairsForVerdict(d []float64, b belief, a Aim) int {
	p, ok := pairsOf(d, b)
	if !ok {
		return 0
	}
	return verdictSize(&p, b, a)
}

// RoundsForVerdict returns the number of rounds for a verdict by the aligned rank test, with one or two arms besides
// arm and baseline; 0: above a.Limit, or not computable.
func RoundsForVerdict(r AlignedRounds, b belief, a Aim) int {
	p, ok := pairsOf(r.Contrasts, b)
	if !ok || len(r.OthersDelta) != len(r.Contrasts) {
		return 0
	}
	t := &triples{pairs: p, removed: r.PositionsRemoved}
	for _, h := range r.OthersDelta {
		t.apart = append(t.apart, h)
		if math.IsNaN(h) {
			t.lone++
		}
	}
	return verdictSize(t, b, a)
}

// pairsOf describes the noise of the contrasts d around the believed effect. ok is false if the noise cannot be
// estimated.
func pairsOf(d []float64, b belief) (p pairs, ok bool) {
	if len(d) < 2 || !b.valid() {
		return p, false
	}
	_, sd := meanSD(d)
	return pairs{sd: sd, scale: b.Error * math.Sqrt(float64(len(d))), residuals: residuals(d, b.At)}, sd > 0
}

// residuals subtracts a centre from values. It scales the differences up a little, since the centre was estimated.
func residuals(x []float64, centre float64) []float64 {
	return Mapped(x, func(v float64) float64 { return (v - centre) * math.Sqrt(float64(len(x))/float64(len(x)-1)) })
}

// ValuesForVerdict returns how many values each of two samples needs for a verdict by the rank-sum test and Welch's t;
// 0: none up to a.Limit.
func ValuesForVerdict(x, y []float64, b belief, a Aim) int {
	if len(x) < 2 || len(y) < 2 || !b.valid() {
		return 0
	}
	meanX, sdX := meanSD(x)
	meanY, sdY := meanSD(y)
	sd := math.Hypot(sdX, sdY)
	if !(sd > 0) {
		return 0
	}
	se, _ := welchError(sdX, sdY, len(x), len(y))
	return verdictSize(&samples{scale: sd * max(1, b.Error/se), x: residuals(x, meanX), y: residuals(y, meanY)}, b, a)
}

// SizeForVerdict returns the number of values for a verdict, if only the standard error is known. The error is assumed
// to fall with the number's root.
func SizeForVerdict(n int, b belief, a Aim) int {
	if n < 1 || !b.valid() {
		return 0
	}
	a.Resamples = 0
	return verdictSize(normalPairs(n, b), b, a)
}

// verdictSize returns the smallest number of values that gives a verdict with the required chance; 0: none up to the
// limit.
func verdictSize(t noise, b belief, a Aim) int {
	if !(a.Alpha > 0 && a.Alpha < 1 && a.Assurance > 0 && a.Assurance < 1) || a.Limit < 2 {
		return 0
	}
	n := fewest(a.Limit, func(n int) bool { return verdictChance(t, b, &a, n) >= a.Assurance })
	if n == 0 || a.Resamples == 0 || n > t.most() {
		return n
	}
	return resampledSize(t, b, &a, n)
}

// verdictChance returns the chance of a verdict with n values and normal noise. The sum of belief and noise is assumed
// to follow Student's t.
func verdictChance(t noise, b belief, a *Aim, n int) float64 {
	bar := t.claim(n, a.Alpha)
	if math.IsInf(bar, 0) {
		return 0
	}
	scale := math.Hypot(b.Error, t.err(n))
	within := func(half float64) float64 { // chance that the estimated overhead lies between -half and half
		if half <= 0 {
			return 0
		}
		return max(0, StudentTail((-half-b.At)/scale, b.DF)-StudentTail((half-b.At)/scale, b.DF))
	}
	same := 0.0
	if a.Margin > 0 {
		same = a.Margin - t.equal(n, a.Alpha)
		if a.Reach > 0 {
			same = min(same, a.Reach-t.claim(n, a.Shown))
		}
	}
	return 1 - within(bar) + within(min(same, bar))
}

// resampledSize corrects the estimated number n by simulated runs with the observed noise. Every number is tried with
// equal random draws.
func resampledSize(t noise, b belief, a *Aim, n int) int {
	effects := make([]float64, a.Resamples)
	for i := range effects {
		effects[i] = b.At + b.Error*StudentQuantile((float64(i)+0.5)/float64(len(effects)), b.DF)
	}
	rng := rand.New(rand.NewPCG(a.Seed, 1)) // shuffled: an effect must not depend on the noise that is drawn with it
	rng.Shuffle(len(effects), func(i, j int) { effects[i], effects[j] = effects[j], effects[i] })
	chance := func(n int) float64 {
		got, resolved := 0, t.simulation(n, a)
		for i, effect := range effects {
			if resolved(rand.New(rand.NewPCG(a.Seed, uint64(i))), effect) {
				got++
			}
		}
		return float64(got) / float64(len(effects))
	}
	up := chance(n) < a.Assurance
	for {
		m := n - max(1, n/11)
		if up {
			m = n + max(1, n/10)
		}
		switch {
		case m > a.Limit:
			return 0
		case m > t.most() || m < 2:
			return n
		}
		if (chance(m) < a.Assurance) != up {
			if up {
				return m
			}
			return n
		}
		n = m
	}
}

// Side asks on which side of a limit an effect lies. A new run answers if its interval does not contain the limit. The
// noise is assumed to be normal.
type Side struct {
	Below, Above float64 // one-sided significance levels for a result below and above the limit
	Assurance    float64 // required chance that the result is shown to lie above the limit or below it
	Limit        int     // largest number of values to try
}

// Pairs returns the smallest number of pairs for an answer by the signed-rank test; 0: above Limit. b is about the
// effect minus the limit.
func (s Side) Pairs(n int, b belief) int {
	return s.size(normalPairs(n, b), b)
}

// Rounds is like Pairs, for the aligned rank test: it returns the smallest number of rounds with two other arms each.
func (s Side) Rounds(n int, b belief) int {
	return s.size(&triples{pairs: *normalPairs(n, b), apart: make([]float64, n)}, b)
}

// Values returns the size of each of two independent samples with which the rank-sum test decides the side. The belief
// b comes from n values.
func (s Side) Values(n int, b belief) int {
	return s.size(&samples{scale: b.Error * math.Sqrt(float64(n))}, b)
}

// normalPairs returns normal noise of the size that makes the estimate from n pairs as uncertain as the belief.
func normalPairs(n int, b belief) *pairs {
	scale := b.Error * math.Sqrt(float64(n))
	return &pairs{sd: scale, scale: scale}
}

func (s Side) size(t noise, b belief) int {
	valid := s.Below > 0 && s.Below < 0.5 && s.Above > 0 && s.Above < 0.5 && s.Assurance > 0 && s.Assurance < 1
	if !valid || s.Limit < 2 || !b.valid() {
		return 0
	}
	return fewest(s.Limit, func(n int) bool { return s.chance(t, b, n) >= s.Assurance })
}

// chance returns the chance that the limit lies outside an interval from n values, so that the interval is above or
// below the limit.
func (s Side) chance(t noise, b belief, n int) float64 {
	scale := math.Hypot(b.Error, t.err(n))
	beyond := func(distance float64) float64 {
		if math.IsInf(distance, 1) {
			return 0
		}
		return StudentTail(distance/scale, b.DF)
	}
	return beyond(t.claim(n, 2*s.Below)+b.At) + beyond(t.claim(n, 2*s.Above)-b.At)
}
