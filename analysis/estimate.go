package analysis

import (
	"math"

	"tare/experiment"
	"tare/stats"
)

// The methods that Comparison.Method names.
const (
	// MethodSignedRank: Hodges–Lehmann with the exact signed-rank interval.
	MethodSignedRank = "signed-rank"
	// MethodT: the paired t interval, for fewer pairs than the signed-rank
	// interval needs.
	MethodT = "t"
	// MethodStein: the same with Stein's t interval, after a pilot.
	MethodStein = "stein"
	// MethodBoth, after a pilot: Hodges–Lehmann with the hull of the signed-rank
	// and Stein's interval, and the larger p of both. A pilot that happens to be
	// quiet asks for few rounds, and a signed-rank interval over those rounds is
	// too narrow; Stein's interval allows for that, but not for rare large
	// outliers that the pilot has not seen. bench/method shows what each costs.
	MethodBoth = "signed-rank+stein"
)

// ranks says whether a method claims nothing that the signed-rank test does not.
func ranks(method string) bool { return method == MethodSignedRank || method == MethodBoth }

// view is what one estimator says of the contrasts of a comparison.
type view struct {
	ok    bool // there is an estimate; else p and equiv are 1
	at    stats.Interval
	p     float64 // two-sided, of no difference
	equiv float64 // of not being within the margin
}

// estimate is a comparison with what both estimators say of it.
type estimate struct {
	cell, arm int
	pairs
	sd     float64 // of the contrasts
	method string
	main   view // the headline's
	t      view // paired t (Stein's t after a pilot), always beside it
}

// unitEffects remembers the minimum detectable effect for a deviation of 1, which
// takes longer to work out than all the rest of a comparison.
type unitEffects map[unitCase]float64

type unitCase struct {
	n            int
	alpha, power float64
	ranks        bool
}

// at is 0 where so few pairs can claim nothing.
func (u unitEffects) at(c unitCase) float64 {
	v, ok := u[c]
	if !ok {
		if c.ranks {
			v = finite(stats.SignedRankDetectableEffect(1, c.n, c.alpha, c.power))
		} else {
			v = finite(stats.DetectableEffect(1, c.n, c.alpha, c.power))
		}
		u[c] = v
	}
	return v
}

// rules are the numbers of a plan that judging needs.
type rules struct {
	confidence, alpha float64
	margin            float64 // of equivalence, on the log scale; 0: none
	pilot             bool    // a pilot sets the number of rounds
}

func rulesOf(plan *experiment.Plan) rules {
	return rules{
		confidence: float64(plan.Confidence),
		alpha:      1 - float64(plan.Confidence),
		margin:     math.Log1p(float64(plan.Equivalence)),
		pilot:      plan.Precision > 0,
	}
}

// estimates makes the estimates of one comparison.
func (r rules) estimates(p pairs) estimate {
	e := estimate{pairs: p, sd: deviation(p.contrasts)}
	rank := r.signedRank(p)
	stein := r.stein(p)
	switch {
	case stein.ok && rank.ok:
		e.method, e.main, e.t = MethodBoth, hull(rank, stein), stein
	case stein.ok:
		e.method, e.main, e.t = MethodStein, stein, stein
	case rank.ok:
		e.method, e.main, e.t = MethodSignedRank, rank, r.pairedT(p)
	default:
		e.method, e.t = MethodT, r.pairedT(p)
		e.main = e.t
	}
	return e
}

// signedRank is there as soon as the number of pairs allows its interval.
func (r rules) signedRank(p pairs) view {
	v := seen(stats.SignedRank(p.contrasts, r.confidence))
	if v.ok && r.tests(p.metric) {
		v.equiv = orOne(stats.EquivalenceSignedRank(p.contrasts, r.margin))
	}
	return v
}

func (r rules) pairedT(p pairs) view {
	v := seen(stats.PairedT(p.contrasts, r.confidence))
	if v.ok && r.tests(p.metric) {
		v.equiv = orOne(stats.EquivalenceT(p.contrasts, r.margin))
	}
	return v
}

// stein is there where a pilot of varying values sets the number of rounds.
func (r rules) stein(p pairs) view {
	sd := deviation(p.contrasts[:p.pilot])
	if !r.pilot || sd == 0 {
		return view{p: 1, equiv: 1}
	}
	v := seen(stats.SteinInterval(sd, p.pilot, p.contrasts, r.confidence))
	if v.ok && r.tests(p.metric) {
		v.equiv = orOne(stats.EquivalenceStein(sd, p.pilot, p.contrasts, r.margin))
	}
	return v
}

// hull claims only what both views claim: the point of the first, the smallest
// interval that holds both, the larger p of each test.
func hull(a, b view) view {
	a.at.Lo, a.at.Hi = min(a.at.Lo, b.at.Lo), max(a.at.Hi, b.at.Hi)
	a.p, a.equiv = max(a.p, b.p), max(a.equiv, b.equiv)
	return a
}

// tests says whether equivalence is tested on a metric.
func (r rules) tests(m experiment.Metric) bool {
	return r.margin > 0 && m.Scale != experiment.Difference
}

// seen turns an estimate into a view. An error means that the values allow no
// estimate (too few, or no spread for a t interval): there is then none.
func seen(e stats.Estimate, err error) view {
	v := view{p: 1, equiv: 1}
	if err != nil || math.IsNaN(e.P) || math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return v
	}
	v.ok, v.at, v.p = true, e.Interval, e.P
	return v
}

func orOne(p float64, err error) float64 {
	if err != nil || math.IsNaN(p) {
		return 1
	}
	return p
}

// deviation is the sample standard deviation, 0 for fewer than two values.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	var mean, sum float64
	for i, v := range x {
		mean += (v - mean) / float64(i+1)
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return finite(math.Sqrt(sum / float64(len(x)-1)))
}
