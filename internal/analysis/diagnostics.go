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

// Independent samples have no rounds in which drift cancels. Only the series of values itself can show that an
// interval is in doubt, so every arm's series is tested.
//
// The diagnostics of all headline metrics together should raise a false alarm in about one of twenty runs. Each
// diagnostic therefore has a significance level of diagnosticLevel divided by the number of diagnostics. For
// changepoints the level is at least 1 in 500, since smaller levels need too many shuffles. For modes it is at least
// 1 in 10,000, where the table of the dip test ends.
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

// diagnosticLevels returns the significance level of a single diagnostic. The key true is for headline metrics, and the
// key false for exploratory metrics.
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

// steps reports whether steps at the changepoints describe a series better than two other patterns do. The first
// pattern is a straight rise or fall. In the second pattern, values resemble their neighbours even between
// changepoints.
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

// Oddity is a way in which a series differs from independent values. A step makes a series also look like a drift, and
// makes neighbours alike. Only one of these three is therefore reported, in this order: steps, drift, alike neighbours.
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

// lagP returns the two-sided p-value of "the values are independent" for an autocorrelation at lag one of n values,
// by the large-sample distribution around -1/n. The result is 1 for fewer than ten values.
func lagP(r float64, n int) float64 {
	if n < 10 {
		return 1
	}
	return math.Erfc(math.Abs(r+1/float64(n)) * math.Sqrt(float64(n)/2))
}

// seriesWarnings returns one warning for each arm and oddity, such as a drift. The warning lists all metrics whose
// series show the oddity. Warnings on headline metrics come before those on exploratory metrics.
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

// odd returns one warning that lists all cells and metrics in which an arm's values show an oddity, such as a drift. If
// there is only one such series, the warning belongs to its metric and cell.
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
	spreadRatio  = 3  // from this ratio of two arms' interquartile ranges on, their spreads count as different
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
