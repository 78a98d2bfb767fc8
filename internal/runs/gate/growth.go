package gate

import (
	"math"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/runs/history"
)

// Against judges how much worse a run is than the runs of a history, which the argument name names for the reader.
// The argument confidence is the confidence of the growths. A limit must be on the metric's own scale: for a ratio
// metric, a limit in the metric's unit is an error. Each metric with a limit makes two cases, and both must pass. One
// case compares with the runs since the last change, and finds small jumps. The other case compares with the first
// runs, and finds a slow decline.
func Against(run *analysis.Run, trials []journal.Trial, growths []history.Growth, limits *Limits, name string, confidence float64, o Options) (*Result, error) {
	r := resultOf(run, trials)
	r.Against, r.Confidence, r.Level = name, confidence, (1-confidence)/2
	for _, g := range growths {
		arm := run.Plan.Arm(g.Arm)
		if arm == nil || arm.Role == experiment.Control {
			continue
		}
		c, ok, err := limits.hypothesis(*arm, g.Metric, g.Cell)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := c.checkScale(false); err != nil {
			return nil, err
		}
		recent, anchor := growthCase(c, g, PartRecent, g.Recent), growthCase(c, g, PartAnchor, g.Anchor)
		recent.Previous = g.Previous
		r.Cases = append(r.Cases, recent, anchor)
	}
	if len(r.Cases) == 0 {
		return nil, ErrNoBudget
	}
	r.settle(trials, o, run)
	return r, nil
}

func growthCase(c Case, g history.Growth, part string, change history.GrowthEstimate) Case {
	c.History = &Stretch{Part: part, Of: g.Of, Runs: change.Runs, From: change.From, To: change.To}
	c.Size, c.P = change.Runs, 1
	i := change.Interval
	switch {
	case g.Gap != nil:
		c.Reason, c.Gap = NoHistory, g.Gap
	case change.Runs == 0 || change.P == nil || !finite(i.Point) || !finite(i.Lo) || !finite(i.Hi):
		c.Reason = NoHistory
	default:
		p := change.P(c.Limit.Value)
		if !(p >= 0 && p <= 1) {
			p = 1
		}
		c.settled(i, p)
	}
	return c
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
