package history

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/analysis"
	"tare/experiment"
	"tare/stats"
)

// Growth is what one metric of a new run has become compared with a history.
type Growth struct {
	Cell   string            `json:"cell"`
	Arm    string            `json:"arm"`
	Metric experiment.Metric `json:"metric"`
	// Of says what grew: "overhead", relative to the run's own baseline, or "level",
	// the arm's own values, in histories without a baseline to compare with.
	Of string `json:"of"`
	// Recent compares the new run with the runs since the last change, Anchor with
	// the reference runs at the beginning. A slow decline passes the first and not
	// the second. Both are shares (0.02: costs 2 % more than it did), positive for
	// worse; in the metric's unit on a difference scale.
	Recent Change `json:"recent"`
	Anchor Change `json:"anchor"`
	// Previous is the latest of the earlier runs that can be compared with; nil: there is none.
	Previous *Previous `json:"previous,omitempty"`
	// Gap says why there is no estimate, of Recent or of Anchor; nil if there are both.
	Gap analysis.Reason `json:"-"`
}

// Previous is by how much the new run differs from the one before it: for information,
// since two runs do not tell how runs differ.
type Previous struct {
	Run    string            `json:"run"` // its directory
	Labels experiment.Labels `json:"labels,omitempty"`
	// Change is a share, or in the metric's unit on a difference scale; positive for worse.
	Change float64 `json:"change"`
}

// Change is how much something grew.
type Change struct {
	Interval analysis.Interval `json:"interval"`
	Runs     int               `json:"runs"` // of the history, that it is compared with
	From     string            `json:"from"` // first of these runs
	To       string            `json:"to"`   // last of them
	// P is the one-sided p of "it grew by limit or less", as a function of the limit.
	// It is 1 where there is no estimate.
	P func(limit float64) float64 `json:"-"`
}

// Growth compares a new run with the history of its experiment: every overhead
// of its treatments, or the level of its only arm. The run itself is left out
// of the history, and so are runs that started later.
//
// Recent compares with the runs since the last change. Anchor compares with the
// first runs of the history, as many as a segment has at least; the anchor names
// another run, from which on the reference runs are taken: one at which a change
// was accepted. It is an error if the experiment has no such run.
func (h *History) Growth(run *Run, anchor string) ([]Growth, error) {
	before := h.before(run)
	first := 0
	if anchor != "" {
		path := canonical(anchor)
		first = slices.IndexFunc(before.Runs, func(r *Run) bool { return r.path == path })
		if first < 0 {
			return nil, fmt.Errorf("the anchor %s %w", anchor, ErrNoAnchor)
		}
	}
	var list []Growth
	for _, v := range run.values {
		if v.of == OfLevel && v.machine {
			continue
		}
		c := comparison{history: h, before: before, new: run, value: v, first: first}
		list = append(list, c.growth())
	}
	return list, nil
}

// ErrNoAnchor says that the anchor is none of the runs to compare with.
var ErrNoAnchor = errors.New("is no earlier run of the same experiment in this history")

// before is the experiment of a run as it was before that run.
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

// comparison is one value of a new run on its way to a Growth.
type comparison struct {
	history *History
	before  *Experiment
	new     *Run
	value   value
	first   int // index of the run at which the reference runs begin
}

func (c *comparison) growth() Growth {
	g := Growth{Cell: c.value.cell, Arm: c.value.arm, Metric: c.value.metric, Of: c.value.of}
	g.Recent.P, g.Anchor.P = never, never
	g.Gap = c.fill(&g)
	return g
}

func never(float64) float64 { return 1 }

// fill makes both comparisons, or says why it cannot.
func (c *comparison) fill(g *Growth) (gap analysis.Reason) {
	scale := scale{c.value.metric, c.value.of}
	if c.new.LeftOut != nil {
		return NewRunLeftOut{c.new.LeftOut}
	}
	if c.value.estimate == nil {
		return NewRunWithout{c.value.why}
	}
	at, se, ok := scale.place(c.value)
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

// comparable finds the series of the value and the stretch with its parameters.
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

// used are the points of a stretch that are part of the statistics.
func (s *Series) used(stretch int) []Point {
	other := func(p Point) bool { return p.Stretch != stretch || p.LeftOut != nil }
	return slices.DeleteFunc(slices.Clone(s.Points), other)
}

// change compares the new value with those of some runs, among which runs have
// a standard deviation known with so many degrees of freedom.
func (c *comparison) change(at, se float64, reference []Point, sd, df float64) (Change, analysis.Reason) {
	k, sum := float64(len(reference)), 0.0
	usual := 0.0 // variance within a run
	for _, p := range reference {
		sum += p.at
		usual += p.se * p.se / k
	}
	p := prediction{difference: at - sum/k, error: math.Sqrt(sd*sd*(1+1/k) + max(0, se*se-usual)), df: df}
	if !(p.error > 0) {
		return Change{P: never}, NoSpread{}
	}
	scale := scale{c.value.metric, c.value.of}
	return Change{
		Interval: analysis.Interval(p.interval().Map(scale.change)), Runs: len(reference),
		From: c.before.Runs[reference[0].Run].Directory, To: c.before.Runs[reference[len(reference)-1].Run].Directory,
		P: func(limit float64) float64 { return p.exceeds(scale.difference(limit)) },
	}, nil
}

// prediction compares one new value with the mean of k values of earlier runs,
// where runs differ from each other with a standard deviation estimated from df
// degrees of freedom:
//
//	new - mean ± t(df) · sd · √(1 + 1/k)
//
// This is Student's interval for one more value from the same population, exact
// where runs differ by normal noise. The spread between runs holds the
// uncertainty within them as well, as long as the new run is as precise as they
// were; what its own interval is wider by is added to the variance.
type prediction struct {
	difference float64 // new minus mean, on the scale of computation; positive is worse
	error      float64 // its standard error
	df         float64
}

func (p prediction) interval() stats.Interval {
	half := p.error * stats.StudentQuantile(1-(1-Confidence)/2, p.df)
	return stats.Interval{Point: p.difference, Lo: p.difference - half, Hi: p.difference + half}
}

// exceeds is the one-sided p of "the difference is limit or less".
func (p prediction) exceeds(limit float64) float64 {
	if math.IsNaN(limit) || math.IsInf(limit, 1) {
		return 1
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: p.df}.CDF((limit - p.difference) / p.error)
}

// spreadWithin is the standard deviation within segments, all taken together,
// with its degrees of freedom.
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
