package history

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// seed is the seed of every permutation test, so that the same history always gives the same changes.
const seed = 1

type stretchValues struct {
	series  *Series
	stretch int
	runs    []int // indices of runs in the experiment
	values  []float64
	changes []int // the index of the first value after each change
}

// detect finds the changes of every series. A false change has a chance of at most alpha over all headlines, and over
// all other metrics (Bonferroni).
func detect(list []Series, runs []*Run, o Options) {
	var series []*stretchValues
	tests := map[bool]int{}
	for i := range list {
		for st := range list[i].Stretches {
			s := &stretchValues{series: &list[i], stretch: st}
			for _, p := range list[i].used(st) {
				s.runs, s.values = append(s.runs, p.Run), append(s.values, p.at)
			}
			series = append(series, s)
			if len(s.values) >= 2*o.Segment {
				tests[list[i].Metric.Headline]++
			}
		}
	}
	each(len(series), func(i int) {
		s := series[i]
		if len(s.values) >= 2*o.Segment {
			s.changes = search(s.values, o.Alpha/float64(tests[s.series.Metric.Headline]), o.Segment)
		}
	})
	for _, s := range series {
		s.describe(runs, o)
	}
	for i := range list {
		s := &list[i]
		slices.SortStableFunc(s.Segments, func(a, b segment) int { return a.From - b.From })
		slices.SortStableFunc(s.Shifts, func(a, b Change) int { return a.Run - b.Run })
	}
}

func (s *stretchValues) describe(runs []*Run, o Options) {
	if len(s.values) == 0 {
		return
	}
	bounds := slices.Concat([]int{0}, s.changes, []int{len(s.values)})
	var residuals []float64
	for i := range bounds[1:] {
		values := s.values[bounds[i]:bounds[i+1]]
		level := s.level(values)
		s.series.Segments = append(s.series.Segments, segment{
			Stretch: s.stretch, From: s.runs[bounds[i]], To: s.runs[bounds[i+1]-1], Runs: len(values),
			Level: analysis.Interval(level.Map(s.series.scale().value)), values: values,
		})
		for _, v := range values {
			residuals = append(residuals, v-level.Point)
		}
		if i > 0 {
			s.series.Shifts = append(s.series.Shifts, s.shift(bounds[i-1], bounds[i], bounds[i+1], runs))
		}
	}
	s.warn(residuals, o)
}

// level estimates the level of values: Hodges–Lehmann's estimate, or Student's for few runs. One run, or equal runs,
// give an interval of width zero.
func (s *stretchValues) level(values []float64) stats.Interval {
	if e, err := stats.SignedRank(values, confidence); err == nil {
		return e.Interval
	}
	if e, err := stats.PairedT(values, confidence); err == nil {
		return e.Interval
	}
	m := stats.Quantile(slices.Sorted(slices.Values(values)), 0.5)
	return stats.Interval{Point: m, Lo: m, Hi: m}
}

func (s *stretchValues) shift(from, at, to int, runs []*Run) Change {
	size, err := stats.RankSum(s.values[from:at], s.values[at:to], confidence)
	if err != nil { // not expected: segments are long enough, and their values are finite
		size.Lo, size.Hi = math.Inf(-1), math.Inf(1)
	}
	site := locate(s.values[from:to], at-from)
	c := Change{
		Stretch: s.stretch, Run: s.runs[at], Last: s.runs[at-1],
		Direction: direction(size.Interval, s.series.Metric.Better),
		Size:      analysis.Interval(size.Map(s.series.scale().change)),
		Earliest:  s.runs[from+site.earliest], Latest: s.runs[from+site.latest], Sure: site.sure,
	}
	before := s.runs[max(from+site.earliest-1, 0)]
	for i := before + 1; i <= c.Latest; i++ {
		for _, d := range runs[i].Events {
			if i > c.Last && i <= c.Run {
				c.With = append(c.With, Event{i, d})
			} else {
				c.Near = append(c.Near, Event{i, d})
			}
		}
	}
	return c
}

func direction(size stats.Interval, better experiment.Better) string {
	worse, improved := Worse, Better
	if better == "" {
		worse, improved = Rose, Fell
	}
	switch {
	case size.Lo > 0:
		return worse
	case size.Hi < 0:
		return improved
	}
	return Spread
}

func (s *stretchValues) warn(residuals []float64, o Options) {
	// mostRelated is the largest autocorrelation at which false changes hardly exceed alpha (hack/bench/history). Above
	// it, changes are doubtful.
	const mostRelated = 0.4
	n := len(residuals)
	if n < 2*o.Segment {
		if len(s.series.Stretches) == 1 {
			s.series.Notes = append(s.series.Notes, TooShort{Runs: n, Fewest: 2 * o.Segment})
		}
		return
	}
	// A series of independent values exceeds 2.58/√n in one of a hundred cases. The residuals lack reported changes, so
	// their autocorrelation is less.
	r := stats.Neighbours(s.values, s.changes)
	if stats.Lag1(residuals)+1/float64(n) > 2.58/math.Sqrt(float64(n)) || len(s.changes) > 0 && r > mostRelated {
		s.series.Notes = append(s.series.Notes, Wandering{Lag1: r})
	}
}

// search returns the changes of a stretch: single changes and interludes, such as a regression fixed after a week.
// Without changes, the chance of a claim is at most alpha.
func search(x []float64, alpha float64, least int) []int {
	const interludeShare = 0.25 // share of alpha for groups of runs between changes; single changes get the rest
	changes := stats.RelatedChangepoints(x, alpha*(1-interludeShare), least, seed)
	bounds := slices.Concat([]int{0}, changes, []int{len(x)})
	random := rand.New(rand.NewPCG(seed, 1))
	var within func(from, to int)
	within = func(from, to int) {
		a, b, found := interlude(x[from:to], alpha*interludeShare, least, random)
		if !found {
			return
		}
		changes = append(changes, from+a, from+b)
		within(from, from+a)
		within(from+a, from+b)
		within(from+b, to)
	}
	for i := range bounds[1:] {
		within(bounds[i], bounds[i+1])
	}
	slices.Sort(changes)
	return changes
}

// interlude finds the values [from, to) that differ most from the surrounding values. found is true if fewer than a
// share alpha of surrogates differ as much.
func interlude(x []float64, alpha float64, least int, random *rand.Rand) (from, to int, found bool) {
	// lengthStep is the ratio of successive lengths of tried interludes. All lengths would take quadratic time
	// (Walther, Annals of Statistics 38, 2010).
	const lengthStep = 1.1
	const mostInterludeValues = 500 // the time of the search grows with the square of the number of values
	if len(x) < 3*least || len(x) > mostInterludeValues {
		return 0, 0, false
	}
	values := stats.Residuals(x, nil)
	sums := make([]float64, len(x)+1)
	from, to, _ = mostApart(values, least, sums, 1)
	_, _, observed := mostApart(values, least, sums, lengthStep)
	observed -= 1e-9 * observed // equal statistics may differ by a rounding error, which must not decide
	surrogates := stats.NewSurrogates(values, []int{from, to}, random)
	return from, to, stats.Significant(observed, alpha, func() float64 {
		_, _, q := mostApart(surrogates.Next(), least, sums, lengthStep)
		return q
	})
}

// mostApart finds the group of values [from, to) that stands out most. The result most grows with the distance of the
// group's mean from the mean of the other values, and with both numbers of values. The group, and each side of it, has
// at least least values. Each group length that is tried is step times the one before (1: all lengths).
func mostApart(values []float64, least int, sums []float64, step float64) (from, to int, most float64) {
	n := len(values)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	mean := sums[n] / float64(n)
	most = -1
	for length := least; length <= n-2*least; length = max(length+1, int(step*float64(length))) {
		weight, expected := float64(n)/float64(length*(n-length)), mean*float64(length)
		ends := sums[least+length : n-least+1]
		for i, before := range sums[least:][:len(ends)] {
			d := ends[i] - before - expected
			if q := d * d * weight; q > most {
				from, to, most = least+i, least+i+length, q
			}
		}
	}
	return from, to, most
}

// changeSite is the estimated position of a change. A position is the index of the first value of the new level.
type changeSite struct {
	earliest, latest int     // the true position lies between these bounds with the probability confidence
	sure             float64 // probability that the claimed position is the true position
}

// locate estimates how certain the position of a change is, for one step in normal noise (A. F. M. Smith, Biometrika
// 62, 1975): p(k) ∝ (k(n-k))^-½ S(k)^-(n-2)/2, where S(k) is the sum of squares around the two means.
func locate(x []float64, at int) changeSite {
	y := winsorized(x, at)
	n := len(y)
	logs := make([]float64, n) // logarithm of the probability of each position; positions 0 and 1 are impossible
	top := math.Inf(-1)
	total, whole := sums(y)
	left, leftSquares := 0.0, 0.0
	least := 1e-18*(whole-total*total/float64(n)) + math.SmallestNonzeroFloat64
	for k := range n {
		logs[k] = math.Inf(-1)
		if k >= 2 && n-k >= 2 {
			a, b := float64(k), float64(n-k)
			s := max(leftSquares-left*left/a+(whole-leftSquares)-(total-left)*(total-left)/b, least)
			logs[k] = -0.5*math.Log(a*b) - 0.5*float64(n-2)*math.Log(s)
			top = max(top, logs[k])
		}
		left += y[k]
		leftSquares += y[k] * y[k]
	}
	return siteFrom(logs, top, at)
}

func siteFrom(logs []float64, top float64, at int) changeSite {
	p := make([]float64, len(logs))
	all := 0.0
	for k, l := range logs {
		p[k] = math.Exp(l - top)
		all += p[k]
	}
	out := changeSite{earliest: at, latest: at, sure: p[at] / all}
	order := make([]int, len(p))
	for k := range p {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	held := 0.0
	for _, k := range order { // the most probable positions first
		out.earliest, out.latest = min(out.earliest, k), max(out.latest, k)
		if held += p[k] / all; held >= confidence {
			break
		}
	}
	return out
}

// winsorized limits values to three robust standard deviations around their side's median. The left median becomes 0,
// for precise sums of squares.
func winsorized(x []float64, at int) []float64 {
	const robust = 1.4826 // the standard deviation of normal values per median absolute deviation
	left, right := stats.Median(x[:at]), stats.Median(x[at:])
	centre := func(i int) float64 {
		if i < at {
			return left
		}
		return right
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Abs(v - centre(i))
	}
	reach := 3 * robust * stats.Median(out)
	for i, v := range x {
		if c := centre(i); reach > 0 { // if most values are equal, reach is 0, and no value is limited
			v = min(max(v, c-reach), c+reach)
		}
		out[i] = v - left
	}
	return out
}

func sums(x []float64) (sum, squares float64) {
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum, squares
}
