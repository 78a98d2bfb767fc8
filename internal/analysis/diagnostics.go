package analysis

import (
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// Independent samples have no rounds in which drift cancels, so every arm's series is tested.
//
// The diagnostics of all headline metrics together may give a false alarm in one of twenty runs. Each has the level
// diagnosticLevel ÷ their number. For changepoints the level is at least 1 in 500, since smaller levels need too many
// shuffles. For modes it is at least 1 in 10,000, where the table of the dip test ends.
const (
	diagnosticLevel = 0.05
	diagnosticKinds = 4
	changeLeast     = 0.002
	dipLeast        = 0.0001
	fewestTrend     = 8   // number of values below which no test is made
	lagLeast        = 0.1 // with an autocorrelation below this number, an interval is about right
)

func diagnoseSeries(run *Run, seed uint64) {
	level := diagnosticLevels(run)
	var series errgroup.Group
	series.SetLimit(runtime.GOMAXPROCS(0)) // metrics are diagnosed in parallel, which takes most of the time of an analysis
	for c := range run.Cells {
		for m := range run.Cells[c].Metrics {
			ms := &run.Cells[c].Metrics[m]
			for a := range ms.Arms {
				s := &ms.Arms[a]
				series.Go(func() error {
					s.Diagnostics = diagnosticsOf(s.Values, s.Summary, level[ms.Metric.Headline], seed)
					return nil
				})
			}
		}
	}
	_ = series.Wait() // the functions return no error
}

// diagnosticLevels returns the significance level of one diagnostic: key true for headline metrics, key false for
// exploratory metrics.
func diagnosticLevels(run *Run) map[bool]float64 {
	series := map[bool]int{}
	for _, c := range run.Cells {
		for _, m := range c.Metrics {
			series[m.Metric.Headline] += len(m.Arms)
		}
	}
	level := func(series int) float64 { return diagnosticLevel / diagnosticKinds / float64(max(series, 1)) }
	return map[bool]float64{true: level(series[true]), false: level(series[false])}
}

func diagnosticsOf(values []float64, s Summary, level float64, seed uint64) *Diagnostics {
	d := &Diagnostics{Lag1: contrast.Finite(stats.Lag1(values)), TrendP: 1, DipP: 1}
	n := len(values)
	if s.Min == s.Max || n < fewestTrend {
		return d
	}
	if slope, p, err := stats.Trend(values); err == nil {
		d.TrendP = p
		if s.Median != 0 {
			d.Trend = contrast.Finite(slope * float64(n-1) / math.Abs(s.Median))
		}
	}
	// on a coarse grid, many values are equal and look like many modes
	if distinct := slices.Compact(slices.Sorted(slices.Values(values))); len(distinct)*2 > n {
		if _, p, err := stats.Dip(values); err == nil {
			d.DipP = p
		}
	}
	changes := stats.Changepoints(values, max(level, changeLeast), max(changeSegment, n/20), seed)
	if steps(values, changes, level) {
		for _, at := range changes {
			d.Changes = append(d.Changes, at+1)
		}
	}
	return d
}

// steps reports whether steps at the changepoints fit a series better than a line does, and leave neighbours between
// changepoints independent.
func steps(values []float64, changes []int, level float64) bool {
	places := make([]float64, len(values))
	for i := range places {
		places[i] = float64(i)
	}
	line, err := stats.FitLine(places, values)
	if err != nil || len(changes) == 0 {
		return false
	}
	besideLine, besideSteps := slices.Clone(values), slices.Clone(values)
	for i, at := range places {
		besideLine[i] -= line.At(at)
	}
	from := 0
	for _, to := range append(slices.Clone(changes), len(values)) {
		centre(besideSteps[from:to])
		from = to
	}
	return floats.Norm(besideSteps, 2) < floats.Norm(besideLine, 2) && lagP(stats.Lag1(besideSteps), len(values)) > level
}

// Oddity is a way in which a series differs from independent values. Of steps, drift and alike neighbours, only the
// first is reported, since it can cause the next ones.
type Oddity string

// The oddities, in the order in which they are reported.
const (
	OddLevels Oddity = "levels" // the values have steps
	OddDrift  Oddity = "drift"  // the values tend to rise, or to fall, through all trials
	OddCarry  Oddity = "carry"  // neighbours resemble each other
	OddGroups Oddity = "groups" // the values have more than one mode
)

func (d *Diagnostics) oddities(n int, level float64) (list []Oddity) {
	switch {
	case len(d.Changes) > 0:
		return []Oddity{OddLevels} // only the changes of level are reported: they alone give the values several modes
	case d.TrendP <= level:
		list = append(list, OddDrift)
	case d.Lag1 >= lagLeast && lagP(d.Lag1, n) <= level:
		list = append(list, OddCarry)
	}
	if d.DipP <= max(level, dipLeast) {
		list = append(list, OddGroups)
	}
	return list
}

// lagP returns the two-sided p-value of "the n values are independent" from the autocorrelation r at lag 1 (normal
// around -1/n); 1 below ten values.
func lagP(r float64, n int) float64 {
	if n < 10 {
		return 1
	}
	return math.Erfc(math.Abs(r+1/float64(n)) * math.Sqrt(float64(n)/2))
}

// seriesWarnings returns one warning for each arm and oddity, such as a drift, over all its metrics; headline metrics
// come first.
func seriesWarnings(plan *experiment.Plan, run *Run) (list []Warning) {
	levels := diagnosticLevels(run)
	for _, headline := range []bool{true, false} {
		for a := range plan.Arms {
			for _, o := range []Oddity{OddLevels, OddDrift, OddCarry, OddGroups} {
				if w, ok := run.odd(a, o, headline, levels[headline]); ok {
					list = append(list, w)
				}
			}
		}
	}
	return list
}

// odd returns one warning that lists all cells and metrics in which an arm's values show an oddity, such as a drift;
// false: none.
func (r *Run) odd(arm int, o Oddity, headline bool, level float64) (Warning, bool) {
	w := Warning{Exploratory: !headline}
	var places []OddSeriesPlace
	for _, c := range r.Cells {
		for _, m := range c.Metrics {
			s := &m.Arms[arm]
			if m.Metric.Headline == headline && slices.Contains(s.Diagnostics.oddities(len(s.Values), level), o) {
				w.Arm = s.Arm
				places = append(places, OddSeriesPlace{Metric: m.Metric.Name, Cell: c.ID, Diagnostics: *s.Diagnostics})
			}
		}
	}
	if len(places) == 1 {
		w.Metric, w.Cell = places[0].Metric, places[0].Cell
	}
	w.Finding = OddSeries{Oddity: o, Places: places}
	return w, len(places) > 0
}

const (
	spreadRatio  = 3  // from this ratio of two arms' relative spreads on, their spreads count as different
	spreadFewest = 20 // fewest values with which spreads are compared
)

func compareSpreads(c *Comparison, warn func(Finding)) {
	base, arm := relativeSpread(c.Baseline, c.Metric), relativeSpread(c.Treated, c.Metric)
	ratio := max(arm/base, base/arm)
	if base <= 0 || arm <= 0 || ratio < spreadRatio {
		return
	}
	wider := experiment.Treatment
	if base > arm {
		wider = experiment.Baseline
	}
	warn(UnequalSpread{Wider: wider, Ratio: contrast.Finite(ratio)})
}

// relativeSpread returns the interquartile range of values, divided by their median on a ratio scale.
func relativeSpread(s Summary, m experiment.Metric) float64 {
	width := s.Q3 - s.Q1
	if m.Scale != experiment.Difference && s.Median > 0 {
		width /= s.Median
	}
	return width
}
