package analysis

import (
	"fmt"
	"math"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/stats"
)

// NeededRounds is the second stage of Stein's rule: from the trials of the pilot
// (the plan's rounds) it gives the total number of rounds, the pilot's included,
// after which every treatment's interval on every headline metric is to have the
// half-width of the plan's precision, on the log scale: ln(1 + precision). It is
// capped at the plan's MaxRounds and never under the pilot. Later trials are
// ignored, so that asking again gives the same answer. In a plan without
// treatments, which asks for the noise, the control stands for them. It is an
// error when no such arm has two valid pairs on a headline metric.
func NeededRounds(plan *experiment.Plan, trials []journal.Trial) (int, error) {
	n, _, err := neededRounds(tabulate(plan, trials, validOnly))
	return n, err
}

// neededRounds also says whether the cap cut the number.
func neededRounds(t *table) (rounds int, capped bool, err error) {
	plan := t.plan
	rounds = plan.Rounds
	half := math.Log1p(float64(plan.Precision))
	most := max(plan.MaxRounds, plan.Rounds)
	base := role(plan, experiment.Baseline)
	wanted := experiment.Treatment
	if role(plan, wanted) < 0 {
		wanted = experiment.Control
	}
	asked := 0
	for c, cell := range plan.Cells {
		for a, arm := range plan.Arms {
			for _, m := range cell.Metrics {
				if base < 0 || arm.Role != wanted || !m.Headline {
					continue
				}
				p := t.pair(c, a, base, m)
				if p.Pilot < 2 {
					continue
				}
				n, cut, err := stats.SteinRounds(p.Contrasts[:p.Pilot], half, float64(plan.Confidence), most)
				if err != nil {
					return 0, false, fmt.Errorf("%s of %s in %s: %w", m.Name, arm.Name, cell.ID, err)
				}
				asked++
				rounds, capped = max(rounds, n), capped || cut
			}
		}
	}
	if asked == 0 {
		return 0, false, fmt.Errorf("no %s has two valid pairs with the baseline on a headline metric in the pilot of %d rounds", wanted, plan.Rounds)
	}
	return rounds, capped, nil
}

// totalRounds is the number of rounds that the run is to have, as far as it is
// known: the pilot's until the pilot is complete.
func totalRounds(t *table) (rounds int, capped bool) {
	rounds = t.plan.Rounds
	if t.plan.Import != nil {
		return len(t.rounds), false
	}
	if t.plan.Precision == 0 || t.final < rounds || !t.complete(rounds) {
		return rounds, false
	}
	n, capped, err := neededRounds(t)
	if err != nil {
		return rounds, false
	}
	return n, capped
}

// FewestRounds is the smallest number of rounds at which any claim on a headline
// metric is possible at all: the smallest p that the exact signed-rank test can
// give, 2 in 2^rounds, must be at most alpha over the number of hypotheses. Of a
// plan whose trials are independent samples it is the number of values of each
// arm, by the rank-sum test.
func FewestRounds(plan *experiment.Plan) int {
	return contrast.Fewest(plan.Paired(), contrast.RulesOf(plan).Alpha/float64(max(plan.HeadlineFamily(), 1)))
}
