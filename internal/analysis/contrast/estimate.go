package contrast

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// The methods that Estimate.Method names.
const (
	// methodSignedRank: the Hodges–Lehmann estimate with the exact signed-rank interval.
	methodSignedRank = "signed-rank"
	// methodAligned: the difference of the arm from baseline and control together, by the exact aligned
	// rank test within rounds (Hodges and Lehmann 1962). With the same rounds it detects smaller effects
	// than the signed-rank test against the baseline alone.
	methodAligned = "aligned-rank"
	// methodMeans: the difference of means with the interval of the sign-flip test, for counts that
	// are zero in most rounds.
	methodMeans = "means"
	// MethodT: the paired t interval, for fewer pairs than the signed-rank interval needs.
	MethodT = "t"
	// MethodStein: Stein's t interval, after a pilot, for fewer pairs than the signed-rank interval
	// needs.
	MethodStein = "stein"
	// MethodBoth and MethodAlignedBoth, after a pilot: the Hodges–Lehmann estimate with an interval that
	// contains both the interval by ranks and Stein's interval, and with the larger p-value of both. A
	// pilot that happens to have little noise leads to few rounds, and a signed-rank interval over few
	// rounds is too narrow. Stein's interval allows for such a pilot, but not for rare large outliers that
	// the pilot has not seen. hack/bench/method shows the cost of each interval.
	MethodBoth        = "signed-rank+stein"
	MethodAlignedBoth = "aligned-rank+stein"
	// methodUneven, for contrasts with unequal weights: the Hodges–Lehmann estimate with an interval that
	// contains both the interval by ranks and the paired t interval, and with the larger p-value of both.
	// With skewed noise a slope is skewed even if the noise is the same in all arms. Ranks alone then claim
	// a difference of equal arms in every seventh run of 40 rounds with exponential noise. The t interval
	// is about the mean slope, in which the skewness cancels.
	methodUneven = "signed-rank+t"
	// methodNoisier, for an arm whose values seem to spread more than the values of the others: an interval
	// that contains both the interval by aligned ranks and the paired t interval. For such an arm, the
	// interval by aligned ranks alone is too narrow.
	methodNoisier = "aligned-rank+t"
	// MethodTwoSample, unpaired: the two-sample Hodges–Lehmann estimate with an interval that contains both
	// Mann and Whitney's interval and Welch's interval, and with the larger p-value of both. Ranks allow
	// noise of any shape but assume the same shape in both samples: for sample sizes of 100 and 10 with
	// spreads of 1 and 5, ranks claim a difference of equal arms in a fifth of all cases. Welch's t allows
	// any spread, but not rare large outliers.
	MethodTwoSample = "rank-sum+welch"
	// methodRankSum, unpaired: ranks alone, for values that do not vary.
	methodRankSum = "rank-sum"
	// MethodWelch, unpaired: Welch's t, for samples too small for ranks.
	MethodWelch = "welch"
	// MethodWelchSum, for a change between two overheads of which at least one comes from trials
	// without pairs: Welch's t for the difference of two differences of means.
	MethodWelchSum = "welch-sum"
)

// Ranks reports whether each claim of a method is also the claim of a test by ranks or by permutation.
func Ranks(method string) bool {
	return slices.Contains([]string{methodSignedRank, methodAligned, methodMeans, MethodBoth, MethodAlignedBoth, methodUneven, methodNoisier, methodRankSum, MethodTwoSample}, method)
}

// An arm whose values seem to spread more than the values of the others is also judged by t. The test of
// the spread has the significance level seemsNoisier. With fewer rounds than manyRounds, which show little
// of a spread, the level is mayBeNoisier. A plan with looks judges every arm by t if it has so few rounds,
// since the level of an early look is small.
const (
	manyRounds   = 10
	seemsNoisier = 0.1
	mayBeNoisier = 0.5
)

// View is the result of one estimator for the contrasts.
type View struct {
	OK    bool           // the estimator has a result; otherwise P and Equiv are 1
	At    stats.Interval // interval on the scale of contrasts
	P     float64        // two-sided p-value of "no difference"
	Equiv float64        // p-value of "the effect is outside the margin"
}

// Estimate holds the results of the estimators for one comparison.
type Estimate struct {
	// SD is the standard deviation of the contrasts. For unpaired data, it is the standard deviation of a
	// value around its arm's mean: the root of the mean of both variances.
	SD     float64
	Spread [2]float64 // standard deviations of the baseline's and the arm's values; 0 for pairs
	Method string
	Main   View // result of the estimator that gives the headline interval
	T      View // result of the paired t interval (Stein's after a pilot; Welch's for unpaired data), always computed
}

// Rules are the numbers of a plan that estimates need.
type Rules struct {
	Confidence float64
	Alpha      float64
	Margin     float64 // margin of equivalence on the log scale; 0: none
	Pilot      bool    // a pilot determines the number of rounds

	controlled func(rounds int) int // returns in how many of the first rounds the control takes part; nil: in all
	looks      *stats.Looks         // the looks up to the one at which the data are judged; nil: the number of rounds was fixed
}

// RulesOf returns the rules of a plan.
func RulesOf(plan *experiment.Plan) Rules {
	r := Rules{
		Confidence: float64(plan.Judged()),
		Alpha:      1 - float64(plan.Judged()),
		Margin:     math.Log1p(float64(plan.Equivalence)),
		Pilot:      plan.Precision > 0,
		looks:      looksOf(plan.LooksUpTo(plan.Total()), plan.Rounds),
	}
	if plan.ControlEvery > 0 {
		r.controlled = func(rounds int) int { return plan.RoundsOf(1, rounds) }
	}
	return r
}

// allLooks caches looks, since their significance levels take long to compute.
var allLooks sync.Map

func looksOf(at []int, most int) *stats.Looks {
	key := fmt.Sprint(at, most)
	if known, ok := allLooks.Load(key); ok {
		return known.(*stats.Looks)
	}
	looks, err := stats.NewLooks(at, most)
	if err != nil {
		looks = nil // the number of rounds is fixed
	}
	allLooks.Store(key, looks)
	return looks
}

// AtLook returns the confidence of one interval at one look. With several looks it is higher than
// Confidence, which holds for the intervals of all looks together.
func (r Rules) AtLook() float64 {
	if r.looks == nil {
		return r.Confidence
	}
	return 1 - 2*r.looks.Level((1-r.Confidence)/2)
}

// TwoSided corrects a two-sided p-value of the last look for all looks.
func (r Rules) TwoSided(p float64) float64 {
	if r.looks == nil {
		return p
	}
	return min(1, 2*r.looks.P(p/2))
}

// oneSided corrects a one-sided p-value of the last look for all looks.
func (r Rules) oneSided(p float64) float64 {
	if r.looks == nil {
		return p
	}
	return r.looks.P(p)
}

// Inner returns the rules of the interval that the two one-sided tests of equivalence rest on. Both tests
// pass at alpha if the interval of confidence 1 − 2 alpha lies within the margin. For a confidence of 95 %,
// it is the 90 % interval.
func (r Rules) Inner() Rules {
	r.Confidence, r.Margin = 1-2*r.Alpha, 0
	return r
}

// Estimate computes the estimates of one comparison.
func (r Rules) Estimate(d *Data) Estimate {
	r.Margin = r.MarginOf(d)
	if d.estimate != nil {
		return d.estimate(r)
	}
	if !d.Paired {
		base, arm := d.Scaled()
		return r.twoSamples(base, arm)
	}
	return r.pairs(d)
}

// pairs computes the estimates of paired data from their independent units.
func (r Rules) pairs(d *Data) Estimate {
	step := d.grid()
	r.Margin = max(0, r.Margin-step/2)
	contrasts, _, pilot := d.Units()
	e := Estimate{SD: Deviation(contrasts)}
	if d.Means {
		e.Method, e.Main, e.T = methodMeans, r.view(stats.SignFlip(contrasts, r.AtLook())), r.pairedT(contrasts)
		return e
	}
	method, both := methodSignedRank, MethodBoth
	var rank View
	uneven := ""
	if d.Uneven {
		uneven = methodUneven
	}
	if rounds, ok := d.Aligned(); ok {
		method, both = methodAligned, MethodAlignedBoth
		rank = r.aligned(rounds)
		few := len(contrasts) < manyRounds
		if p := rounds.Noisier(); p < seemsNoisier || few && (p < mayBeNoisier || r.looks != nil) {
			uneven = methodNoisier
		}
	} else {
		rank = r.view(stats.SignedRank(contrasts, r.AtLook())) // has a result if enough pairs exist for its interval
	}
	stein := r.stein(contrasts, pilot)
	switch {
	case stein.OK && rank.OK:
		e.Method, e.Main, e.T = both, hull(rank, stein), stein
	case stein.OK:
		e.Method, e.Main, e.T = MethodStein, stein, stein
	case rank.OK:
		e.Method, e.Main, e.T = method, rank, r.pairedT(contrasts)
		if uneven != "" && e.T.OK {
			e.Method, e.Main = uneven, hull(rank, e.T)
		}
	default:
		e.Method, e.T = MethodT, r.pairedT(contrasts)
		e.Main = e.T
	}
	e.Main, e.T = e.Main.wider(step/2), e.T.wider(step/2)
	return e
}

// twoSamples estimates the shift from one independent sample to another. It uses ranks and Welch's t
// together if the values allow both, otherwise the one that they allow.
func (r Rules) twoSamples(base, arm []float64) Estimate {
	e := Estimate{}.spreads(Deviation(base), Deviation(arm))
	e.T = r.view(stats.WelchT(base, arm, r.Confidence))
	rank := r.view(stats.RankSum(base, arm, r.Confidence))
	switch {
	case rank.OK && e.T.OK:
		e.Method, e.Main = MethodTwoSample, hull(rank, e.T)
	case rank.OK:
		e.Method, e.Main = methodRankSum, rank
	default:
		e.Method, e.Main = MethodWelch, e.T
	}
	return e
}

// spreads sets the standard deviations of both arms, and their root mean square.
func (e Estimate) spreads(base, arm float64) Estimate {
	e.Spread, e.SD = [2]float64{base, arm}, Finite(math.Hypot(base, arm)/math.Sqrt2)
	return e
}

// Exceeds returns the one-sided p-value of "the overhead is limit or less", which is small if the data show
// a larger overhead. Exceeds uses the headline estimator of Estimate. The p-value is 1 if that estimator
// has no result, or if no value can exceed the limit.
func (r Rules) Exceeds(d *Data, limit float64) float64 {
	shift := FromOverhead(limit, d.Metric)
	if math.IsInf(shift, 0) || math.IsNaN(shift) {
		return 1
	}
	if d.errs != nil {
		return d.exceeds(shift)
	}
	r.Margin = 0
	var v View
	if d.Paired {
		moved := *d
		moved.Contrasts = shifted(d.Contrasts, -shift)
		v = r.Estimate(&moved).Main
	} else {
		base, arm := d.Scaled()
		v = r.twoSamples(shifted(base, shift), arm).Main
	}
	if !v.OK {
		return 1
	}
	if Cost(v.At.Point, d.Metric) > 0 {
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

// noView is the view of an estimator that has no result.
var noView = View{P: 1, Equiv: 1}

// aligned returns the view by aligned ranks, if enough rounds exist for the signed-rank interval. Fewer
// rounds could not show a difference between control and baseline.
func (r Rules) aligned(rounds stats.AlignedRounds) View {
	if len(rounds.Contrasts) < stats.LeastSignedRank(1-r.Confidence) {
		return noView
	}
	return r.view(stats.AlignedRank(rounds, r.AtLook()))
}

func (r Rules) pairedT(contrasts []float64) View {
	return r.view(stats.PairedT(contrasts, r.AtLook()))
}

// stein returns the view by Stein's interval, if a pilot determines the number of rounds and its values
// vary.
func (r Rules) stein(contrasts []float64, pilot int) View {
	sd := Deviation(contrasts[:pilot])
	if !r.Pilot || sd == 0 {
		return noView
	}
	return r.view(stats.SteinInterval(sd, pilot, contrasts, r.Confidence))
}

// hull returns a view that claims only what both views claim. It has the point of the first view, the
// smallest interval that contains both intervals, and the larger p-value of each test.
func hull(a, b View) View {
	a.At.Lo, a.At.Hi = min(a.At.Lo, b.At.Lo), max(a.At.Hi, b.At.Hi)
	a.P, a.Equiv = max(a.P, b.P), max(a.Equiv, b.Equiv)
	return a
}

// wider returns a view whose interval extends further on both sides.
func (v View) wider(by float64) View {
	v.At.Lo, v.At.Hi = v.At.Lo-by, v.At.Hi+by
	return v
}

// view converts an estimate to a view, with a test of equivalence if the metric has a margin. An error
// means that the values allow no estimate (too few values, or no spread for a t interval); the result is
// then noView.
func (r Rules) view(e stats.Estimate, err error) View {
	if err != nil || math.IsNaN(e.P) || math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return noView
	}
	v := View{OK: true, At: e.Interval, P: r.TwoSided(e.P), Equiv: 1}
	if r.Margin > 0 {
		if p := e.Equivalence(r.Margin); !math.IsNaN(p) {
			v.Equiv = r.oneSided(p)
		}
	}
	return v
}

// MarginOf returns the margin of equivalence for data, on the scale of contrasts; 0: no margin.
func (r Rules) MarginOf(d *Data) float64 {
	switch {
	case d.Margin > 0:
		return d.Margin
	case d.Metric.Scale == experiment.Difference:
		return 0
	}
	return r.Margin
}

// MarginShown returns the margin of equivalence for data in the form for output: a share of the baseline,
// or an amount in the metric's unit; 0: no margin.
func (r Rules) MarginShown(d *Data) float64 {
	if d.Metric.Scale == experiment.Difference {
		return r.MarginOf(d)
	}
	return math.Expm1(r.MarginOf(d))
}
