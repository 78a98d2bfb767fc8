package experiment

import (
	"errors"
	"fmt"
	"slices"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
)

// PublishedSource is a document with numbers that this experiment measures, too. The analysis compares both. It tests
// no hypothesis with them.
type PublishedSource struct {
	Source   string         `yaml:"source" json:"source" required:"true" doc:"title of the document"`
	URL      string         `yaml:"url" json:"url,omitempty" pattern:"^https?://[^\\s]+$" form:"an address that begins with https:// or http://" doc:"address of the document"`
	Revision string         `yaml:"revision" json:"revision,omitempty" doc:"commit, version or date of the document"`
	Rows     []PublishedRow `yaml:"rows" json:"rows" required:"true" doc:"numbers of the document"`
}

// PublishedRow is one number of a document: a value of an arm, or the difference between two arms.
type PublishedRow struct {
	ID      string `yaml:"id" json:"id,omitempty" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the row, unique in the file"`
	Label   string `yaml:"label" json:"label,omitempty" pattern:"^[^\\x00-\\x1f\\x7f]{1,100}$" form:"up to 100 characters on one line" doc:"what the document compares or measures, in its own words"`
	Arm     string `yaml:"arm" json:"arm" required:"true" doc:"arm of this file that the number is about"`
	Against string `yaml:"against" json:"against,omitempty" doc:"arm that a difference is relative to; the baseline if absent"`
	Metric  string `yaml:"metric" json:"metric" required:"true" doc:"METRIC or METRIC@CELL, as in a budget"`
	// Value and Difference hold one number, or the two ends of a range. Exactly one of them is set.
	Value      factor.Levels[quantity.Amount] `yaml:"value" json:"value,omitempty" doc:"value of the metric with its unit, or the two ends of a range"`
	Difference factor.Levels[quantity.Amount] `yaml:"difference" json:"difference,omitempty" doc:"change of the metric, in percent of the arm against: -10% is less of the metric, whether that is better or worse; or the two ends of a range"`
	Interval   []quantity.Amount              `yaml:"interval" json:"interval,omitempty" doc:"the two ends of the document's confidence interval"`
	Mean       bool                           `yaml:"mean" json:"mean,omitempty" doc:"the number is a mean of trials, or a difference between means, and the run's means stand beside it, not its medians"`
	Variance   *float64                       `yaml:"variance" json:"variance,omitempty" min:"0" doc:"population variance of the trials whose mean is the value, in the square of its unit; with trials, it gives the interval, and mean is set"`
	Trials     int                            `yaml:"trials" json:"trials,omitempty" min:"1" doc:"number of trials behind the number"`
	About      bool                           `yaml:"about" json:"about,omitempty" doc:"the document gives the number as approximate"`
	AtMost     bool                           `yaml:"atMost" json:"atMost,omitempty" doc:"the document gives the number as a limit: at most so much, in the direction of the number's sign"`
	Unknown    []string                       `yaml:"unknown" json:"unknown,omitempty" doc:"what the document leaves out, such as interval or trials"`
	Note       string                         `yaml:"note" json:"note,omitempty" doc:"what differed from this experiment, in words"`
}

// OfMeans reports whether the number is a mean of trials, or a difference between such means.
func (r *PublishedRow) OfMeans() bool { return r.Mean || r.Variance != nil }

// Numbers returns the published number, or the two ends of a range.
func (r *PublishedRow) Numbers() []quantity.Amount {
	if len(r.Value) > 0 {
		return r.Value
	}
	return r.Difference
}

// In returns the amounts as numbers that the analysis compares: values in the metric's unit, differences as shares.
func (r *PublishedRow) In(m *Metric, amounts ...quantity.Amount) ([]float64, error) {
	list := make([]float64, len(amounts))
	for i, a := range amounts {
		share, isShare := a.Share()
		var err error
		switch {
		case len(r.Value) > 0:
			list[i], err = a.In(m.Unit)
		case !isShare:
			err = fmt.Errorf("a difference is a percentage, and %s is not", a)
		default:
			list[i] = share
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ValueOf returns the metric that the row is about in a cell, or nil.
func (r *PublishedRow) ValueOf(c *Cell) *Metric {
	return first(c.Metrics, func(m *Metric) bool { return Nearness(r.Metric, m.Name, c.ID) > 0 })
}

// published reports rows that this experiment cannot measure, and rows that are given twice.
func (l *loader) published(x *Experiment, arms []PlannedArm, cells []Cell) {
	seen := map[string]string{}
	once := func(at, key, message string) {
		if other, twice := seen[key]; twice {
			l.file.ReportAt(at, message, "the other is "+other)
			return
		}
		seen[key] = at
	}
	for i := range x.Published {
		s := &x.Published[i]
		for k := range s.Rows {
			r, at := &s.Rows[k], strictyaml.Index(strictyaml.Index("published", i)+".rows", k)
			if l.file.Troubled(at) {
				continue
			}
			l.publishedArms(r, at, arms)
			l.publishedNumber(r, at)
			if wrong, ok := errors.AsType[*KeyError](CheckKey(r.Metric, cells)); ok {
				l.file.ReportAt(at+".metric", wrong.Text, wrong.Hint)
			} else {
				l.publishedMetric(r, at, cells)
			}
			if r.ID != "" {
				once(at+".id", "id "+r.ID, fmt.Sprintf("two published rows have the id %s", r.ID))
			}
			if l.file.Troubled(at) {
				continue
			}
			once(at, fmt.Sprintf("%d %q %s %s %s %v", i, r.Label, r.Arm, r.Against, r.Metric, len(r.Value) > 0),
				"two rows of this document are about the same arm, metric and cell; give them different labels")
		}
	}
}

func (l *loader) publishedArms(r *PublishedRow, at string, arms []PlannedArm) {
	var names []string
	for _, a := range arms {
		if a.Role != Control {
			names = append(names, a.Name)
		}
	}
	for field, name := range map[string]string{"arm": r.Arm, "against": r.Against} {
		if name != "" && !slices.Contains(names, name) {
			l.file.ReportAt(at+"."+field, fmt.Sprintf("no arm is called %q", name), strictyaml.Suggest(name, "arms", names))
		}
	}
	base := names[0]
	if r.Against != "" {
		base = r.Against
	}
	switch {
	case r.Against != "" && len(r.Difference) == 0:
		l.file.ReportKey(at+".against", "against is about a difference, and this row gives none", "")
	case len(r.Difference) > 0 && r.Arm == base:
		l.file.ReportAt(at+".arm", fmt.Sprintf("a difference of %s from itself", r.Arm), "against names the arm that a difference is relative to")
	}
}

// publishedNumber checks which fields of a row stand together.
func (l *loader) publishedNumber(r *PublishedRow, at string) {
	if (len(r.Value) > 0) == (len(r.Difference) > 0) {
		l.file.ReportAt(at, "a published row gives either a value or a difference", "value: 1.25s is a value of the arm; difference: -10% compares it with another arm")
		return
	}
	field := "difference"
	if len(r.Value) > 0 {
		field = "value"
	}
	single := len(r.Numbers()) == 1
	for _, c := range []struct {
		wrong             bool
		at, message, hint string
	}{
		{len(r.Numbers()) > 2, field, fmt.Sprintf("%s has %d numbers; expected one, or the two ends of a range", field, len(r.Numbers())), ""},
		{len(r.Interval) > 0 && len(r.Interval) != 2, "interval", fmt.Sprintf("interval has %d numbers; expected its two ends", len(r.Interval)), ""},
		{len(r.Interval) > 0 && !single, "interval", "a range has no interval", "give one number beside the interval"},
		{len(r.Interval) == 2 && single && !between(r.Numbers()[0], r.Interval), "interval", fmt.Sprintf("the interval does not contain %s", r.Numbers()[0]), ""},
		{r.AtMost && (!single || len(r.Interval) > 0), "atMost", "atMost is about one number without an interval", ""},
		{r.Variance != nil && (len(r.Value) != 1 || r.Trials < 2 || len(r.Interval) > 0), "variance",
			"variance needs one value, the number of trials (2 or more), and no interval", ""},
	} {
		if c.wrong {
			l.file.ReportAt(at+"."+c.at, c.message, c.hint)
		}
	}
}

// between reports whether an amount lies between two amounts; true if the units of the three differ.
func between(a quantity.Amount, ends []quantity.Amount) bool {
	return a.Unit != ends[0].Unit || a.Unit != ends[1].Unit || (a.Number-ends[0].Number)*(a.Number-ends[1].Number) <= 0
}

// publishedMetric checks the units of a row against the metrics that its key names.
func (l *loader) publishedMetric(r *PublishedRow, at string, cells []Cell) {
	var named []string
	for i := range cells {
		m := r.ValueOf(&cells[i])
		if m == nil {
			continue
		}
		named = append(named, m.Name)
		if len(r.Difference) > 0 && m.Scale == Difference {
			l.file.ReportAt(at+".metric", fmt.Sprintf("%s may be zero, so that a percentage of it has no meaning", m.Name), "give a value")
			return
		}
		for field, amounts := range map[string][]quantity.Amount{"value": r.Value, "difference": r.Difference, "interval": r.Interval} {
			_, err := r.In(m, amounts...)
			switch {
			case err != nil && len(r.Value) > 0:
				l.file.ReportAt(at+"."+field, fmt.Sprintf("%s: %v", m.Name, err), "give an amount such as "+quantity.AmountIn(m.Unit))
			case err != nil:
				l.file.ReportAt(at+"."+field, err.Error(), "write it in percent: -10%")
			}
		}
		if l.file.Troubled(at) {
			return
		}
	}
	if named == nil { // the key names the failures of the program, which budgets limit
		l.file.ReportAt(at+".metric", fmt.Sprintf("%s is no metric of a trial", r.Metric), "")
	}
}
