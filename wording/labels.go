package wording

import (
	"cmp"
	"strings"

	"tare/experiment"
	"tare/gate"
	"tare/safetext"
)

// shortCommit is the number of a commit's digits that people use to identify it.
const shortCommit = 8

// Labels writes the labels of a run: "commit 1a2b3c4d, board rpi4".
func Labels(l experiment.Labels) string {
	var parts []string
	for _, name := range l.Names() {
		parts = append(parts, safetext.Line(name)+" "+labelValue(l, name))
	}
	return strings.Join(parts, ", ")
}

// Label writes the value of a run's first label, which names the run on an axis.
func Label(l experiment.Labels) string {
	if len(l) == 0 {
		return ""
	}
	return labelValue(l, l.Names()[0])
}

func labelValue(l experiment.Labels, name string) string {
	if name == experiment.LabelCommit && experiment.IsCommit(l[name]) {
		return l[name][:min(len(l[name]), shortCommit)]
	}
	return safetext.Line(l[name])
}

// GatePrevious states how a case's value changed since the previous run, with an arrow up for worse, and
// which two runs are compared. It is no verdict, since two runs do not show how much runs vary.
func GatePrevious(r *gate.Result, c gate.Case) (change, runs string) {
	p := c.Previous
	switch {
	case p.Change > 0:
		change = "▲ " + Changed(c.Metric, p.Change)
	case p.Change < 0:
		change = "▼ " + Changed(c.Metric, p.Change)
	default:
		change = "the same"
	}
	was := cmp.Or(Labels(p.Labels), safetext.Line(p.Run))
	is := cmp.Or(Labels(r.Labels), "this run")
	return change, was + " → " + is + "; for information, not judged"
}
