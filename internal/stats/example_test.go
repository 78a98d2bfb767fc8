package stats_test

import (
	"fmt"
	"math"

	"tare/internal/stats"
)

// Throughput in Gbit/s of eight rounds, without and with encryption.
var (
	plain     = []float64{9.41, 9.38, 9.40, 9.12, 9.41, 9.39, 9.40, 9.36}
	encrypted = []float64{8.71, 8.75, 8.69, 8.40, 8.80, 8.66, 8.73, 8.68}
)

// costs are the log ratios, positive where encryption is slower.
func costs() []float64 {
	d := make([]float64, len(plain))
	for i := range plain {
		d[i] = math.Log(plain[i] / encrypted[i])
	}
	return d
}

func ExampleSignedRank() {
	e, err := stats.SignedRank(costs(), 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	percent := func(logRatio float64) float64 { return 100 * math.Expm1(logRatio) }
	fmt.Printf("costs %.1f %% [%.1f, %.1f], p = %.4f\n", percent(e.Point), percent(e.Lo), percent(e.Hi), e.P)
	// Output: costs 7.9 % [7.3, 8.4], p = 0.0078
}

func ExampleEstimate_Equivalence() {
	e, err := stats.SignedRank(costs(), 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, percent := range []float64{5, 10} {
		fmt.Printf("within %g %%: p = %.4f\n", percent, e.Equivalence(math.Log1p(percent/100)))
	}
	// Output:
	// within 5 %: p = 1.0000
	// within 10 %: p = 0.0039
}

func ExampleWelchDetectableEffect() { // docs/studies/varmor.md quotes it
	for _, sd := range []float64{0.05, 0.01} {
		fmt.Printf("ten values each that vary by %g %% find %.2g %%\n", 100*sd, 100*stats.WelchDetectableEffect(sd, sd, 10, 10, 0.05, 0.8))
	}
	// Output:
	// ten values each that vary by 5 % find 6.6 %
	// ten values each that vary by 1 % find 1.3 %
}

func ExampleSteinRounds() {
	pilot := []float64{0.071, 0.085, 0.062, 0.079, 0.074, 0.091}
	n, capped, err := stats.SteinRounds(pilot, 0.005, 0.95, 100)
	fmt.Println(n, capped, err)
	// Output: 29 false <nil>
}

func ExampleHolm() {
	fmt.Println(stats.Holm([]float64{0.01, 0.04, 0.5}))
	// Output: [0.03 0.08 0.5]
}
