package history

import (
	"fmt"
	"math"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// Growth is the change of one metric of a new run relative to a history.
type Growth struct {
	Cell   string            `json:"cell"`
	Arm    string            `json:"arm"`
	Metric experiment.Metric `json:"metric"`
	// Of names the compared quantity: the "overhead" against the run's baseline or, in histories without a baseline,
	// the "level" of the arm.
	Of string `json:"of"`
	// Recent compares the new run with the runs since the last change, Anchor with the first runs. A growth is a share
	// (0.02: costs 2 % more) or, on a difference scale, in the metric's unit; positive is worse.
	Recent GrowthEstimate `json:"recent"`
	Anchor GrowthEstimate `json:"anchor"`
	// Previous compares the new run with the latest comparable earlier run; nil: no earlier run is comparable.
	Previous *Previous `json:"previous,omitempty"`
	// Gap is the reason why Recent (latest runs) or Anchor (first runs) has no estimate; nil: both have an estimate.
	Gap analysis.Reason `json:"-"`
}

// Previous is the difference of the new run from the run before it. It allows no conclusion, since two runs do not
// show how much runs vary.
type Previous struct {
	Run    string            `json:"run"` // the directory of the earlier run
	Labels experiment.Labels `json:"labels,omitempty"`
	// Change is positive if the new run is worse. It is a share or, on a difference scale, in the metric's unit.
	Change float64 `json:"change"`
}

// GrowthEstimate is the growth of a quantity.
type GrowthEstimate struct {
	Interval analysis.Interval `json:"interval"`
	Runs     int               `json:"runs"` // the number of runs of the history that the new run is compared with
	From     string            `json:"from"` // the first run that the new run is compared with
	To       string            `json:"to"`   // the last run that the new run is compared with
	// P returns the one-sided p-value of the hypothesis that the quantity grew by the given limit or less; 1 if there
	// is no estimate.
	P func(limit float64) float64 `json:"-"`
}

// Growth compares a new run with earlier runs of its experiment. Its Anchor compares with the first runs or, if anchor
// names a run, with the runs from there. An unknown anchor is an error.
func (h *History) Growth(run *Run, anchor string) ([]Growth, error) {
	before := h.before(run)
	first := 0
	if anchor != "" {
		path := canonical(anchor)
		first = slices.IndexFunc(before.Runs, func(r *Run) bool { return r.path == path })
		if first < 0 {
			return nil, fmt.Errorf("the anchor %s is no earlier run of the same experiment in this history", anchor)
		}
	}
	var list []Growth
	for _, v := range run.values {
		if v.of == OfLevel && v.machine {
			continue
		}
		c := comparison{history: h, before: before, new: run, value: v, first: first}
		g := Growth{Cell: v.cell, Arm: v.arm, Metric: v.metric, Of: v.of, Recent: GrowthEstimate{P: never}, Anchor: GrowthEstimate{P: never}}
		g.Gap = c.fill(&g)
		list = append(list, g)
	}
	return list, nil
}

// before returns the experiment of a run with the earlier runs only. This run and all later runs are left out.
func (h *History) before(run *Run) *Experiment {
	at := slices.IndexFunc(h.Experiments, func(e *Experiment) bool { return e.Name == run.Name })
	if at < 0 {
		return &Experiment{Name: run.Name}
	}
	e := h.Experiments[at]
	later := func(r *Run) bool {
		return r.path == run.path || !run.Start.IsZero() && r.Start.After(run.Start)
	}
	if !slices.ContainsFunc(e.Runs, later) {
		return e
	}
	out := &Experiment{Name: e.Name, Runs: slices.DeleteFunc(slices.Clone(e.Runs), later)}
	out.Series = series(out.Runs, Options{Alpha: h.Alpha, Segment: h.Segment})
	return out
}

type comparison struct {
	history *History
	before  *Experiment
	new     *Run
	value   value
	first   int // the index of the first reference run
}

func never(float64) float64 { return 1 }

// fill makes the comparisons Recent and Anchor of g. If it cannot, it returns the reason as gap.
func (c *comparison) fill(g *Growth) (gap analysis.Reason) {
	scale := scale{c.value.metric, c.value.of}
	if c.new.LeftOut != nil {
		return NewRunLeftOut{c.new.LeftOut}
	}
	if c.value.estimate == nil {
		return NewRunWithout{c.value.why}
	}
	at, se, ok := scale.toPoint(c.value)
	if !ok {
		return NewIncomparable{}
	}
	series, stretch, gap := c.comparable()
	if gap != nil {
		return gap
	}
	earlier := series.used(stretch)
	if len(earlier) > 0 {
		last := earlier[len(earlier)-1]
		run := c.before.Runs[last.Run]
		g.Previous = &Previous{Run: run.Directory, Labels: run.Labels, Change: scale.change(at - last.at)}
	}
	var segments [][]float64
	for _, s := range series.Segments {
		if s.Stretch == stretch {
			segments = append(segments, s.values)
		}
	}
	if len(earlier) < c.history.Segment {
		return FewRuns{Runs: len(earlier), Fewest: c.history.Segment}
	}
	last := segments[len(segments)-1]
	sd, df := spreadWithin(last)
	if g.Recent, gap = c.change(at, se, earlier[len(earlier)-len(last):], sd, df); gap != nil {
		return gap
	}
	from := slices.IndexFunc(earlier, func(p Point) bool { return p.Run >= c.first })
	if from < 0 || len(earlier)-from < c.history.Segment {
		return FewSinceAnchor{c.history.Segment}
	}
	sd, df = spreadWithin(segments...)
	g.Anchor, gap = c.change(at, se, earlier[from:from+c.history.Segment], sd, df)
	return gap
}

// comparable returns the series that the new value continues, and the index of its stretch with the new run's
// parameters; or the reason for none.
func (c *comparison) comparable() (*Series, int, analysis.Reason) {
	at := slices.IndexFunc(c.before.Series, func(s Series) bool {
		return keyOf(s.Cell, s.Arm, s.Metric, s.Of) == c.value.key
	})
	if at < 0 {
		return nil, 0, NoSeries{}
	}
	s := &c.before.Series[at]
	counted := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.LeftOut != nil })
	if len(counted) == 0 {
		return nil, 0, FewRuns{Fewest: c.history.Segment}
	}
	if observed := c.new.Imported != ""; observed != s.Observational {
		return nil, 0, Unlike{}
	}
	stretch := s.stretchOf(c.value.asked)
	if stretch < 0 {
		return nil, 0, OtherParameters{changed(counted[len(counted)-1].asked, c.value.asked)}
	}
	return s, stretch, nil
}

func (s *Series) used(stretch int) []Point {
	other := func(p Point) bool { return p.Stretch != stretch || p.LeftOut != nil }
	return slices.DeleteFunc(slices.Clone(s.Points), other)
}

// change compares the new value with the mean of k reference runs. sd is the standard deviation between runs, known
// with df degrees of freedom. The interval is Student's for one more value:
//
//	new - mean ± t(df) · sd · √(1 + 1/k)
//
// It is exact if runs differ by normal noise. If the new run is less precise than the reference runs, its excess
// variance is added.
func (c *comparison) change(at, se float64, reference []Point, sd, df float64) (GrowthEstimate, analysis.Reason) {
	k, sum := float64(len(reference)), 0.0
	usual := 0.0 // the mean variance within a reference run
	for _, p := range reference {
		sum += p.at
		usual += p.se * p.se / k
	}
	// a positive difference: the new run is worse than the reference runs
	difference, deviation := at-sum/k, math.Sqrt(sd*sd*(1+1/k)+max(0, se*se-usual))
	if !(deviation > 0) {
		return GrowthEstimate{P: never}, NoSpread{}
	}
	half := deviation * stats.StudentQuantile(1-(1-confidence)/2, df)
	interval := stats.Interval{Point: difference, Lo: difference - half, Hi: difference + half}
	scale := scale{c.value.metric, c.value.of}
	return GrowthEstimate{
		Interval: analysis.Interval(interval.Map(scale.change)), Runs: len(reference),
		From: c.before.Runs[reference[0].Run].Directory, To: c.before.Runs[reference[len(reference)-1].Run].Directory,
		P: func(limit float64) float64 {
			most := scale.difference(limit)
			if math.IsNaN(most) || math.IsInf(most, 1) {
				return 1
			}
			return stats.StudentTail((difference-most)/deviation, df)
		},
	}, nil
}

// spreadWithin returns the standard deviation within segments, pooled over all segments, with its degrees of freedom.
func spreadWithin(segments ...[]float64) (sd, df float64) {
	total := 0.0
	for _, s := range segments {
		sum, _ := sums(s)
		mean := sum / float64(len(s))
		for _, v := range s {
			total += (v - mean) * (v - mean)
		}
		df += float64(len(s) - 1)
	}
	if df == 0 {
		return 0, 0
	}
	return math.Sqrt(total / df), df
}
