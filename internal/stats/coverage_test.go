package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/test/slow"
)

var coverageN = flag.Int("coverage.n", 500, "simulated experiments behind each share of TestCoverage")

// simulation is one line of the table in the package comment. The share of simulated experiments
// with an event, such as an interval that contains the true value or a claim, must lie between
// least and most, give or take four standard errors of the simulation.
type simulation struct {
	method, noise string
	n             int
	happens       func(r *rand.Rand) bool
	least, most   float64
	cost          int // divisor of the number of experiments; 0 is 1
}

func TestCoverage(t *testing.T) {
	slow.Test(t)
	for _, part := range []struct {
		name string
		rows []simulation
	}{
		{"share of 95 % intervals that hold the true value, paired", pairedSimulations()},
		{"share of 95 % intervals that hold the true value, others", otherSimulations()},
		{"share of 95 % intervals that hold the true value, random effects", pooledSimulations()},
		{"share of 95 % intervals that hold the true ratio of means", meanRatioSimulations()},
		{"share of false claims", falseClaimSimulations()},
		{"share of true claims where 80 % is planned", powerSimulations()},
		{"share of series with a step in which it is found", stepSimulations()},
	} {
		fmt.Fprintf(t.Output(), "\n%s\n", part.name)
		for i, row := range part.rows {
			total := max(200, *coverageN/max(1, row.cost))
			random := rand.New(rand.NewPCG(uint64(i), 11))
			hits := 0
			for range total {
				if row.happens(random) {
					hits++
				}
			}
			share := float64(hits) / float64(total)
			fmt.Fprintf(t.Output(), "%-24s %-28s %4d %7.2f %%\n", row.method, row.noise, row.n, 100*share)
			band := func(p float64) float64 { return 4 * math.Sqrt(p*(1-p)/float64(total)) }
			if share < row.least-band(row.least)-1e-9 || share > row.most+band(row.most)+1e-9 {
				t.Errorf("%s, %s, n = %d: share %v of %d, want %v to %v",
					row.method, row.noise, row.n, share, total, row.least, row.most)
			}
		}
	}
}

// noises are distributions of one round's log ratio, centred at 0 and symmetric except for skewed.
var noises = map[string]func(*rand.Rand) float64{
	"normal":      (*rand.Rand).NormFloat64,
	"heavy tails": studentT3,
	"spiky":       func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() },
	"bimodal":     func(r *rand.Rand) float64 { return float64(2*r.IntN(2)-1) + 0.2*r.NormFloat64() },
	"rounded":     func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) },
	"skewed":      (*rand.Rand).ExpFloat64,
}

func studentT3(r *rand.Rand) float64 {
	sum := 0.0
	for range 3 {
		z := r.NormFloat64()
		sum += z * z
	}
	return r.NormFloat64() / math.Sqrt(sum/3)
}

func sample(r *rand.Rand, noise string, n int) []float64 {
	if noise == "autocorrelated, 0.3" {
		return autocorrelated(r, n)
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = noises[noise](r)
	}
	return x
}

// autocorrelated returns normal noise in which each round contains 0.3 of the previous one's.
func autocorrelated(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	last := r.NormFloat64()
	for i := range x {
		last = 0.3*last + math.Sqrt(1-0.09)*r.NormFloat64()
		x[i] = last
	}
	return x
}

type oneSample func(d []float64, confidence float64) (Estimate, error)

func holds(e Estimate, err error, truth float64) bool { return err == nil && e.Contains(truth) }

func pairedSimulations() []simulation {
	var rows []simulation
	add := func(method string, estimate oneSample, noise string, n int, truth, least, most float64) {
		rows = append(rows, simulation{method: method, noise: noise, n: n, least: least, most: most,
			happens: func(r *rand.Rand) bool {
				e, err := estimate(sample(r, noise, n), 0.95)
				return holds(e, err, truth)
			}})
	}
	for _, n := range []int{6, 8, 12, 20, 50} {
		exact := 1 - 2*signedRankCDF(n)[signedRankNull(n).depth(0.05)-1]
		for _, noise := range []string{"normal", "heavy tails", "spiky", "bimodal"} {
			add("SignedRank", SignedRank, noise, n, 0, exact, exact)
		}
		add("SignedRank", SignedRank, "rounded", n, 0, exact, 1)
	}
	add("SignedRank", SignedRank, "normal", 250, 0, 0.95, 0.951)
	const centreOfSkewed = 0.8391734950 // median of the mean of two exponential values
	add("SignedRank", SignedRank, "skewed", 12, centreOfSkewed, 0.94, 0.97)
	add("SignedRank", SignedRank, "skewed", 50, centreOfSkewed, 0.93, 0.97)
	add("SignedRank", SignedRank, "autocorrelated, 0.3", 12, 0, 0.86, 0.92)
	for _, n := range []int{2, 3, 5, 6, 12, 50} {
		add("PairedT", PairedT, "normal", n, 0, 0.95, 0.95)
	}
	for _, n := range []int{3, 5, 6, 12, 50} {
		add("PairedT", PairedT, "heavy tails", n, 0, 0.95, 0.985)
		add("PairedT", PairedT, "spiky", n, 0, 0.95, 0.975)
	}
	add("PairedT", PairedT, "bimodal", 3, 0, 0.7, 0.9)
	add("PairedT", PairedT, "bimodal", 5, 0, 0.88, 0.96)
	add("PairedT", PairedT, "bimodal", 12, 0, 0.93, 0.97)
	add("PairedT", PairedT, "skewed", 12, 1, 0.88, 0.93)
	add("PairedT", PairedT, "skewed", 50, 1, 0.92, 0.95)
	add("PairedT", PairedT, "autocorrelated, 0.3", 12, 0, 0.84, 0.9)
	for _, pilot := range []int{4, 6, 10} {
		stein := func(max int) oneSample {
			return func(d []float64, confidence float64) (Estimate, error) {
				n, _, err := SteinRounds(d[:pilot], 0.5, confidence, max)
				if err != nil {
					return Estimate{}, err
				}
				_, sd := meanSD(d[:pilot])
				return SteinInterval(sd, pilot, d[:n], confidence)
			}
		}
		name := fmt.Sprintf("Stein, pilot of %d", pilot)
		add(name, stein(400), "normal", 400, 0, 0.95, 0.95)
		add(name+", capped", stein(15), "normal", 15, 0, 0.95, 0.95)
		add(name, stein(400), "spiky", 400, 0, 0.92, 0.96)
	}
	return rows
}

func otherSimulations() []simulation {
	var rows []simulation
	type twoSamples func(x, y []float64, confidence float64) (Estimate, error)
	two := func(method string, estimate twoSamples, noise string, m, n int, scale, least, most float64) {
		name := fmt.Sprintf("%s, %d and %d", noise, m, n)
		if scale != 1 {
			name = fmt.Sprintf("%s, %d and %d, sd 1:%g", noise, m, n, scale)
		}
		rows = append(rows, simulation{method: method, noise: name, n: m + n, least: least, most: most,
			happens: func(r *rand.Rand) bool {
				x, y := sample(r, noise, m), sample(r, noise, n)
				for i := range y {
					y[i] *= scale
				}
				e, err := estimate(x, y, 0.95)
				return holds(e, err, 0)
			}})
	}
	for _, sizes := range [][2]int{{4, 4}, {6, 6}, {12, 6}, {30, 30}} {
		m, n := sizes[0], sizes[1]
		exact := 1 - 2*rankSumCDF(m, n)[rankSumNull(m, n).depth(0.05)-1]
		two("RankSum", RankSum, "normal", m, n, 1, exact, exact)
		two("RankSum", RankSum, "skewed", m, n, 1, exact, exact)
		two("RankSum", RankSum, "rounded", m, n, 1, exact, 1)
		two("WelchT", WelchT, "normal", m, n, 1, 0.945, 0.965)
		two("WelchT", WelchT, "normal", m, n, 3, 0.935, 0.965)
		two("WelchT", WelchT, "skewed", m, n, 1, 0.93, 0.99)
	}
	two("RankSum", RankSum, "normal", 6, 12, 3, 0.93, 0.99)
	two("RankSum", RankSum, "normal", 12, 6, 3, 0.85, 0.93)
	for _, n := range []int{6, 11, 30} {
		_, actual, _ := MedianInterval(make([]float64, n), 0.95)
		rows = append(rows, simulation{method: "MedianInterval", noise: "skewed", n: n, least: actual, most: actual,
			happens: func(r *rand.Rand) bool {
				interval, _, err := MedianInterval(sample(r, "skewed", n), 0.95)
				return err == nil && interval.Contains(math.Ln2)
			}})
	}
	return rows
}
