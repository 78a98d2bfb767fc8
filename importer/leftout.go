package importer

import (
	"slices"

	"tare/experiment"
)

// omission counts the values of an exploratory metric that nothing can be compared by.
// One of them says little against the rest of its trial: a counter of timeouts is
// zero where all went well. A headline is what the trial was made for, and a trial
// without it is none.
type omission struct {
	metric string
	values int
	first  string // file
}

// leaveOut takes the useless values of exploratory metrics out of a trial. The metric
// becomes optional in the cell, as one that the file does not tell.
func (r *run) leaveOut(file int, in *importedCell, t *Trial) {
	if t.Broken != "" {
		return // none of its values counts
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
			t.Loop = nil // it ties two
		}
	}
	t.Values = left
}

// unfit says whether a value cannot be compared on its scale.
func unfit(v Value) bool {
	return !finite(v.Value) || v.Metric.Scale != experiment.Difference && v.Value <= 0
}

// isHeadline says whether a metric will be a headline, by the format or as chosen.
func (r *run) isHeadline(in *importedCell, m experiment.Metric) bool {
	if len(r.Headline) == 0 {
		return m.Headline
	}
	return slices.Contains(r.Headline, m.Name) || slices.Contains(r.Headline, in.ID+":"+m.Name)
}

// remarkLeftOut names each metric of which something was left out.
func (r *run) remarkLeftOut() {
	for _, o := range r.leftOut.list {
		r.remark("%s of %s left out, the first in %s: no ratio can be made of what is zero, negative or not finite; %s",
			plural(o.values, "value"), o.metric, o.first, differences)
	}
}

// differences is the hint for a value that is zero on a ratio scale.
const differences = "scale=difference suits metrics that may be zero"
