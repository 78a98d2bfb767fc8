package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var dipN = flag.Int("dip.n", 0, "print dipTable from so many simulations a size")

// TestDipTable prints a new table if a flag asks for it, and always checks one row of the table
// against fresh simulations.
func TestDipTable(t *testing.T) {
	for at := 0; *dipN > 0 && at < len(dipSizes); at++ {
		dips := simulatedDips(dipSizes[at], *dipN, 1)
		fmt.Fprintf(t.Output(), "\t{%d, [...]float64{%s}},\n", dipSizes[at], strings.Join(scaledQuantiles(dipSizes[at], dips), ", "))
	}
	for _, n := range []int{10, 100, 130} {
		const total = 4000
		dips := simulatedDips(n, total, 2)
		for _, level := range []float64{0.5, 0.1, 0.01} {
			claims := 0
			for _, d := range dips {
				if dipP(n, d) <= level {
					claims++
				}
			}
			share := float64(claims) / total
			if math.Abs(share-level) > 4*math.Sqrt(level*(1-level)/total) {
				t.Errorf("n = %d: %v of %d dips of uniform values have a p of at most %v", n, share, total, level)
			}
		}
	}
}

var dipSizes = []int{4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 20000}

// simulatedDips returns the sorted dips of samples from a uniform distribution. Cumulated
// exponential values are such a sample in ascending order, up to scale.
func simulatedDips(n, total int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	dips, x := make([]float64, total), make([]float64, n)
	for i := range dips {
		sum := 0.0
		for j := range x {
			sum += r.ExpFloat64()
			x[j] = sum
		}
		dips[i] = dipOf(x)
	}
	slices.Sort(dips)
	return dips
}

func scaledQuantiles(n int, dips []float64) []string {
	var row []string
	for _, p := range dipProbabilities {
		row = append(row, fmt.Sprintf("%.4f", math.Sqrt(float64(n))*Quantile(dips, 1-p)))
	}
	return row
}
