package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The number of rounds that would resolve a comparison is computed after its data were seen, and the
// observed effect is not the true effect. Power at the observed effect is therefore the wrong measure: an
// observed effect near 0 leads to thousands of rounds, although few rounds would show equivalence.
// Assurance (O'Hagan, Stevens & Campbell 2005, "Assurance in clinical trial design", Pharmaceutical
// Statistics 4) averages the power over the possible effects. Here, assurance is the average chance of any
// verdict: a difference, or equivalence.

// Aim is the goal of a comparison.
type Aim struct {
	Alpha  float64 // two-sided level of a claim, and one-sided level of each test of equivalence
	Margin float64 // margin of equivalence, in the unit of the values; 0: only a difference is a verdict
	// Shown is one minus the confidence of the interval that output shows. Reach is the largest distance
	// from 0 that this interval may reach in a claim of equivalence; 0: no limit.
	Shown, Reach float64
	Assurance    float64 // required chance of a verdict, such as 0.8
	Limit        int     // largest number to try
	// Resamples is the number of new runs that are drawn from the observed noise to correct the answer, so
	// that the shape of the noise counts; 0: the noise is assumed normal.
	Resamples int
	Seed      uint64
}

// belief is the knowledge of an effect: Student's t around At with DF degrees of freedom, scaled by
// Error, a standard error.
type belief struct{ At, Error, DF float64 }

// BeliefOf returns the belief that follows from an interval, its confidence, and its degrees of freedom.
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
	// claim returns the least distance from 0 at which an estimate is claimed at a two-sided level,
	// assuming normal noise; infinite if n values cannot support any claim.
	claim(n int, alpha float64) float64
	// equal returns the least distance by which an estimate must lie within the margin for a claim of
	// equivalence, at the level of each of the two tests.
	equal(n int, alpha float64) float64
	// most returns the largest number of values for which noise is drawn; for larger numbers it would take
	// too long.
	most() int
	// trials returns a function that draws n values and reports whether they give a verdict for an
	// effect.
	trials(n int, a *Aim) func(rng *rand.Rand, effect float64) bool
}

// PairsForVerdict returns the smallest number of rounds with which a new run of the same noise is expected
// to give a verdict with the required assurance: a difference by the signed-rank test, or equivalence by
// that test and by t. The noise is the noise of the observed contrasts d, and is assumed symmetric. The
// result is 0 if the number exceeds the limit or cannot be computed.
func PairsForVerdict(d []float64, b belief, a Aim) int {
	p, ok := pairsOf(d, b)
	if !ok {
		return 0
	}
	return verdictSize(&p, b, a)
}

// RoundsForVerdict is PairsForVerdict for rounds in which others ran beside the arm. A difference
// is judged by the aligned rank test, equivalence also by t on the contrasts.
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

// pairsOf subtracts the effect from contrasts, and scales the residuals to the spread of the noise.
func pairsOf(d []float64, b belief) (p pairs, ok bool) {
	if len(d) < 2 || !b.valid() {
		return p, false
	}
	_, sd := meanSD(d)
	p = pairs{sd: sd, scale: b.Error * math.Sqrt(float64(len(d)))}
	for _, v := range d {
		p.residuals = append(p.residuals, (v-b.At)*math.Sqrt(float64(len(d))/float64(len(d)-1)))
	}
	return p, sd > 0
}

// ValuesForVerdict is PairsForVerdict for two independent samples of equal size, judged by the
// rank-sum test and Welch's t together.
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
	s := &samples{scale: sd * max(1, b.Error/se)}
	for _, v := range x {
		s.x = append(s.x, (v-meanX)*math.Sqrt(float64(len(x))/float64(len(x)-1)))
	}
	for _, v := range y {
		s.y = append(s.y, (v-meanY)*math.Sqrt(float64(len(y))/float64(len(y)-1)))
	}
	return verdictSize(s, b, a)
}

// SizeForVerdict is PairsForVerdict if only the standard error of the effect is known, as estimated from n
// values. The error is assumed to fall with the root of the number of values.
func SizeForVerdict(n int, b belief, a Aim) int {
	if n < 1 || !b.valid() {
		return 0
	}
	a.Resamples = 0
	scale := b.Error * math.Sqrt(float64(n))
	return verdictSize(&pairs{sd: scale, scale: scale}, b, a)
}

// verdictSize searches for the smallest number of values, first with normal noise. Near the number found,
// it then searches with the observed noise.
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

// verdictChance returns the chance of a verdict with n values and normal noise. The estimate from n values
// varies by the uncertainty of the effect and by its own error. Its distribution is taken as Student's t,
// like the belief's, but wider.
func verdictChance(t noise, b belief, a *Aim, n int) float64 {
	bar := t.claim(n, a.Alpha)
	if math.IsInf(bar, 0) {
		return 0
	}
	scale := math.Hypot(b.Error, t.err(n))
	within := func(half float64) float64 { // chance that the estimate lies within ±half
		if half <= 0 {
			return 0
		}
		return max(0, studentTail((-half-b.At)/scale, b.DF)-studentTail((half-b.At)/scale, b.DF))
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

// resampledSize corrects the number by drawing from the observed noise: the number moves up or down in
// steps of a tenth until the chance of a verdict crosses the required chance. All numbers use the same
// random values.
func resampledSize(t noise, b belief, a *Aim, n int) int {
	effects := make([]float64, a.Resamples)
	for i := range effects {
		effects[i] = b.At + b.Error*StudentQuantile((float64(i)+0.5)/float64(len(effects)), b.DF)
	}
	// Effects and noise must be independent, so the sorted effects are shuffled.
	rng := rand.New(rand.NewPCG(a.Seed, 1))
	rng.Shuffle(len(effects), func(i, j int) { effects[i], effects[j] = effects[j], effects[i] })
	chance := func(n int) float64 {
		got, resolved := 0, t.trials(n, a)
		for i, effect := range effects {
			if resolved(rand.New(rand.NewPCG(a.Seed, uint64(i))), effect) {
				got++
			}
		}
		return float64(got) / float64(len(effects))
	}
	next := func(n int, up bool) int {
		if up {
			return n + max(1, n/10)
		}
		return n - max(1, n/11)
	}
	up := chance(n) < a.Assurance
	for {
		m := next(n, up)
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

// pairs is the noise of contrasts, one per round.
type pairs struct {
	sd        float64 // standard deviation of a contrast
	scale     float64 // standard error of the estimate by ranks, times √n, in the unit of a contrast
	residuals []float64
}

func (p *pairs) err(n int) float64 { return p.scale / math.Sqrt(float64(n)) }

func (p *pairs) claim(n int, alpha float64) float64 {
	return criticalDistance(p.err(n), signedRankNull(n).level(alpha), float64(n-1))
}

func (p *pairs) equal(n int, alpha float64) float64 {
	return criticalDistance(max(p.scale, p.sd)/math.Sqrt(float64(n)), signedRankNull(n).level(2*alpha), float64(n-1))
}

// criticalDistance returns the distance from 0 at which t is significant at a two-sided level: the quantile
// of t times the standard error.
func criticalDistance(err, level, df float64) float64 {
	if level <= 0 || df < 1 {
		return math.Inf(1)
	}
	return -StudentQuantile(level/2, df) * err
}

func (p *pairs) most() int { return 120 }

// trials counts the Walsh averages below and above the limits. That is faster than computing intervals and
// comparing them with the limits.
func (p *pairs) trials(n int, a *Aim) func(*rand.Rand, float64) bool {
	null := signedRankNull(n)
	claim, equal, shown := null.depth(a.Alpha), null.depth(2*a.Alpha), null.depth(a.Shown)
	t := -StudentQuantile(a.Alpha, float64(n-1)) / math.Sqrt(float64(n))
	e := make(walshAverages, n)
	return func(rng *rand.Rand, effect float64) bool {
		for i := range e {
			k := rng.IntN(2 * len(p.residuals))
			e[i] = p.residuals[k/2]
			if k%2 == 1 {
				e[i] = -e[i]
			}
		}
		slices.Sort(e)
		if differs(e, effect, claim) {
			return true
		}
		if a.Margin <= 0 || !inside(e, effect, a.Margin, equal) || a.Reach > 0 && !inside(e, effect, a.Reach, shown) {
			return false
		}
		mean, sd := meanSD(e)
		return math.Abs(mean+effect)+t*sd < a.Margin
	}
}

// differs reports whether an interval lies on one side of 0. The interval reaches from the k-th smallest to
// the k-th largest member, with k = depth, and is moved by the effect.
func differs(of combinations, effect float64, depth int) bool {
	below := of.atMost(-effect)
	return min(below, of.size()-below) < depth
}

// inside reports whether the interval that differs describes lies within ±half.
func inside(of combinations, effect, half float64, depth int) bool {
	return of.atMost(-half-effect) < depth && of.size()-of.atMost(half-effect) < depth
}

// samples is the noise of two samples of independent values.
type samples struct {
	scale float64 // standard deviation of the difference of two values, one from each sample, widened to the belief's error
	x, y  []float64
}

func (s *samples) err(n int) float64 { return s.scale / math.Sqrt(float64(n)) }

func (s *samples) claim(n int, alpha float64) float64 {
	return criticalDistance(s.err(n), rankSumNull(n, n).level(alpha), float64(2*n-2))
}

func (s *samples) equal(n int, alpha float64) float64 { return s.claim(n, 2*alpha) }

func (s *samples) most() int { return maxExactRankSum }

func (s *samples) trials(n int, a *Aim) func(*rand.Rand, float64) bool {
	null := rankSumNull(n, n)
	claim, equal, shown := null.depth(a.Alpha), null.depth(2*a.Alpha), null.depth(a.Shown)
	d := differences{x: make([]float64, n), y: make([]float64, n)}
	return func(rng *rand.Rand, effect float64) bool {
		for i := range n { // drawn from both samples in turn, so that the first values are the same for every n
			d.x[i], d.y[i] = s.x[rng.IntN(len(s.x))], s.y[rng.IntN(len(s.y))]
		}
		slices.Sort(d.x)
		slices.Sort(d.y)
		meanX, sdX := meanSD(d.x)
		meanY, sdY := meanSD(d.y)
		if sdX == 0 && sdY == 0 {
			return false
		}
		se, df := welchError(sdX, sdY, n, n)
		mean := math.Abs(meanY - meanX + effect)
		t := func(level float64) float64 { return -se * StudentQuantile(level, math.Floor(df)) } // quantiles of whole degrees of freedom are cached
		switch {
		case differs(d, effect, claim) && mean > t(a.Alpha/2):
			return true
		case a.Margin <= 0 || !inside(d, effect, a.Margin, equal) || mean+t(a.Alpha) > a.Margin:
			return false
		}
		return a.Reach <= 0 || inside(d, effect, a.Reach, shown) && mean+t(a.Shown/2) < a.Reach
	}
}
