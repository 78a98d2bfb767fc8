package history

import (
	"math"
	"slices"

	"tare/experiment"
	"tare/stats"
)

// seed is that of every permutation test: the same history gives the same
// changes.
const seed = 1

// strand is what is tested for changes: the points of a series that lie in one
// stretch and are part of the statistics.
type strand struct {
	series  *Series
	stretch int
	runs    []int // indices into the experiment's runs
	values  []float64
	changes []int // indices of the first values of new levels
}

// detect finds the changes of every series. Those of headline metrics share the
// level, by Bonferroni: the chance that any of them changes falsely is alpha at
// most. Exploratory metrics share another alpha. It is Bonferroni and not Holm
// because one series may change several times.
func detect(list []Series, runs []*Run, o Options) {
	var strands []*strand
	tests := map[bool]int{}
	for i := range list {
		for st := range list[i].Stretches {
			s := list[i].strand(st)
			strands = append(strands, s)
			if len(s.values) >= 2*o.Segment {
				tests[list[i].Metric.Headline]++
			}
		}
	}
	each(len(strands), func(i int) {
		s := strands[i]
		if len(s.values) >= 2*o.Segment {
			s.changes = search(s.values, o.Alpha/float64(tests[s.series.Metric.Headline]), o.Segment)
		}
	})
	for _, s := range strands {
		s.describe(runs, o)
	}
	for i := range list {
		s := &list[i]
		slices.SortStableFunc(s.Segments, func(a, b Segment) int { return a.From - b.From })
		slices.SortStableFunc(s.Shifts, func(a, b Shift) int { return a.Run - b.Run })
	}
}

// strand gives the points of a stretch.
func (s *Series) strand(stretch int) *strand {
	out := &strand{series: s, stretch: stretch}
	for _, p := range s.used(stretch) {
		out.runs = append(out.runs, p.Run)
		out.values = append(out.values, p.at)
	}
	return out
}

func (s *strand) describe(runs []*Run, o Options) {
	if len(s.values) == 0 {
		return
	}
	bounds := slices.Concat([]int{0}, s.changes, []int{len(s.values)})
	var residuals []float64
	for i := range bounds[1:] {
		values := s.values[bounds[i]:bounds[i+1]]
		level := s.level(values)
		s.series.Segments = append(s.series.Segments, Segment{
			Stretch: s.stretch, From: s.runs[bounds[i]], To: s.runs[bounds[i+1]-1], Runs: len(values),
			Level: s.series.scale().values(level), values: values,
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

// level is the Hodges–Lehmann estimate; Student's t serves for few runs, and the
// median without width for one, or for runs that do not vary.
func (s *strand) level(values []float64) stats.Interval {
	if e, err := stats.SignedRank(values, Confidence); err == nil {
		return e.Interval
	}
	if e, err := stats.PairedT(values, Confidence); err == nil {
		return e.Interval
	}
	m := stats.Quantile(slices.Sorted(slices.Values(values)), 0.5)
	return stats.Interval{Point: m, Lo: m, Hi: m}
}

// shift describes the change at a value, between the ends of its two segments.
func (s *strand) shift(from, at, to int, runs []*Run) Shift {
	size, err := stats.RankSum(s.values[from:at], s.values[at:to], Confidence)
	if err != nil { // segments are long enough and finite
		size.Lo, size.Hi = math.Inf(-1), math.Inf(1)
	}
	place := locate(s.values[from:to], at-from)
	c := Shift{
		Stretch: s.stretch, Run: s.runs[at], Last: s.runs[at-1],
		Direction: direction(size.Interval, s.series.Metric.Better), Size: s.series.scale().changes(size.Interval),
		Earliest: s.runs[from+place.earliest], Latest: s.runs[from+place.latest], Sure: place.sure,
	}
	before := s.runs[max(from+place.earliest-1, 0)]
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

// warn notes what a reader must know of a strand before believing its changes.
func (s *strand) warn(residuals []float64, o Options) {
	n := len(residuals)
	if n < 2*o.Segment {
		if len(s.series.Stretches) == 1 {
			s.series.Notes = append(s.series.Notes, TooShort{Runs: n, Fewest: 2 * o.Segment})
		}
		return
	}
	// As for rounds within a run: what one of a hundred independent series shows.
	if r := stats.Lag1(residuals); r+1/float64(n) > 2.58/math.Sqrt(float64(n)) {
		s.series.Notes = append(s.series.Notes, Wandering{Lag1: r})
	}
}
