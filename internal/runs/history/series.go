package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// New builds the history of runs, which may be in any order. The history keeps these runs, and changes them.
func New(runs []*Run, skipped []Skipped, o Options) *History {
	if o.Alpha <= 0 {
		o.Alpha = DefaultAlpha
	}
	o.Segment = max(cmp.Or(max(o.Segment, 0), DefaultSegment), LeastSegment)
	h := &History{Schema: Schema, Alpha: o.Alpha, Segment: o.Segment, Confidence: confidence, Experiments: []*Experiment{}, Skipped: skipped}
	for _, r := range runs {
		at := slices.IndexFunc(h.Experiments, func(e *Experiment) bool { return e.Name == r.Name })
		if at < 0 {
			at, h.Experiments = len(h.Experiments), append(h.Experiments, &Experiment{Name: r.Name})
		}
		h.Experiments[at].Runs = append(h.Experiments[at].Runs, r)
	}
	slices.SortFunc(h.Experiments, func(a, b *Experiment) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range h.Experiments {
		arrange(e.Runs)
		recordEvents(e.Runs)
		e.Series = series(e.Runs, o)
	}
	return h
}

// LeastSegment is the smallest number of runs in a segment. With fewer runs in each of two segments, a rank-sum
// interval is impossible.
const LeastSegment = 4

// arrange sorts runs by start, and leaves out copies of runs. Runs of unknown start come first.
func arrange(runs []*Run) {
	slices.SortStableFunc(runs, func(a, b *Run) int {
		return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Directory, b.Directory))
	})
	for i, r := range runs {
		if r.LeftOut != nil || r.Start.IsZero() {
			continue
		}
		for _, before := range slices.Backward(runs[:i]) {
			if !before.Start.Equal(r.Start) {
				break
			}
			if before.LeftOut == nil && before.identity == r.identity {
				r.LeftOut = Copy{Of: before.Directory, Imported: r.Imported != ""}
				break
			}
		}
	}
}

// series builds every series of an experiment with its changes, in the order of the latest plans.
func series(runs []*Run, o Options) []Series {
	list, at := []Series{}, map[key]int{}
	for _, r := range slices.Backward(runs) { // the latest plan determines the order and the form of metrics
		for _, v := range r.values {
			if _, known := at[v.key]; !known {
				at[v.key] = len(list)
				list = append(list, Series{Cell: v.cell, Arm: v.arm, Metric: v.metric, Of: v.of,
					Stretches: []Stretch{}, Segments: []segment{}, Shifts: []Change{}})
			}
		}
	}
	for i, r := range runs {
		for _, v := range r.values {
			list[at[v.key]].add(i, r, v)
		}
	}
	for i := range list {
		list[i].separateObservational(runs)
		list[i].assignStretches()
	}
	detect(list, runs, o)
	return list
}

func (s *Series) add(run int, r *Run, v value) {
	s.Machine = s.Machine || v.machine
	p := Point{Run: run, LeftOut: r.LeftOut, Value: v.estimate, asked: v.asked}
	why, fits := v.why, true
	if v.estimate != nil {
		if p.at, p.se, fits = s.scale().toPoint(v); !fits {
			why = Incomparable{}
		}
	}
	if p.LeftOut == nil {
		p.LeftOut = why
	}
	s.Points = append(s.Points, p)
}

func (s *Series) assignStretches() {
	var last parameters
	for _, p := range s.Points {
		if p.LeftOut != nil {
			continue
		}
		if s.stretchOf(p.asked) < 0 {
			s.Stretches = append(s.Stretches, Stretch{First: p.Run, asked: p.asked, Differs: changed(last, p.asked)})
		}
		last = p.asked
	}
	for i := range s.Points {
		s.Points[i].Stretch = s.stretchOf(s.Points[i].asked)
	}
}

func (s *Series) stretchOf(asked parameters) int {
	return slices.IndexFunc(s.Stretches, func(st Stretch) bool { return maps.Equal(st.asked, asked) })
}

// toPoint converts an estimate and its standard error to the scale of computation.
func (s scale) toPoint(v value) (y, se float64, ok bool) {
	y, ok = s.compute(v.estimate.Point)
	lo, okLo := s.compute(v.estimate.Lo)
	hi, okHi := s.compute(v.estimate.Hi)
	if okLo && okHi && v.z > 0 {
		se = max(hi-lo, lo-hi) / 2 / v.z
	}
	return y, se, ok
}

// separateObservational leaves out the observational runs of a series with experiments. It marks a series without
// experiments as observational.
func (s *Series) separateObservational(runs []*Run) {
	observed := func(p Point) bool { return p.LeftOut == nil && runs[p.Run].Imported != "" }
	sound := func(p Point) bool { return p.LeftOut == nil && runs[p.Run].Imported == "" }
	if !slices.ContainsFunc(s.Points, sound) {
		s.Observational = slices.ContainsFunc(s.Points, observed)
		return
	}
	for i, p := range s.Points {
		if observed(p) {
			s.Points[i].LeftOut = Observed{}
		}
	}
}

// scale maps values of a series to the scale of computation, and back. Values of ratio metrics become logarithms. On
// this scale, larger is worse.
type scale struct {
	metric experiment.Metric
	of     string
}

func (s Series) scale() scale { return scale{s.Metric, s.Of} }

func (s scale) sign() float64 {
	if s.metric.Better == experiment.Higher {
		return -1
	}
	return 1
}

// compute maps a value to the scale of computation. It returns false if the result is not finite.
func (s scale) compute(v float64) (y float64, ok bool) {
	switch {
	case s.of == OfOverhead:
		y = s.difference(v)
	case s.metric.Scale == experiment.Difference:
		y = v * s.sign()
	default:
		y = math.Log(v) * s.sign()
	}
	return y, !math.IsNaN(y) && math.Abs(y) <= largest
}

// largest is the largest value allowed on the scale of computation. The sum of its squares over any history is still
// finite.
const largest = 1e150

func (s scale) value(y float64) float64 {
	switch {
	case s.of == OfOverhead:
		return s.change(y)
	case s.metric.Scale == experiment.Difference:
		return contrast.Finite(y * s.sign())
	}
	return contrast.Finite(math.Exp(y * s.sign()))
}

// change converts a difference on the scale of computation to a share or, for difference metrics, to an amount in the
// metric's unit. Positive is worse.
func (s scale) change(d float64) float64 { return contrast.Magnitude(d, s.metric) }

// difference is the inverse of change: it converts a share or amount to the scale of computation. It returns +Inf for a
// loss of 100 % or more.
func (s scale) difference(change float64) float64 {
	return contrast.Cost(contrast.FromOverhead(change, s.metric), s.metric)
}
