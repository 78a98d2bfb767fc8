package contrast

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"tare/internal/experiment"
	"tare/internal/stats"
)

// These are the names of methods, in the field Estimate.Method.
const (
	// methodSignedRank is the Hodges–Lehmann estimate with the exact signed-rank interval.
	methodSignedRank = "signed-rank"
	// methodAligned is the exact aligned rank test within rounds (Hodges and Lehmann 1962). It compares an arm with the
	// baseline and the control together.
	methodAligned = "aligned-rank"
	// methodMeans is the difference of means with the interval of the sign-flip test, for counts that are zero in
	// most rounds.
	methodMeans = "means"
	MethodT     = "t"     // the paired t interval, if there are too few pairs for the signed-rank interval
	MethodStein = "stein" // Stein's t interval, after a pilot with too few pairs for the signed-rank interval
	// MethodBoth and MethodAlignedBoth join the intervals by ranks and by Stein, for runs with a pilot. Ranks alone are
	// too narrow after a quiet pilot. Stein alone does not allow for rare large outliers.
	MethodBoth        = "signed-rank+stein"
	MethodAlignedBoth = "aligned-rank+stein"
	// methodUneven joins the intervals by ranks and by paired t, for contrasts such as slopes. With exponential noise,
	// ranks alone falsely claim in every seventh run of 40 rounds.
	methodUneven = "signed-rank+t"
	// methodNoisier joins the intervals by aligned ranks and by paired t, for an arm that spreads more than baseline
	// and control. Ranks alone are then too narrow.
	methodNoisier = "aligned-rank+t"
	// MethodTwoSample joins Mann and Whitney's interval and Welch's. Ranks alone claim falsely in a fifth of cases if
	// sizes are 100 and 10 with spreads of 1 and 5. Welch's t alone does not allow for outliers.
	MethodTwoSample = "rank-sum+welch"
	methodRankSum   = "rank-sum" // ranks alone, for independent samples that do not vary
	MethodWelch     = "welch"    // Welch's t, for independent samples that are too small for a test by ranks
	// MethodWelchSum is Welch's t test for the change between two overheads, if at least one has no pairs. An overhead
	// is then a difference of means.
	MethodWelchSum = "welch-sum"
)

// Ranks reports whether a method judges by ranks or by permutation, alone or together with a t test.
func Ranks(method string) bool {
	return slices.Contains([]string{methodSignedRank, methodAligned, methodMeans, MethodBoth, MethodAlignedBoth, methodUneven, methodNoisier, methodRankSum, MethodTwoSample}, method)
}

// The t test judges noisier arms beside the rank test: the p-value of their spread is below seemsNoisier or, under
// manyRounds rounds, below mayBeNoisier. With looks, the t test judges all arms under manyRounds.
const (
	manyRounds   = 10
	seemsNoisier = 0.1
	mayBeNoisier = 0.5
)

// View is the result of one estimator for the contrasts.
type View struct {
	OK    bool           // set if the estimator has a result; otherwise P and Equiv are 1
	At    stats.Interval // interval on the scale of contrasts
	P     float64        // two-sided p-value of "no difference"
	Equiv float64        // p-value of "the effect is not within the margin"
}

// Estimate holds the results of the estimators for one comparison.
type Estimate struct {
	// SD is the standard deviation of the contrasts of pairs. For unpaired data, it is the root of the mean of both
	// arms' variances.
	SD     float64
	Spread [2]float64 // standard deviations of the values: of the baseline's, then of the arm's; 0 for pairs
	Method string
	Main   View // result of the estimator that gives the headline interval
	T      View // result of the t method: Stein's t (after a pilot), Welch's t (no pairs), or paired t
}

// Rules holds the settings of a plan that the estimators use.
type Rules struct {
	Confidence float64
	Alpha      float64
	Margin     float64 // margin of equivalence on the log scale; 0: none
	Pilot      bool    // a pilot determines the number of rounds

	controlled func(rounds int) int // how many of the given rounds have the control; nil: all of them
	looks      *stats.Looks         // the plan's looks up to now; nil: the number of rounds was fixed
}

// RulesOf returns the estimators' settings that a plan contains.
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
	looks, _ := stats.NewLooks(at, most) // if the number of rounds is fixed, NewLooks returns an error, and looks is nil
	allLooks.Store(key, looks)
	return looks
}

// AtLook returns the confidence of one interval at one look. Confidence is lower with several looks: the chance that
// all their intervals hold the true value.
func (r Rules) AtLook() float64 {
	if r.looks == nil {
		return r.Confidence
	}
	return 1 - 2*r.looks.Level((1-r.Confidence)/2)
}

// TwoSided corrects the p-value of a two-sided test at the last look. The corrected p-value allows for all looks.
func (r Rules) TwoSided(p float64) float64 {
	return min(1, 2*r.looks.P(p/2))
}

// Inner returns the settings for the interval of confidence 1 − 2 alpha. Both tests of equivalence pass at alpha if it
// lies within the margin.
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
	rank, uneven := noView, ""
	if d.Uneven {
		uneven = methodUneven
	}
	if rounds, ok := d.Aligned(); ok {
		method, both = methodAligned, MethodAlignedBoth
		if len(contrasts) >= stats.LeastSignedRank(1-r.Confidence) { // with fewer rounds, no test could show that control and baseline differ
			rank = r.view(stats.AlignedRank(rounds, r.AtLook()))
		}
		few := len(contrasts) < manyRounds
		if p := rounds.Noisier(); p < seemsNoisier || few && (p < mayBeNoisier || r.looks != nil) {
			uneven = methodNoisier
		}
	} else {
		rank = r.view(stats.SignedRank(contrasts, r.AtLook()))
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

// twoSamples estimates the shift between two independent samples. If the values allow it, ranks and Welch's t together
// give the interval.
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

func (e Estimate) spreads(base, arm float64) Estimate {
	e.Spread, e.SD = [2]float64{base, arm}, Finite(math.Hypot(base, arm)/math.Sqrt2)
	return e
}

// Exceeds returns the one-sided p-value of "the overhead is the limit or less" by the headline estimator; 1: no result,
// or no value can exceed the limit.
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
		moved.Contrasts = stats.Shifted(d.Contrasts, -shift)
		v = r.Estimate(&moved).Main
	} else {
		base, arm := d.Scaled()
		v = r.twoSamples(stats.Shifted(base, shift), arm).Main
	}
	if !v.OK {
		return 1
	}
	if Cost(v.At.Point, d.Metric) > 0 {
		return v.P / 2
	}
	return 1 - v.P/2
}

var noView = View{P: 1, Equiv: 1}

func (r Rules) pairedT(contrasts []float64) View {
	return r.view(stats.PairedT(contrasts, r.AtLook()))
}

// stein returns Stein's interval and tests, with the spread of the pilot. It returns noView without a pilot, or if all
// its values are equal.
func (r Rules) stein(contrasts []float64, pilot int) View {
	sd := Deviation(contrasts[:pilot])
	if !r.Pilot || sd == 0 {
		return noView
	}
	return r.view(stats.SteinInterval(sd, pilot, contrasts, r.Confidence))
}

// hull joins two results: the point of a, the smallest interval that contains both intervals, and the larger p-value of
// each test.
func hull(a, b View) View {
	a.At.Lo, a.At.Hi = min(a.At.Lo, b.At.Lo), max(a.At.Hi, b.At.Hi)
	a.P, a.Equiv = max(a.P, b.P), max(a.Equiv, b.Equiv)
	return a
}

func (v View) wider(amount float64) View {
	v.At.Lo, v.At.Hi = v.At.Lo-amount, v.At.Hi+amount
	return v
}

// view makes a View of an estimate, with a test of equivalence if there is a margin. After an error (too few values, no
// spread), it returns noView.
func (r Rules) view(e stats.Estimate, err error) View {
	if err != nil || math.IsNaN(e.P) || math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return noView
	}
	v := View{OK: true, At: e.Interval, P: r.TwoSided(e.P), Equiv: 1}
	if r.Margin > 0 {
		if p := e.Equivalence(r.Margin); !math.IsNaN(p) {
			v.Equiv = r.looks.P(p)
		}
	}
	return v
}

// MarginOf returns the margin of equivalence of a comparison, on the scale of contrasts; 0: no margin.
func (r Rules) MarginOf(d *Data) float64 {
	switch {
	case d.Margin > 0:
		return d.Margin
	case d.Metric.Scale == experiment.Difference:
		return 0
	}
	return r.Margin
}

// MarginShown returns the margin of equivalence as output shows it: as a share of the baseline, or as an amount in the
// metric's unit; 0: no margin.
func (r Rules) MarginShown(d *Data) float64 {
	if d.Metric.Scale == experiment.Difference {
		return r.MarginOf(d)
	}
	return math.Expm1(r.MarginOf(d))
}
