package wording

import (
	"cmp"
	"strings"

	"tare/experiment"
	"tare/gate"
	"tare/safetext"
)

// shortCommit is as much of a commit as people tell commits apart by.
const shortCommit = 8

// Labels writes what a run was made of: "commit 1a2b3c4d, board rpi4".
func Labels(l experiment.Labels) string {
	var parts []string
	for _, name := range l.Names() {
		parts = append(parts, safetext.Line(name)+" "+labelValue(l, name))
	}
	return strings.Join(parts, ", ")
}

// Label is the first label of a run, without its name: on an axis it stands for the run.
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

// GatePrevious says what became of a case's value since the run before, with an arrow up
// for worse, and which two runs these are. It is no verdict: of two runs nobody
// knows how runs differ.
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
