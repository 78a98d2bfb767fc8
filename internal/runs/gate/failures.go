package gate

import (
	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// Failures of a program are judged in two ways. A budget of "failures" limits the share of executions that
// fail in an arm, however often the baseline fails. Its case is decided by the exact interval of the share
// and the binomial test. An arm without a budget of failures fails the gate if the analysis gives the
// verdict that the arm fails more often than the baseline: a program that is fast because it fails is
// within no budget.

// ofShare returns the case of a failure budget, with the frequency of failures as its estimate.
func (c Case) ofShare(n analysis.Frequency) Case {
	c.Size, c.Method = n.Of, "binomial"
	if n.Of == 0 {
		c.P, c.Reason = 1, NoData
		return c
	}
	p := 1.0
	if n.Count > 0 {
		p = 1 - distuv.Binomial{N: float64(n.Of), P: c.Limit.Value}.CDF(float64(n.Count-1))
	}
	c.settled(n.Share, p)
	return c
}

// failing returns the cases of the judged arms that fail more often than the baseline and have no budget of
// failures.
func (j *judge) failing() (list []Case) {
	bounded := map[cellArm]bool{} // arms and cells that are judged; true: there is a failure budget
	for _, c := range j.result.Cases {
		bounded[cellArm{c.Cell, c.Arm}] = bounded[cellArm{c.Cell, c.Arm}] || c.ofFailures
	}
	for _, f := range j.run.Failures {
		if bounded, judged := bounded[cellArm{f.Cell, f.Arm}]; f.Verdict == analysis.Fails && judged && !bounded {
			list = append(list, Case{Cell: f.Cell, Arm: f.Arm, Metric: experiment.FailuresMetric, Outcome: Fail, Reason: FailsMore,
				Limit:     experiment.Bound{Value: f.Reference.Share.Point, Scale: experiment.Ratio},
				Estimated: true, Overhead: f.Failed.Share, Method: f.Method, P: f.P, PAdjusted: f.PAdjusted, Size: f.Failed.Of, ofFailures: true})
		}
	}
	return list
}
