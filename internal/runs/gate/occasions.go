package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/runs/combine"
)

// Over judges several runs of one experiment together: a limit bounds the mean overhead over
// occasions. Runs that cannot be combined are left out, with a warning. With fewer than two runs
// the gate is invalid.
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
	judged := map[*combine.Failures]bool{} // true: has a failure budget
	for _, c := range cases {
		if f := r.FailuresOf(c.Cell, c.Arm); f != nil {
			judged[f] = judged[f] || c.ofFailures
		}
		if c.ofFailures {
			out.Cases = append(out.Cases, c.ofShare(r.Executed(c.Cell, c.Arm)))
			continue
		}
		if (c.Limit.Scale == experiment.Difference) != (c.Metric.Scale == experiment.Difference) {
			return nil, &LimitError{fmt.Sprintf("the budget of %s is an amount, %s; the joint result of several runs is known only as a share", c.Metric.Name, c.Budget),
				fmt.Sprintf("replace it: --budget %s=5%%", c.Metric.Name)}
		}
		out.Cases = append(out.Cases, combinedCase(r, c))
	}
	if len(out.Cases) == 0 {
		return nil, ErrNoBudget
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		if bounded, is := judged[f]; is && !bounded && len(f.Shown) > 0 {
			out.Cases = append(out.Cases, Case{Cell: f.Cell, Arm: f.Arm, Metric: experiment.FailuresMetric, Outcome: Fail, Reason: FailsMore,
				Limit:     experiment.Bound{Value: f.Baseline.Share.Point, Scale: experiment.Ratio},
				Estimated: true, Overhead: f.Failed.Share, Method: "fisher", P: f.PAdjusted, PAdjusted: f.PAdjusted, Size: f.Failed.Of, ofFailures: true})
		}
	}
	out.settle(nil, o, runs...)
	return out, nil
}

// TooFewOccasions is the reason why there are too few runs for any decision.
type TooFewOccasions struct {
	Runs int `json:"runs"`
}

// Kind returns the name of this kind of reason.
func (TooFewOccasions) Kind() string { return "too-few-occasions" }

// combinedCase returns a case with the joint estimate of all runs.
func combinedCase(r *combine.Result, c Case) Case {
	c.P, c.Reason = 1, NoData
	at := slices.IndexFunc(r.Comparisons, func(k combine.Comparison) bool {
		return k.Cell == c.Cell && k.Arm == c.Arm && k.Metric.Name == c.Metric.Name
	})
	if at < 0 || r.Comparisons[at].Rounds == 0 {
		return c
	}
	own := &r.Comparisons[at]
	c.Size, c.Method, c.Reason = own.Rounds, own.Method, TooFew
	if own.PointOnly {
		return c
	}
	c.settled(own.Overhead, own.Exceeds(c.Limit.Value))
	c.Reason = ""
	if r.FailuresOf(c.Cell, c.Arm) != nil {
		c.stands.Hi = math.Inf(1) // the cost of a failed trial has no upper limit
	}
	for _, control := range r.Controls {
		if control.Cell == c.Cell && control.Metric.Name == c.Metric.Name && !control.PointOnly && control.PAdjusted <= contrast.RulesOf(r.Plan).Alpha {
			c.Bias = math.Max(math.Abs(control.Overhead.Lo), math.Abs(control.Overhead.Hi))
		}
	}
	return c
}
