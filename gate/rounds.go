package gate

import (
	"math"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/stats"
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
	both := contrast.Rules{Alpha: 1 - float64(plan.Judged())}
	controlled := plan.Import == nil && plan.ArmWith(experiment.Control) != ""
	return len(all), both.Fewest(plan.Paired(), controlled, 1), both.Fewest(plan.Paired(), controlled, len(all))
}

// needed is about how many rounds resolve a case in a new run with the chance power, given
// what was observed: the overhead is taken for as uncertain as its interval says, and not
// for the truth, since an estimate that happens to lie near the limit would ask for
// thousands of rounds. To fail, a case has to stand Holm's correction as well, for the
// number of cases at worst.
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
