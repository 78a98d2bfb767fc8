package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/cost"
	"tare/internal/text/safetext"
)

// Ending states how many rounds an unfinished run has, why the other rounds are missing, and which command adds them:
// "9 of 10 rounds; …; tare resume runs/night continues it"; "": the run is finished.
func Ending(r *analysis.Run) string {
	e := r.Ending
	if e == nil {
		return ""
	}
	done := fmt.Sprintf("%d of %s", e.Rounds, Count(e.Of, "round", "rounds")) + When(e.Arm != "", " without "+e.Arm)
	next := cmp.Or(When(e.Judged, " adds the rest, as a second look"), " continues it")
	return Join("; ", done, e.Why, When(!e.Judged && e.Arm == "", "no verdict before the rest is done"), "tare resume "+r.Directory+next)
}

// Occasion states that a run shows only one occasion, and the machine's load at its start; "" for a run that compares
// nothing, is unfinished, or was imported.
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

// SetUps states how many times all arms of a run were set up: "anew for every round", or "6, each for about 2 rounds";
// "" if unknown.
func SetUps(p *experiment.Plan, s analysis.SetUps) string {
	switch {
	case !s.Known():
		return ""
	case p.InTurn():
		return "anew for every trial, one arm at a time"
	case s.Shared():
		return fmt.Sprintf("%d, each for about %s rounds", s.Count, Number(float64(s.Rounds)/float64(s.Count), 2))
	case s.Once() && s.Count == 1:
		return "one, for all rounds"
	case s.Once():
		return "one in each session"
	}
	return "anew for every round"
}

// BetweenSetUps states how much the overhead varies between set-ups: "between set-ups ±0.8 % (at most 2.1 %, 6 set-ups
// in 12 rounds, p = 0.2)"; "": no set-ups are known.
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

// Amounts writes a number of cores or nodes, or a price, with its interval: "3.2 [3.0, 3.4]". If more is set, it is a
// difference, which may read "0.1 less [0.2 more, 0.3 less]".
func Amounts(i analysis.Interval, pointOnly, more bool) string {
	return amountText(amountWords(i, more), i, pointOnly, experiment.Metric{})
}

// amountWords returns the words for an amount. A difference (isMore) that may be negative needs the words "more" and
// "less".
func amountWords(i analysis.Interval, isMore bool) signWords {
	if isMore && i.Lo < 0 {
		return more
	}
	return plain
}

// Whole writes a number of nodes without decimals. It adds the interval if the two ends differ: "4", "4 [3, 4]", "1
// less".
func Whole(i analysis.Interval, more bool) string {
	return estimate(amountWords(i, more).written(i, 0, i.Lo == i.Hi, Scale{}))
}

// CostRate writes the rate that the user asked for: "12,000 op/s", "40 Gbit/s".
func CostRate(r *cost.Result) string {
	return Join(" ", Number(r.Rate, 6), r.Unit) + "/s"
}

// CostQuestion repeats the user's question: "12,000 op/s on nodes of 8 CPUs, of which 70 % are used, at
// 0.40 EUR per hour".
func CostQuestion(r *cost.Result) string {
	cpus := Count(int(r.NodeCPUs), "CPU", "CPUs")
	if r.NodeCPUs != float64(int(r.NodeCPUs)) {
		cpus = Number(r.NodeCPUs, 3) + " CPUs"
	}
	text := fmt.Sprintf("%s on nodes of %s, of which %s are used", CostRate(r), cpus, Share(r.Utilisation))
	return text + When(r.NodePrice > 0, ", at "+strings.TrimSpace(TrimZeros(Fixed(r.NodePrice, 4))+" "+r.Currency)+" per hour")
}

// CostAssumptions lists the assumptions behind the cost of arms.
func CostAssumptions(r *cost.Result) []string {
	var list []string
	for _, b := range r.Bills {
		switch b.Basis {
		case cost.CPU:
			list = append(list, "By "+b.Metric.Name+", a unit of work takes the same CPU time at any rate as in the run, and a core does as much work as a core did there.",
				"Nodes are needed for the CPU time that "+b.Metric.Name+" counts, and for nothing else: memory, network, disks and other programs are left out.")
		case cost.Capacity:
			list = append(list, "By "+b.Metric.Name+", a node carries as much as the measured machine, and several nodes carry a multiple of it.")
		}
	}
	return append(list, Share(r.Utilisation)+" of each node may be used, and the rest stays idle. The number of cores counts all cores of the nodes.",
		"Unrounded nodes are the share of a large installation; whole nodes are rounded up. A month has 730 hours.",
		"Intervals ("+Confidence(r.Confidence)+") cover the uncertainty of the measurement, in typical rounds. Differences are estimated within rounds, and may deviate slightly from the differences of the levels.")
}

// CostMore states how much more an arm takes than the baseline: "takes 0.71 nodes more [0.62, 0.80] than
// plain", "… less than plain".
func CostMore(b *cost.Bill, a *cost.Arm) string {
	if a.More == nil {
		return ""
	}
	i := a.More.Nodes
	text := "takes " + strings.Replace(amountText(more, i, a.More.PointOnly, experiment.Metric{}), " ", " nodes ", 1) + " than " + b.Arms[0].Arm
	if !a.More.PointOnly && i.Lo <= 0 && i.Hi >= 0 {
		text = "no difference resolved: " + text
	}
	return text
}
