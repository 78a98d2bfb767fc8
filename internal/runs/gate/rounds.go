package gate

import (
	"math"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/stats"
)

// mostRounds is the largest value of Case.Needed.
const mostRounds = 10_000

// Fewest returns the number of cases that the budgets of a plan make, the smallest number of rounds with which a case
// can pass, and the smallest number of rounds with which a case can fail. Failing needs more rounds, since it is
// corrected for the number of cases.
func Fewest(plan *experiment.Plan) (cases, pass, fail int) {
	all, err := LimitsOf(plan).cases()
	if err != nil || len(all) == 0 { // impossible budgets are errors of the experiment file
		return 0, 0, 0
	}
	both := contrast.Rules{Alpha: 1 - float64(plan.Judged())}
	controlled := plan.Import == nil && plan.ArmWith(experiment.Control) != ""
	return len(all), both.Fewest(plan.Paired(), controlled, 1), both.Fewest(plan.Paired(), controlled, len(all))
}

// needed returns the approximate number of rounds with which a new run resolves a case with the probability power.
// The true overhead counts as uncertain, as the width of the interval shows: an estimate near the limit would
// otherwise lead to thousands of rounds. To fail, a case must be significant after Holm's correction for the argument
// cases.
func needed(c *Case, level float64, cases int, power float64) int {
	d := &c.data
	fewest := func(cases int) int {
		return contrast.Rules{Alpha: 2 * level}.Fewest(d.Paired, d.Controlled() > 0, cases)
	}
	switch c.Reason {
	case Straddles, NotByHolm:
	case TooFew:
		return fewest(1)
	default:
		return 0
	}
	at, limit := c.estimate.Main.At, contrast.FromOverhead(c.Limit.Value, d.Metric)
	over := contrast.Cost(at.Point-limit, d.Metric)
	if math.IsInf(over, 0) || math.IsNaN(over) {
		return 0
	}
	least := max(fewest(1), d.Size()+1)
	if over > 0 {
		least = max(least, fewest(cases))
	}
	each := d.RoundsEach()
	if at.Lo == at.Hi {
		return least * each
	}
	b := stats.BeliefOf(at, 1-2*level, d.Freedom())
	b.At = over
	side := stats.Side{Below: level, Above: level / float64(cases), Assurance: power, Limit: mostRounds / each}
	var n int
	switch {
	case !d.Paired:
		n = side.Values(d.Size(), b)
	case d.MostlyControlled():
		n = side.Rounds(d.Size(), b)
	default:
		n = side.Pairs(d.Size(), b)
	}
	if n == 0 {
		return 0
	}
	return max(n, least) * each
}
