package gate

import (
	"cmp"
	"math"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/runs/combine"
	"tare/internal/runs/history"
)

// Against judges how much worse a run is than runs of a history. A metric has two cases: runs since the last change
// show jumps, first runs a slow decline. A ratio metric's limit must be a share.
func Against(run *analysis.Run, trials []journal.Trial, growths []history.Growth, limits *Limits, name string, confidence float64, o Options) (*Result, error) {
	r := resultOf(run, trials)
	r.Against, r.Confidence, r.Level = name, confidence, (1-confidence)/2
	for _, g := range growths {
		arm := run.Plan.Arm(g.Arm)
		if arm == nil || arm.Role == experiment.Control {
			continue
		}
		c, ok, err := limits.hypothesis(*arm, g.Metric, g.Cell)
		if ok && err == nil {
			err = c.checkScale(false)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
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

// Over judges several runs of one experiment together: a limit bounds the mean overhead over occasions. With fewer than
// two runs that can be combined, the gate is invalid.
func Over(r *combine.Result, limits *Limits, o Options) (*Result, error) {
	plan := r.Plan
	out := &Result{Schema: Schema, Name: plan.Name, Valid: true, Finished: true, Paired: true, Baseline: plan.ArmWith(experiment.Baseline),
		Confidence: float64(plan.Confidence), Level: (1 - float64(plan.Confidence)) / 2, Warnings: r.Warnings}
	var names []string
	var runs []*analysis.Run
	for _, one := range r.Used {
		out.Occasions++
		names, runs = append(names, one.Name), append(runs, one.Run)
		if out.Start.IsZero() || one.Run.Start.Before(out.Start) {
			out.Start = one.Run.Start
		}
		out.Observation = cmp.Or(out.Observation, one.Run.Observation)
	}
	out.Run, out.Rounds = strings.Join(names, ", "), out.Occasions
	for _, w := range r.Warnings {
		if failed, ok := w.(combine.ControlDiffers); ok {
			out.Valid, out.Reasons = false, append(out.Reasons, failed.ControlFails)
		}
	}
	if out.Occasions < 2 {
		out.Valid, out.Reasons = false, append(out.Reasons, TooFewOccasions{out.Occasions})
	}
	cases, err := limits.cases()
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if c.ofFailures {
			out.Cases = append(out.Cases, c.ofShare(r.Executed(c.Cell, c.Arm)))
			continue
		}
		if err := c.checkScale(true); err != nil {
			return nil, err
		}
		out.Cases = append(out.Cases, combinedCase(r, c))
	}
	if len(out.Cases) == 0 {
		return nil, ErrNoBudget
	}
	unbounded := unboundedFailures(cases)
	for _, f := range r.Failures {
		if unbounded[cellArm{f.Cell, f.Arm}] && len(f.Shown) > 0 {
			out.Cases = append(out.Cases, failsMore(f.Cell, f.Arm, f.Failed, f.Baseline, "fisher", f.PAdjusted, f.PAdjusted))
		}
	}
	out.settle(nil, o, runs...)
	return out, nil
}

// TooFewOccasions is the reason that the judged runs are too few for any decision.
type TooFewOccasions struct {
	Runs int `json:"runs"`
}

// Kind returns the name of this kind of reason.
func (TooFewOccasions) Kind() string { return "too-few-occasions" }

func combinedCase(r *combine.Result, c Case) Case {
	c.P, c.Reason = 1, NoData
	own := r.Comparison(c.Cell, c.Arm, c.Metric.Name)
	if own == nil || own.Rounds == 0 {
		return c
	}
	c.Size, c.Method, c.Reason = own.Rounds, own.Method, TooFew
	if own.PointOnly {
		return c
	}
	c.settled(own.Overhead, own.Exceeds(c.Limit.Value))
	c.Reason = ""
	if r.FailuresOf(c.Cell, c.Arm) != nil {
		c.stands.Hi = math.Inf(1) // the cost of a failed trial can be any amount, so the interval has no upper end
	}
	control := r.Comparison(c.Cell, r.Plan.ArmWith(experiment.Control), c.Metric.Name)
	if control != nil && !control.PointOnly && control.PAdjusted <= contrast.RulesOf(r.Plan).Alpha {
		c.Bias = largest(control.Overhead)
	}
	return c
}
