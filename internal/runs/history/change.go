package history

import (
	"math"
	"math/rand/v2"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// seed is the seed of every permutation test: the same history gives the same changes.
const seed = 1

// stretchValues holds the values of a stretch that are tested for changes: the points of a series that are not left
// out.
type stretchValues struct {
	series  *Series
	stretch int
	runs    []int // indices into the experiment's runs
	values  []float64
	changes []int // indices of the first value after each change
}

// detect finds the changes of every series. The series of headline metrics share alpha by Bonferroni's
// correction: the chance of any false change among them is at most alpha. Exploratory metrics share an
// alpha of their own. Holm's correction is not used, since one series may have several changes.
func detect(list []Series, runs []*Run, o Options) {
	var series []*stretchValues
	tests := map[bool]int{}
	for i := range list {
		for st := range list[i].Stretches {
			s := list[i].valuesIn(st)
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

// valuesIn returns the points of a stretch.
func (s *Series) valuesIn(stretch int) *stretchValues {
	out := &stretchValues{series: s, stretch: stretch}
	for _, p := range s.used(stretch) {
		out.runs = append(out.runs, p.Run)
		out.values = append(out.values, p.at)
	}
	return out
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

// level returns the Hodges–Lehmann estimate with its interval. For few runs it returns the estimate by
// Student's t. For one run, or for runs that do not vary, it returns the median with an interval of width
// zero.
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

// shift describes the change at an index, between the ends of its two segments.
func (s *stretchValues) shift(from, at, to int, runs []*Run) Change {
	size, err := stats.RankSum(s.values[from:at], s.values[at:to], confidence)
	if err != nil { // no error: segments are long enough and finite
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

// warn adds findings that a reader should know before trusting the changes of a stretch.
func (s *stretchValues) warn(residuals []float64, o Options) {
	n := len(residuals)
	if n < 2*o.Segment {
		if len(s.series.Stretches) == 1 {
			s.series.Notes = append(s.series.Notes, TooShort{Runs: n, Fewest: 2 * o.Segment})
		}
		return
	}
	// The limit is the same as for rounds within a run: one of a hundred independent series exceeds this limit. The
	// residuals have less autocorrelation than the values, since reported changes are removed.
	r := stats.Neighbours(s.values, s.changes)
	if stats.Lag1(residuals)+1/float64(n) > 2.58/math.Sqrt(float64(n)) || len(s.changes) > 0 && r > mostRelated {
		s.series.Notes = append(s.series.Notes, Wandering{Lag1: r})
	}
}

// mostRelated is the largest autocorrelation with which histories without changes hardly show more changes
// than alpha allows. With a larger autocorrelation, a reported change is doubtful (hack/bench/history).
const mostRelated = 0.4

// mostInterludeValues is the largest number of values among which interludes are searched, since the time
// of the search grows with the square of the number of runs.
const mostInterludeValues = 500

// interludeShare is the share of alpha that the test for interludes gets; the test for single changes gets
// the rest.
const interludeShare = 0.25

// search finds the changes of a stretch. It first finds single changes, one split at a time, and then
// interludes between them. An interlude is a series of values that differ from the values before and after,
// such as a regression that was fixed after a week. A single split does not find an interlude: wherever the
// split is, one side has a part of the interlude and most of the other values. Without any change, the
// chance of a claim is at most alpha, since alpha is divided between the two tests. If runs resemble their
// neighbours, they are compared with surrogate series whose values do so too (stats.surrogates).
func search(x []float64, alpha float64, least int) []int {
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

// interlude finds the stretch of values [from, to) that differs most from the values around it, if a share
// of less than alpha of the surrogates has a stretch that differs as much. The interlude and both sides of
// it have at least as many values as least says. (Ranks would hardly find a short interlude: six values
// cannot have higher ranks than the six highest, however far they are from the rest.)
func interlude(x []float64, alpha float64, least int, random *rand.Rand) (from, to int, found bool) {
	if len(x) < 3*least || len(x) > mostInterludeValues {
		return 0, 0, false
	}
	values := stats.Residuals(x, nil)
	sums := make([]float64, len(x)+1)
	from, to, _ = mostApart(values, least, sums, 1)
	_, _, observed := mostApart(values, least, sums, lengthStep)
	observed -= 1e-9 * observed // the same statistic, summed in another order, must not count as larger
	surrogates := stats.NewSurrogates(values, []int{from, to}, random)
	return from, to, stats.Significant(observed, alpha, func() float64 {
		_, _, q := mostApart(surrogates.Next(), least, sums, lengthStep)
		return q
	})
}

// lengthStep is the ratio between successive lengths of stretches that are tried in surrogates. A stretch
// of nearly the right length differs nearly as much. Trying all lengths would take a time that grows with
// the square of the number of values (Walther, Annals of Statistics 38, 2010).
const lengthStep = 1.1

// mostApart finds the stretch of values whose mean is farthest from the mean of the other values, and
// returns the square of the distance. The unit of the distance is √(1/inside + 1/outside), from the numbers
// of values inside and outside the stretch. The ratio of successive lengths that are tried is step (1: all
// lengths). The slice sums is a buffer with one element more than the values.
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
