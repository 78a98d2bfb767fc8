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

// In any system, mean latency × throughput is the mean number of requests in flight (Little's law). In a closed loop,
// that number is the fixed number of workers, so latency and throughput carry the same information. If the number of
// workers is not reported, a closed loop still shows: latency × throughput hardly varies.
const (
	// loopNear is the largest distance between the median product and the reported number of workers, as a share of
	// this number. The product is some percent smaller because of the start and the end of a trial.
	loopNear = 0.05
	// loopShare is the rule for a closed loop if the number of workers is unknown. The standard deviation of the
	// product must be at most this share of the latency's standard deviation. In an open loop, the product varies as
	// much as latency. Both deviations are taken within arms: otherwise an experiment that drives each arm at four
	// fifths of its capacity would look like a closed loop.
	loopShare = 0.5
	// loopTrials is the number of trials that loopShare needs, in addition to one per arm, to find a closed loop. If
	// latency and throughput are independent, ten trials look like a closed loop in fewer than one of a thousand cases.
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

// restates returns the metric that has the verdict in place of metric m, since both carry the same information; "": m
// has a verdict of its own. Of latency and throughput, throughput has the verdict, unless only latency is a headline.
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

// omits reports whether a metric is a percentile or a maximum of latency. A closed loop distorts such metrics: it sends
// no requests while a response is slow.
func (s *LoopSummary) omits(cell experiment.Cell, m experiment.Metric) bool {
	latency := cell.Metric(s.Latency)
	return m.Name != s.Latency && m.Unit == latency.Unit && extreme.MatchString(strings.ToLower(m.Name))
}

// omissions warns of percentiles and maxima of latency in closed loops, which leave out requests that were never sent.
// If several cells have the same such metrics, they share one warning.
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
