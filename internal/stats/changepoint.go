package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// maxChangeValues is the largest number of values among which changes are searched. A longer series is reduced to
// the medians of at most 500 blocks.
const maxChangeValues = 500

// Changepoints finds where a series changes its distribution. The result is the index of the first value of each new
// segment, in order, or nil. Segments have at least minSegment values, and at least 2. A series with a value that is
// not finite gives nil. The same seed gives the same result.
//
// The method is E-divisive (Matteson & James 2014) with one split at a time. The best split has the largest energy
// distance between the values before and after it. It is claimed if less than the share alpha of random shuffles have a
// larger distance at any split. Both sides are then searched in turn. At the end, each change is located again between
// its neighbours. The first test is exact: values in random order give a claim with probability alpha at most.
// Autocorrelated values give more claims; RelatedChangepoints is for them.
//
// Of more than 500 values, the medians of at most 500 blocks are searched first. Then only changes of the median are
// found, and segments have at least two blocks.
func Changepoints(x []float64, alpha float64, minSegment int, seed uint64) []int {
	return changepoints(x, alpha, minSegment, seed, splitSegment)
}

// RelatedChangepoints is like Changepoints, for values that may resemble their neighbours. The test is exact if the
// autocorrelation at lag one is estimated as 0 or less.
func RelatedChangepoints(x []float64, alpha float64, minSegment int, seed uint64) []int {
	return changepoints(x, alpha, minSegment, seed, splitRelated)
}

// splitter returns the best split of a segment, and whether it is significant.
type splitter func(segment []float64, alpha float64, minSegment int, random *rand.Rand) (split int, found bool)

func changepoints(x []float64, alpha float64, minSegment int, seed uint64, splitSegment splitter) []int {
	if checkFinite("", x) != nil || !(alpha > 0) {
		return nil
	}
	minSegment = max(2, minSegment)
	medians, size := blockMedians(x, maxChangeValues)
	minBlocks := max(2, (minSegment+size-1)/size)
	random := rand.New(rand.NewPCG(seed, 0))
	var changes []int
	var search func(from, to int)
	search = func(from, to int) {
		if to-from < 2*minBlocks {
			return
		}
		split, found := splitSegment(medians[from:to], alpha, minBlocks, random)
		if !found {
			return
		}
		changes = append(changes, from+split)
		search(from, from+split)
		search(from+split, to)
	}
	search(0, len(medians))
	slices.Sort(changes)
	if len(changes) > 1 {
		relocate(changes, medians, len(medians), minBlocks)
		relocate(changes, medians, len(medians), minBlocks) // once more, since the first run has moved the neighbours of the changes
	}
	if size > 1 {
		for i := range changes {
			changes[i] *= size
		}
		relocate(changes, x, max(2*size, minSegment), minSegment)
	}
	return changes
}

// relocate moves each change to the best split of the values between its neighbouring changes. No change moves by more
// than reach values.
func relocate(changes []int, x []float64, reach, minSegment int) {
	for i, at := range changes {
		from, to := max(0, at-reach), min(len(x), at+reach)
		if i > 0 {
			from = max(from, changes[i-1])
		}
		if i+1 < len(changes) {
			to = min(to, changes[i+1])
		}
		e := newEnergy(x[from:to])
		split, _ := e.bestSplit(e.ranks, minSegment)
		changes[i] = from + split
	}
}

// splitSegment finds the best split of a segment, and tests it against shuffles. It is for values without
// autocorrelation.
func splitSegment(segment []float64, alpha float64, minSegment int, random *rand.Rand) (split int, found bool) {
	e := newEnergy(segment)
	order := slices.Clone(e.ranks)
	split, observed := e.bestSplit(order, minSegment)
	observed -= 1e-9 * math.Abs(observed) // tolerance: the same distance, summed in another order, may be larger by rounding
	return split, Significant(observed, alpha, func() float64 {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		_, q := e.bestSplit(order, minSegment)
		return q
	})
}

// splitRelated finds the best split of a segment, if it is significant. It allows for values that resemble their
// neighbours.
func splitRelated(segment []float64, alpha float64, minSegment int, random *rand.Rand) (split int, found bool) {
	mean, _ := meanSD(segment)
	segment = Shifted(segment, -mean) // makes the mean 0, as the mean of surrogates is about 0
	e := newEnergy(segment)
	split, _ = e.bestSplit(e.ranks, minSegment)
	next, grid := NewSurrogates(segment, []int{split}, random).Next, newEnergyGrid(segment)
	observed := grid.largest(segment, minSegment) * (1 - 1e-9)
	return split, Significant(observed, alpha, func() float64 { return grid.largest(next(), minSegment) })
}

// energy computes the energy distance between both sides of every split, in O(n log n). It serves any order of a
// series' values.
type energy struct {
	ranks  []int     // ranks of the values in their order, from 1; equal values have different ranks
	sorted []float64 // sorted values minus their median, so that sums stay small
	whole  []float64 // sum of a value's distances to all values, by the value's rank
	total  float64   // sum of the distances of all pairs of values
	counts []int     // Fenwick trees over the ranks of the values on the left: their counts
	sums   []float64
}

func newEnergy(x []float64) *energy {
	n := len(x)
	order := ascending(x)
	e := &energy{
		ranks: make([]int, n), sorted: make([]float64, n), whole: make([]float64, n),
		counts: make([]int, n+1), sums: make([]float64, n+1),
	}
	centre := x[order[n/2]]
	all := 0.0
	for i, at := range order {
		e.ranks[at] = i + 1
		e.sorted[i] = x[at] - centre
		all += e.sorted[i]
	}
	before := 0.0
	for i, v := range e.sorted {
		e.whole[i] = v*float64(i) - before + (all - before) - v*float64(n-i)
		before += v
		e.total += e.whole[i] / 2
	}
	return e
}

// bestSplit returns the split with the largest scaled energy distance: km/(k+m) · (2B/km - 2W(L)/k² - 2W(R)/m²) for k
// values left and m right. W sums distances within a side, B between sides.
func (e *energy) bestSplit(ranks []int, minSegment int) (split int, largest float64) {
	clear(e.counts)
	clear(e.sums)
	n := len(ranks)
	largest = math.Inf(-1)
	within, between := 0.0, 0.0 // W(L) and B
	leftCount, leftSum := 0, 0.0
	for i, rank := range ranks {
		v := e.sorted[rank-1]
		count, sum := 0, 0.0 // number and sum of the values below v on the left side of the split
		for at := rank; at > 0; at &= at - 1 {
			count += e.counts[at]
			sum += e.sums[at]
		}
		toLeft := v*float64(2*count-leftCount) - 2*sum + leftSum
		for at := rank; at <= n; at += at & -at {
			e.counts[at]++
			e.sums[at] += v
		}
		leftCount++
		leftSum += v
		within += toLeft
		between += e.whole[rank-1] - 2*toLeft

		k, m := float64(i+1), float64(n-i-1)
		if i+1 < minSegment || n-i-1 < minSegment {
			continue
		}
		right := e.total - within - between
		if q := (2*between - 2*within*m/k - 2*right*k/m) / (k + m); q > largest {
			split, largest = i+1, q
		}
	}
	return split, largest
}

const energyBins = 16

// energyGrid computes the energy distances of a series and its surrogates. It sorts no values, but puts them into bins
// that come from the series.
//
// For a split of n values into k and m, the scaled distance is 2n/km · Σ w(j) a(j)². Here a(j) is the number of values
// up
// to bin j on the left, minus k times their share among all values. w(j) is the distance from bin j to the next bin.
type energyGrid struct {
	from, scale float64              // turn a value into an index of the table: (value - from) * scale + 1
	table       [gridCells]uint8     // bin of each index
	widths      [energyBins]float64  // distances between the means of a bin and the next; 0 for the last
	bins        []uint8              // bins of the current series
	steps       [energyBins]gridStep // steps of the current series, by bin
}

// gridCells is the number of equal parts into which the range of values is divided. Each part belongs to one bin.
const gridCells = 256

// gridStep is the growth of Σ w(j) a(j)² when one value of bin b moves to the left: Σ w(j) (2 a(j) d(j) + d(j)²). d(j)
// is 1 − share(j) for j ≥ b, else −share(j); share(j) is that of values up to bin j.
type gridStep struct {
	above   [energyBins]float64 // added to Σ w(j) a(j) over j ≥ b', for all b'
	shared  float64             // added to Σ w(j) a(j) share(j)
	squares float64             // Σ w(j) d(j)²
}

// newEnergyGrid sorts a series' values into bins. The bins have about equal numbers of values.
func newEnergyGrid(x []float64) *energyGrid {
	g := &energyGrid{bins: make([]uint8, len(x))}
	sorted := sortedCopy(x)
	limits := make([]float64, energyBins-1) // upper limit of each bin; the last bin has no limit
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
	last := -1 // previous bin with values, -1: none; its width reaches from its mean to the next one's
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

// prepare computes the field steps: how a value of each bin changes the sums (gridStep).
func (g *energyGrid) prepare(bins []uint8) {
	var whole [energyBins]float64 // whole[b]: share of the values that lie in bin b or in a bin below it
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
