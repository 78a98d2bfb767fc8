package importer

import (
	"slices"

	"tare/internal/experiment"
)

// omission counts the values of an exploratory metric that cannot be compared. Such a value is no reason to
// reject its trial: a counter of timeouts is zero if there were none. A headline, however, is the purpose of a
// trial, and a trial without it is invalid.
type omission struct {
	metric string
	values int
	first  string // the path of the first file with such a value
}

// leaveOut removes the unusable values of exploratory metrics from a trial. The metric becomes optional in the
// cell, like a metric that a file does not contain.
func (r *run) leaveOut(file int, in *importedCell, t *Trial) {
	if t.Broken != "" {
		return // no value of an invalid trial counts
	}
	useless := func(v Value) bool { return unfit(v) && !r.isHeadline(in, v.Metric) }
	if !slices.ContainsFunc(t.Values, useless) {
		return
	}
	var left []Value
	for _, v := range t.Values {
		if !useless(v) {
			left = append(left, v)
			continue
		}
		name := v.Metric.Name
		r.leftOut.get(name, func() *omission { return &omission{metric: name, first: r.files[file].path} }).values++
		if t.Loop != nil && (t.Loop.Latency == name || t.Loop.Throughput == name) {
			t.Loop = nil // a loop needs both of its metrics
		}
	}
	t.Values = left
}

// unfit reports whether a value cannot be compared on its metric's scale.
func unfit(v Value) bool {
	return !finite(v.Value) || v.Metric.Scale != experiment.Difference && v.Value <= 0
}

// isHeadline reports whether a metric will be a headline, by the format or by the user's choice.
func (r *run) isHeadline(in *importedCell, m experiment.Metric) bool {
	if len(r.Headline) == 0 {
		return m.Headline
	}
	return slices.Contains(r.Headline, m.Name) || slices.Contains(r.Headline, in.ID+":"+m.Name)
}

// remarkLeftOut adds a remark for each metric with values that were left out.
func (r *run) remarkLeftOut() {
	for _, o := range r.leftOut.list {
		r.remark("%s of %s left out, the first in %s: values that are zero, negative or not finite have no ratio; %s",
			plural(o.values, "value"), o.metric, o.first, differences)
	}
}

// differences is the advice for a value that is zero on a ratio scale.
const differences = "scale=difference suits metrics that may be zero"
