package gate

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/analysis/contrast"
	"tare/experiment"
)

// mostRounds is the largest number of rounds that Case.Needed gives.
const mostRounds = 10_000

// Fewest says how many cases a plan's own budgets make, from how many rounds on
// any of them can pass, and from how many on any can fail, which takes more since
// failing is corrected for the number of cases.
func Fewest(plan *experiment.Plan) (cases, pass, fail int) {
	all, err := LimitsOf(plan).cases()
	if err != nil || len(all) == 0 { // budgets that cannot be are refused where the file is read
		return 0, 0, 0
	}
	level := (1 - float64(plan.Judged())) / 2
	controlled := plan.Import == nil && plan.ArmWith(experiment.Control) != ""
	return len(all), fewest(plan.Paired(), controlled, level, 1), fewest(plan.Paired(), controlled, level, len(all))
}

// needed is about how many rounds would resolve a case: so many that the
// interval's side towards the limit, which shrinks with their root, fits between
// the estimate and the limit. Should the overhead be over the limit, the case has
// to stand Holm's correction as well, for the number of cases at worst. It is a
// guess from one run: at that number the chance of a decision is about one half
// if the estimate is right.
func needed(c *Case, level float64, cases int) int {
	d := &c.data
	switch c.Reason {
	case Straddles, NotByHolm:
	case TooFew:
		return fewest(d.Paired, d.Controlled() > 0, level, 1)
	default:
		return 0
	}
	at, limit := c.estimate.Main.At, contrast.FromOverhead(c.Limit.Value, d.Metric)
	distance, side, least := limit-at.Point, at.Hi-at.Point, fewest(d.Paired, d.Controlled() > 0, level, 1)
	if d.Metric.Scale != experiment.Difference && d.Metric.Better == experiment.Higher {
		distance, side = at.Point-limit, at.Point-at.Lo
	}
	if distance < 0 { // over the limit: the other side of the interval
		side = at.Hi - at.Lo - side
		side *= upper(level/float64(cases)) / upper(level)
		least = fewest(d.Paired, d.Controlled() > 0, level, cases)
	}
	if distance == 0 || math.IsInf(distance, 0) {
		return 0
	}
	n := math.Ceil(float64(d.Size()) * (side / distance) * (side / distance))
	if n > mostRounds || math.IsNaN(n) {
		return 0
	}
	return max(int(n), least, d.Size()+1)
}

// upper is the quantile of the normal distribution that a share lies beyond.
func upper(share float64) float64 { return -distuv.UnitNormal.Quantile(share) }

// fewest is the smallest number of values of each arm at which the test can give a
// one-sided p of level over the number of cases at all.
func fewest(paired, controlled bool, level float64, cases int) int {
	if controlled {
		return contrast.Rules{Alpha: 2 * level}.FewestControlled(cases)
	}
	return contrast.Fewest(paired, 2*level/float64(cases))
}
