package importer

import (
	"fmt"
	"math"
	"slices"

	"tare/experiment"
)

// leftOut counts the values of exploratory metrics that nothing can be compared by.
// One of them says little against the rest of its trial: a counter of timeouts is
// zero where all went well. A headline is what the trial was made for, and a trial
// without it is none.
type leftOut struct {
	order []string
	of    map[string]*omission // by metric
}

// omission is what was left out of a metric.
type omission struct {
	values int
	first  string // file
}

// leaveOut takes the useless values of exploratory metrics out of a trial. The metric
// becomes optional in the cell, as one that the file does not tell.
func (r *run) leaveOut(file int, in *cell, t *Trial) {
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
		r.leftOut.add(v.Metric.Name, r.files[file].path)
		if t.Loop != nil && (t.Loop.Latency == v.Metric.Name || t.Loop.Throughput == v.Metric.Name) {
			t.Loop = nil // it ties two
		}
	}
	t.Values = left
}

// unfit says whether a value cannot be compared on its scale.
func unfit(v Value) bool {
	return math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Metric.Scale != experiment.Difference && v.Value <= 0
}

// isHeadline says whether a metric will be a headline, by the format or as chosen.
func (r *run) isHeadline(in *cell, m experiment.Metric) bool {
	if len(r.Headline) == 0 {
		return m.Headline
	}
	return slices.Contains(r.Headline, m.Name) || slices.Contains(r.Headline, in.ID+":"+m.Name)
}

func (l *leftOut) add(metric, file string) {
	o, ok := l.of[metric]
	if !ok {
		if l.of == nil {
			l.of = map[string]*omission{}
		}
		o = &omission{first: file}
		l.of[metric] = o
		l.order = append(l.order, metric)
	}
	o.values++
}

// remarks names each metric of which something was left out.
func (l *leftOut) remarks() []string {
	var list []string
	for _, metric := range l.order {
		o := l.of[metric]
		list = append(list, fmt.Sprintf("%s of %s left out, the first in %s: no ratio can be made of what is zero, negative or not finite; %s",
			plural(o.values, "value"), metric, o.first, differences))
	}
	return list
}

// differences is the hint for a value that is zero on a ratio scale.
const differences = "scale=difference suits metrics that may be zero"
