package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/text/safetext"
)

// Ending states how many rounds of an unfinished run exist, why the others are missing, and which command adds
// them: "9 of 10 rounds; the machine was too busy for the rest; tare resume runs/night continues it"; "" for a
// finished run.
func Ending(r *analysis.Run) string {
	e := r.Ending
	if e == nil {
		return ""
	}
	done := fmt.Sprintf("%d of %s", e.Rounds, Count(e.Of, "round", "rounds")) + When(e.Arm != "", " without "+e.Arm)
	next := cmp.Or(When(e.Judged, " adds the rest, as a second look"), " continues it")
	return Join("; ", done, e.Why, When(!e.Judged && e.Arm == "", "no verdict before the rest is done"), "tare resume "+r.Directory+next)
}

// Occasion states that a run shows only one occasion, and how loaded the machine was at its start; "" for a
// run that compares nothing, is not finished, or was imported.
func Occasion(r *analysis.Run) string {
	if r.Plan == nil || r.Plan.Import != nil || r.Plan.ArmWith(experiment.Treatment) == "" || !r.Finished {
		return ""
	}
	load := ""
	if e := r.Environment; e != nil && len(e.Clusters) == 0 && e.CPU.Online > 0 {
		load = fmt.Sprintf(" (load %s on %s at its start)", Fixed(e.Load[0], 1), Count(e.CPU.Online, "processor", "processors"))
	}
	return "One run speaks for its occasion" + load + "; tare combine joins several."
}

// SetUps states how often all arms of a run were set up: "anew for every round", "6, each for about 2
// rounds"; "" if unknown.
func SetUps(s analysis.SetUps) string {
	switch {
	case !s.Known():
		return ""
	case s.Shared():
		return fmt.Sprintf("%d, each for about %s rounds", s.Count, Number(float64(s.Rounds)/float64(s.Count), 2))
	case s.Once() && s.Count == 1:
		return "one, for all rounds"
	case s.Once():
		return "one in each session"
	}
	return "anew for every round"
}

// BetweenSetUps states how much the overhead varies between set-ups: "between set-ups ±0.8 % (at most 2.1
// %, 6 set-ups in 12 rounds, p = 0.2)"; "" if no rounds share a set-up.
func BetweenSetUps(c *analysis.Comparison) string {
	b := c.SetUps
	if b == nil {
		return ""
	}
	what := cmp.Or(When(c.Blocks != nil, "blocks"), "set-ups")
	most := When(b.Most >= 0, "at most "+Size(c.Metric, b.Most)+", ")
	return fmt.Sprintf("between %s ±%s (%s%d %s in %d rounds, %s)", what, Size(c.Metric, b.SD), most, b.SetUps, what, b.Rounds, pValue(b.P))
}

// Labels writes the labels of a run: "commit 1a2b3c4d, board rpi4".
func Labels(l experiment.Labels) string {
	return strings.Join(each(l.Names(), func(name string) string { return safetext.Line(name) + " " + labelValue(l, name) }), ", ")
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
