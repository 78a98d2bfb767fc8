package stats

import "slices"

// energyBins is the number of bins of an energyGrid.
const energyBins = 16

// energyGrid computes the energy distance of values in bins, without sorting each new series as energy does. The bins
// come from one series, which is compared with its surrogates.
//
// The energy distance of two samples is 2 ∫ (F - G)², where F and G are assumed constant within bins. For a split of
// n values into k and m, the scaled distance is 2n/km · Σ w(j) a(j)². Here a(j) is the number of values up to bin j
// on the left, minus k times the share of values up to bin j among all values; w(j) is the distance from bin j to the
// next bin.
type energyGrid struct {
	from, scale float64              // map a value to an index of the table
	table       [gridCells]uint8     // bin of each index
	widths      [energyBins]float64  // distances between the means of a bin and the next; 0 for the last
	bins        []uint8              // bins of the current series
	steps       [energyBins]gridStep // steps of the current series, by bin
}

// gridCells is the number of cells that the range of values is divided into. Limits of bins lie between cells.
const gridCells = 256

// gridStep is the effect of one more value of bin b on the left. With d(j) = 1 for j ≥ b, otherwise 0, minus the
// share of all values up to j, the sum grows by Σ w(j) (2 a(j) d(j) + d(j)²).
type gridStep struct {
	above   [energyBins]float64 // added to Σ w(j) a(j) over j ≥ b', for all b'
	shared  float64             // added to Σ w(j) a(j) share(j)
	squares float64             // Σ w(j) d(j)²
}

// newEnergyGrid creates bins with about equal numbers of a series' values.
func newEnergyGrid(x []float64) *energyGrid {
	g := &energyGrid{bins: make([]uint8, len(x))}
	sorted := sortedCopy(x)
	limits := make([]float64, energyBins-1) // upper limits of every bin but the last
	for j := range limits {
		at := (j + 1) * len(x) / energyBins
		limits[j] = (sorted[max(at-1, 0)] + sorted[min(at, len(x)-1)]) / 2
	}
	g.from = limits[0]
	if last := limits[energyBins-2]; last > g.from {
		g.scale = (gridCells - 2) / (last - g.from)
	}
	for c := range g.table {
		at := g.from + (float64(c)-0.5)/max(g.scale, 1e-300)
		bin, _ := slices.BinarySearch(limits, at)
		g.table[c] = uint8(bin)
	}
	g.table[0] = 0
	var sums, counts [energyBins]float64
	for i, b := range g.binsOf(x) {
		sums[b] += x[i]
		counts[b]++
	}
	last := -1 // bins without values have no width
	for b, n := range counts {
		if n == 0 {
			continue
		}
		if last >= 0 {
			g.widths[last] = sums[b]/n - sums[last]/counts[last]
		}
		last = b
	}
	return g
}

// binsOf returns the bin of each value. The result is valid until the next call.
func (g *energyGrid) binsOf(x []float64) []uint8 {
	for i, v := range x {
		g.bins[i] = g.table[int(min(max((v-g.from)*g.scale+1, 0), gridCells-1))]
	}
	return g.bins
}

// prepare computes the step of each bin, given the values' bins.
func (g *energyGrid) prepare(bins []uint8) {
	var whole [energyBins]float64 // share of the values up to a bin
	for _, b := range bins {
		whole[b] += 1 / float64(len(bins))
	}
	for j := 1; j < energyBins; j++ {
		whole[j] += whole[j-1]
	}
	for b := range g.steps {
		s := &g.steps[b]
		*s = gridStep{}
		above := 0.0
		for j := energyBins - 1; j >= 0; j-- {
			d := -whole[j]
			if j >= b {
				d++
			}
			above += g.widths[j] * d
			s.above[j] = above
			s.shared += g.widths[j] * d * whole[j]
			s.squares += g.widths[j] * d * d
		}
	}
}

// largest returns the largest scaled energy distance of any split with at least minSegment values on either side.
func (g *energyGrid) largest(x []float64, minSegment int) float64 {
	bins, n := g.binsOf(x), float64(len(x))
	g.prepare(bins)
	var above [energyBins]float64 // Σ w(j) a(j) over j ≥ b
	shared, sum, most := 0.0, 0.0, 0.0
	for i, b := range bins {
		s := &g.steps[b%energyBins]
		sum += 2*(above[b%energyBins]-shared) + s.squares
		shared += s.shared
		for j := range above {
			above[j] += s.above[j]
		}
		k := float64(i + 1)
		if i+1 >= minSegment && len(x)-i-1 >= minSegment {
			most = max(most, 2*n/(k*(n-k))*sum)
		}
	}
	return most
}
