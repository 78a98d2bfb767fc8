package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/experiment"
)

// For values on a coarse grid, the residuals with and without effects of position may be equal
// except for rounding, which makes F negative in one of some ten thousand runs, such as this one.
func TestPlacesOfRoundedValues(t *testing.T) {
	const seed = 16216
	plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
	plan.Seed = seed
	rng := rand.New(rand.NewPCG(seed, 1))
	trials := testTrials(plan, 12, func(_ int, _, arm, _ string) float64 {
		factor := map[string]float64{"layer": 1.04}[arm]
		return 5 * math.Round(20*max(factor, 1)*math.Exp(0.02*rng.NormFloat64()))
	})
	if p := tabulate(plan, trials, validOnly).orderEffects(0, plan.Cells[0].Metrics[0]); p != nil {
		t.Errorf("an effect of places: %+v", p)
	}
}
