package wording

import (
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/cost"
)

// Amounts writes a number of cores or nodes, or a price, with its interval: "3.2 [3.0, 3.4]". With more, the
// amount is a difference, which may be negative: "0.2 [0.1, 0.3]", "0.1 less [0.2 more, 0.3 less]".
func Amounts(i analysis.Interval, pointOnly, more bool) string {
	return amountText(amountWords(i, more), i, pointOnly, experiment.Metric{})
}

// amountWords returns the words for an amount. If isMore is set, the amount stands below the heading "more", so that
// only an interval with negative values needs words.
func amountWords(i analysis.Interval, isMore bool) signWords {
	if isMore && i.Lo < 0 {
		return more
	}
	return plain
}

// Whole writes a number of whole nodes, with its interval if the ends differ: "4", "4 [3, 4]", "1 less".
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
