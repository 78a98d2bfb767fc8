package analysis

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// PublishedSource is a document that the experiment file lists. Beside each of its numbers stands the run's number.
type PublishedSource struct {
	Source   string      `json:"source"`             // title of the document
	URL      string      `json:"url,omitempty"`      // address of the document
	Revision string      `json:"revision,omitempty"` // commit, version or date of the document
	Rows     []Published `json:"rows"`               // its numbers: one for each cell that a row of the file names
}

// Published is a number of a document beside the same number of this run. It is no hypothesis: no verdict and no
// correction depends on it.
type Published struct {
	Row    experiment.PublishedRow `json:"row"`  // the row as the experiment file has it
	Cell   string                  `json:"cell"` // id of the cell
	Arm    string                  `json:"arm"`  // name of the arm that the number is about
	Metric experiment.Metric       `json:"metric"`
	// Against is the arm that a difference is relative to; "": the number is a value.
	Against string `json:"against,omitempty"`
	// Published is the document's number, on the scale of Measured.
	Published PublishedRange `json:"published"`
	// Measured is the run's number with its interval: the overhead relative to the arm Against or, for a value, the
	// median of the arm's trials. For a published mean, it is the overhead of the means, or the mean. Nil: the run has no
	// such number, and Reason says why.
	Measured  *Interval `json:"measured,omitempty"`
	PointOnly bool      `json:"pointOnly,omitempty"` // Measured has no interval: both its bounds equal its point
	Trials    int       `json:"trials"`              // number of the run's values behind Measured: pairs for a difference in paired data
	// Ratio is Measured divided by the published number, for values; nil: a range or a limit is published, or nothing
	// was measured.
	Ratio   *Interval `json:"ratio,omitempty"`
	Reading Reading   `json:"reading,omitempty"` // conclusion from the intervals; "": none
	// WithinNoise is set if the interval of the control, a second copy of the baseline, contains the published
	// difference: this run shows a difference of this size without any cause.
	WithinNoise bool   `json:"withinNoise,omitempty"`
	Reason      Reason `json:"-"` // why there is no reading; nil: there is one
}

// PublishedRange is a published number as a range, open at a side without a bound. The range of a single number is its
// interval or, without an interval, the numbers that round to it.
type PublishedRange struct {
	Point *float64 `json:"point,omitempty"` // the number; absent: a range is published
	Lo    *float64 `json:"lo,omitempty"`    // lower end; absent: none
	Hi    *float64 `json:"hi,omitempty"`    // upper end; absent: none
	// Rounded is set if the range holds the numbers that round to the published one, which has no interval.
	Rounded bool `json:"rounded,omitempty"`
}

// Reading is the relation between the interval of a run and a published number.
type Reading string

// The readings. Inside and Outside are about a single number or a limit, Overlap and Apart about a range or an interval.
const (
	Inside  Reading = "inside"  // the interval contains the number, or lies within the limit
	Outside Reading = "outside" // the interval does not contain the number, or lies beyond the limit
	Overlap Reading = "overlap" // the interval and the published range have common values, or the interval contains the limit
	Apart   Reading = "apart"   // the interval and the published range have no common value
)

// published sets the numbers of documents beside the numbers of a run.
func (x explainer) published(run *Run) (list []PublishedSource) {
	for _, s := range x.plan.Published {
		of := PublishedSource{Source: s.Source, URL: s.URL, Revision: s.Revision}
		for _, row := range s.Rows {
			for c := range x.plan.Cells {
				cell := &x.plan.Cells[c]
				if m := row.ValueOf(cell); m != nil {
					p := Published{Row: row, Cell: cell.ID, Arm: row.Arm, Metric: *m}
					x.measure(&p, run, c)
					of.Rows = append(of.Rows, p)
				}
			}
		}
		list = append(list, of)
	}
	return list
}

// measure fills a row with the numbers of the run and their relation to the published number.
func (x explainer) measure(p *Published, run *Run, c int) {
	a, known := x.table.arms[p.Arm]
	if p.Published.of(p, float64(x.plan.Confidence)) != nil || !known { // a file that was checked gives neither
		p.Reason = TooFewValues{}
		return
	}
	if len(p.Row.Value) > 0 {
		x.value(p, c, a)
	} else {
		x.difference(p, run, c, a)
	}
	interim := slices.ContainsFunc(run.Comparisons, func(o Comparison) bool { return o.Cell == p.Cell && o.Verdict == Interim })
	switch {
	case !run.Valid:
		p.Measured, p.Ratio, p.Reason = nil, nil, InvalidRuns{}
	case p.Measured == nil || p.PointOnly:
		if p.Reason == nil {
			p.Reason = TooFewValues{Loss: x.table.loss(c, a, p.Metric)}
		}
	case interim:
		p.Reason = UnfinishedRuns{}
	default:
		p.Reason, p.Reading = nil, p.Published.reading(*p.Measured)
	}
}

// value sets the median of an arm's values beside a published value.
func (x explainer) value(p *Published, c, a int) {
	s := summarize(sample(x.table.slots[c][a], p.Metric), float64(x.plan.Confidence))
	if p.Trials = s.N; s.N == 0 {
		return
	}
	if p.Row.OfMeans() {
		half := 0.0
		if s.N > 1 {
			half = contrast.Finite(stats.StudentQuantile((1+float64(x.plan.Confidence))/2, float64(s.N-1)) * s.SD / math.Sqrt(float64(s.N)))
		}
		s.Median, s.MedianLo, s.MedianHi, p.PointOnly = s.Mean, s.Mean-half, s.Mean+half, half == 0
	}
	p.Measured = &Interval{Point: s.Median, Lo: s.MedianLo, Hi: s.MedianHi}
	if s.MedianLo == 0 && s.MedianHi == 0 {
		p.PointOnly, p.Measured.Lo, p.Measured.Hi = true, s.Median, s.Median
	}
	if by := p.Published.Point; by != nil && *by != 0 && !p.Row.AtMost {
		r := stats.Interval(*p.Measured).Map(func(v float64) float64 { return contrast.Finite(v / *by) })
		p.Ratio = new(Interval(r))
	}
}

// difference sets an overhead beside a published difference. Against the baseline, it is the overhead of the run's own
// comparison.
func (x explainer) difference(p *Published, run *Run, c, a int) {
	base := x.plan.ArmWith(experiment.Baseline)
	if p.Against = p.Row.Against; p.Against == "" {
		p.Against = base
	}
	if noise := run.Comparison(p.Cell, x.plan.ArmWith(experiment.Control), p.Metric.Name); noise != nil && noise.Rounds > 0 && !noise.PointOnly {
		lo, hi := cmp.Or(p.Published.Point, p.Published.Lo), cmp.Or(p.Published.Point, p.Published.Hi)
		p.WithinNoise = *lo >= noise.Overhead.Lo && *hi <= noise.Overhead.Hi
	}
	if own := run.Comparison(p.Cell, p.Arm, p.Metric.Name); p.Against == base && own != nil {
		p.Trials, p.PointOnly, p.Reason = own.Rounds, own.PointOnly, own.Reason
		if p.Measured = &own.Overhead; p.Row.OfMeans() {
			if p.Measured = own.Mean; own.Mean == nil {
				p.Trials = 0
			}
		}
	} else if b, known := x.table.arms[p.Against]; known {
		d := x.table.compared(c, a, b, p.Metric)
		e := x.Estimate(&d).Main
		at, known := e.At, e.OK
		if p.Row.OfMeans() {
			at, known = x.Mean(&d)
		} else if !known {
			m := d.Middle()
			at = stats.Interval{Point: m, Lo: m, Hi: m}
		}
		p.Trials, p.PointOnly = d.Size(), !known
		p.Measured = new(Interval(contrast.Overheads(at, p.Metric)))
	}
	if p.Trials == 0 {
		p.Measured = nil
	}
}

// of fills a range from the numbers of a row. Differences become overheads, which are positive for a cost.
func (r *PublishedRange) of(p *Published, confidence float64) error {
	row, m := &p.Row, &p.Metric
	numbers, err := row.In(m, row.Numbers()...)
	if err != nil {
		return err
	}
	ends := numbers
	point := row.Numbers()[0]
	switch {
	case len(row.Interval) > 0:
		ends, err = row.In(m, row.Interval...)
	case len(numbers) > 1:
	default:
		half := point.Rounding()
		if r.Rounded = row.Variance == nil || row.Trials < 2; !r.Rounded {
			n := float64(row.Trials)
			half.Number = stats.StudentQuantile((1+confidence)/2, n-1) * math.Sqrt(*row.Variance/(n-1))
		}
		var by []float64
		by, err = row.In(m, half)
		if err == nil {
			ends = []float64{numbers[0] - by[0], numbers[0] + by[0]}
		}
	}
	if err != nil {
		return err
	}
	flip := func(v float64) float64 { return v }
	if len(row.Difference) > 0 {
		flip = func(v float64) float64 { return contrast.Cost(v, *m) + 0 }
	}
	a, b := flip(ends[0]), flip(ends[len(ends)-1])
	if len(numbers) == 1 {
		r.Point = new(flip(numbers[0]))
	}
	r.Lo, r.Hi = new(min(a, b)), new(max(a, b))
	if row.AtMost && *r.Point < 0 {
		r.Hi = nil
	} else if row.AtMost {
		r.Lo = nil
	}
	return nil
}

// reading compares a measured interval with the range.
func (r *PublishedRange) reading(of Interval) Reading {
	limit := r.Lo == nil || r.Hi == nil
	below, above := r.Lo != nil && of.Hi < *r.Lo, r.Hi != nil && of.Lo > *r.Hi
	reaches := r.Lo != nil && of.Lo < *r.Lo || r.Hi != nil && of.Hi > *r.Hi // beyond an end of the range
	switch {
	case (below || above) && (limit || r.Rounded):
		return Outside
	case below || above:
		return Apart
	case limit && !reaches, !limit && r.Rounded:
		return Inside
	}
	return Overlap
}
