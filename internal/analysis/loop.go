package analysis

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// Mean latency × throughput is the number of requests in flight (Little's law). A closed loop fixes that number, so
// latency and throughput are one claim.
const (
	// loopNear is the largest distance of the median product from the number of workers, as a share. A trial's start
	// and end make the product smaller.
	loopNear = 0.05
	// loopShare is the largest standard deviation of the product in a closed loop, as a share of latency's, both within
	// arms. Open loops have a share near 1.
	loopShare = 0.5
	// loopTrials is how many trials beyond one per arm show a closed loop. Independent values look like one in fewer
	// than one of a thousand cases.
	loopTrials = 10
)

// loop returns the summary of a cell's closed loop; nil: the trials do not show a closed loop.
func (t *table) loop(c int) *LoopSummary {
	l := t.plan.Cells[c].Loop
	if l == nil {
		return nil
	}
	latency, throughput := t.plan.Cells[c].Metric(l.Latency), t.plan.Cells[c].Metric(l.Throughput)
	if latency == nil || throughput == nil {
		return nil
	}
	var products, logProducts, logLatencies []float64
	free := 0
	for _, arm := range t.slots[c] {
		first := len(products)
		for trial := range valid(arm) {
			seconds, okLatency := value(trial, *latency)
			rate, okThroughput := value(trial, *throughput)
			if okLatency && okThroughput && seconds > 0 && rate > 0 {
				products = append(products, contrast.Finite(seconds*rate))
				logProducts = append(logProducts, math.Log(seconds)+math.Log(rate))
				logLatencies = append(logLatencies, math.Log(seconds))
			}
		}
		free += max(len(products)-first-1, 0)
		centre(logProducts[first:])
		centre(logLatencies[first:])
	}
	if len(products) == 0 {
		return nil
	}
	slices.Sort(products)
	s := &LoopSummary{Loop: *l, Least: products[0], Median: stats.Quantile(products, 0.5), Most: products[len(products)-1], Trials: len(products)}
	s.Known = l.Workers > 0 && math.Abs(s.Median/l.Workers-1) <= loopNear
	if !s.Known && (free < loopTrials || contrast.Deviation(logProducts) > loopShare*contrast.Deviation(logLatencies)) {
		return nil
	}
	return s
}

func centre(x []float64) { floats.AddConst(-floats.Sum(x)/float64(len(x)), x) }

// restates returns the metric that has the verdict in place of m, "" for m itself. In a closed loop, mean latency and
// throughput say the same: throughput has the verdict, unless only latency is a headline.
func (t *table) restates(c int, m experiment.Metric) string {
	l := t.loops[c]
	if l == nil {
		return ""
	}
	says, restates := l.Throughput, l.Latency
	if t.plan.Cells[c].Metric(l.Latency).Headline && !t.plan.Cells[c].Metric(l.Throughput).Headline {
		says, restates = restates, says
	}
	if m.Name == restates {
		return says
	}
	return ""
}

// extreme matches the names of percentiles and maxima: "latency-p99", "p99.9", "max".
var extreme = regexp.MustCompile(`(^|[^a-z0-9])(p[0-9.]+|[0-9.]+th|max|maximum|worst)($|[^a-z0-9])`)

// omits reports whether a metric is a percentile or maximum of latency. A closed loop distorts it: no requests are sent
// while a response is slow.
func (s *LoopSummary) omits(cell experiment.Cell, m experiment.Metric) bool {
	latency := cell.Metric(s.Latency)
	return m.Name != s.Latency && m.Unit == latency.Unit && extreme.MatchString(strings.ToLower(m.Name))
}

// omissions warns of percentiles and maxima of latency in closed loops: they leave out unsent requests. Cells with
// equal metrics share a warning.
func omissions(plan *experiment.Plan, run *Run) (list []Warning) {
	for c, cell := range plan.Cells {
		loop := run.Cells[c].Loop
		if loop == nil {
			continue
		}
		for _, headline := range []bool{true, false} {
			var names []string
			for _, m := range cell.Metrics {
				if m.Headline == headline && loop.omits(cell, m) {
					names = append(names, m.Name)
				}
			}
			at := slices.IndexFunc(list, func(w Warning) bool {
				return w.Exploratory != headline && slices.Equal(w.Finding.(Omission).Metrics, names)
			})
			switch {
			case names == nil:
			case at >= 0:
				list[at].Cell += ", " + cell.ID
			default:
				list = append(list, Warning{Cell: cell.ID, Exploratory: !headline, Finding: Omission{names}})
			}
		}
	}
	return list
}
