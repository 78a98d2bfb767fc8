package contrast

import (
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// The methods that Estimate.Method names.
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
	// MethodTwoSample, unpaired: two-sample Hodges–Lehmann with the hull of Mann and
	// Whitney's interval and Welch's, and the larger p of both. The ranks take noise
	// of any shape but suppose the same in both samples: with sizes of 100 and 10 and
	// spreads of 1 and 5 they claim in a fifth of all cases where nothing is. Welch's t takes any
	// spread, but not rare large outliers.
	MethodTwoSample = "rank-sum+welch"
	// MethodRankSum, unpaired: the ranks alone, for values of no spread.
	MethodRankSum = "rank-sum"
	// MethodWelch, unpaired: Welch's t, for samples too small for ranks.
	MethodWelch = "welch"
	// MethodWelchSum is that of a change of overheads of which one at least comes from
	// trials without pairs: Welch's t for the difference of two differences of means.
	MethodWelchSum = "welch-sum"
)

// Ranks says whether a method claims nothing that a rank test does not.
func Ranks(method string) bool {
	return slices.Contains([]string{MethodSignedRank, MethodBoth, MethodRankSum, MethodTwoSample}, method)
}

// View is what one estimator says of the contrasts.
type View struct {
	OK    bool           // there is an estimate; else P and Equiv are 1
	At    stats.Interval // on the scale of contrasts
	P     float64        // two-sided, of no difference
	Equiv float64        // of not being within the margin
}

// Estimate is what the estimators say of one comparison.
type Estimate struct {
	// SD is the standard deviation of the contrasts; of unpaired data, that of a
	// value around its arm's mean, the root of the mean of both variances.
	SD     float64
	Spread [2]float64 // of the baseline's and the arm's values; 0 for pairs
	Method string
	Main   View // the headline's
	T      View // paired t (Stein's t after a pilot; Welch's t for unpaired data), always beside it
}

// Rules are the numbers of a plan that estimating needs.
type Rules struct {
	Confidence float64
	Alpha      float64
	Margin     float64 // of equivalence, on the log scale; 0: none
	Pilot      bool    // a pilot sets the number of rounds
}

// RulesOf gives the rules of a plan.
func RulesOf(plan *experiment.Plan) Rules {
	return Rules{
		Confidence: float64(plan.Confidence),
		Alpha:      1 - float64(plan.Confidence),
		Margin:     math.Log1p(float64(plan.Equivalence)),
		Pilot:      plan.Precision > 0,
	}
}

// Inner gives the rules whose interval the two one-sided tests of equivalence rest
// on: both at alpha ask that the interval of confidence 1 − 2 alpha lies within the
// margin, at 95 % that of 90 %.
func (r Rules) Inner() Rules {
	r.Confidence, r.Margin = 1-2*r.Alpha, 0
	return r
}

// Estimate makes the estimates of one comparison.
func (r Rules) Estimate(d *Data) Estimate {
	if d.estimate != nil {
		return d.estimate(r)
	}
	if !d.Paired {
		base, arm := d.samples()
		return r.twoSamples(base, arm, d.Metric)
	}
	e := Estimate{SD: Deviation(d.Contrasts)}
	rank := r.signedRank(d)
	stein := r.stein(d)
	switch {
	case stein.OK && rank.OK:
		e.Method, e.Main, e.T = MethodBoth, hull(rank, stein), stein
	case stein.OK:
		e.Method, e.Main, e.T = MethodStein, stein, stein
	case rank.OK:
		e.Method, e.Main, e.T = MethodSignedRank, rank, r.pairedT(d)
	default:
		e.Method, e.T = MethodT, r.pairedT(d)
		e.Main = e.T
	}
	return e
}

// Exceeds is the one-sided p of "the overhead is limit or less": small when the
// data show that it is more. It rests on the estimator that Estimate makes the
// headline; where there is none, and for a limit that no value can exceed, it is 1.
func (r Rules) Exceeds(d *Data, limit float64) float64 {
	shift := FromOverhead(limit, d.Metric)
	if math.IsInf(shift, 0) || math.IsNaN(shift) {
		return 1
	}
	r.Margin = 0
	var v View
	if d.Paired {
		moved := *d
		moved.Contrasts = shifted(d.Contrasts, -shift)
		v = r.Estimate(&moved).Main
	} else {
		base, arm := d.samples()
		v = r.twoSamples(shifted(base, shift), arm, d.Metric).Main
	}
	if !v.OK {
		return 1
	}
	if cost(v.At.Point, d.Metric) > 0 {
		return v.P / 2
	}
	return 1 - v.P/2
}

func shifted(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v + by
	}
	return y
}

// none is the view of an estimator that has nothing to say.
var none = View{P: 1, Equiv: 1}

// signedRank is there as soon as the number of pairs allows its interval.
func (r Rules) signedRank(d *Data) View {
	e, err := stats.SignedRank(d.Contrasts, r.Confidence)
	return r.seen(d.Metric, e, err, func() (float64, error) { return stats.EquivalenceSignedRank(d.Contrasts, r.Margin) })
}

func (r Rules) pairedT(d *Data) View {
	e, err := stats.PairedT(d.Contrasts, r.Confidence)
	return r.seen(d.Metric, e, err, func() (float64, error) { return stats.EquivalenceT(d.Contrasts, r.Margin) })
}

// stein is there where a pilot of varying values sets the number of rounds.
func (r Rules) stein(d *Data) View {
	sd := Deviation(d.Contrasts[:d.Pilot])
	if !r.Pilot || sd == 0 {
		return none
	}
	e, err := stats.SteinInterval(sd, d.Pilot, d.Contrasts, r.Confidence)
	return r.seen(d.Metric, e, err, func() (float64, error) {
		return stats.EquivalenceStein(sd, d.Pilot, d.Contrasts, r.Margin)
	})
}

// hull claims only what both views claim: the point of the first, the smallest
// interval that holds both, the larger p of each test.
func hull(a, b View) View {
	a.At.Lo, a.At.Hi = min(a.At.Lo, b.At.Lo), max(a.At.Hi, b.At.Hi)
	a.P, a.Equiv = max(a.P, b.P), max(a.Equiv, b.Equiv)
	return a
}

// seen turns an estimate into a view, with a test of equivalence where there is a
// margin for the metric. An error means that the values allow no estimate (too few,
// or no spread for a t interval): there is then none.
func (r Rules) seen(m experiment.Metric, e stats.Estimate, err error, equivalence func() (float64, error)) View {
	if err != nil || math.IsNaN(e.P) || math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return none
	}
	v := View{OK: true, At: e.Interval, P: e.P, Equiv: 1}
	if r.Margin > 0 && m.Scale != experiment.Difference {
		if p, err := equivalence(); err == nil && !math.IsNaN(p) {
			v.Equiv = p
		}
	}
	return v
}
