package stats

import (
	"math"
	"slices"
)

// Dip measures how far the distribution behind x is from having one mode. The dip d is the largest distance between
// the empirical distribution function and the nearest unimodal distribution function (Hartigan & Hartigan 1985), from
// 1/(2n) to 1/4. The p-value is for "one mode": the chance of this dip or a larger dip for as many values from a
// uniform distribution, the unimodal distribution that is hardest to distinguish from a bimodal one. The test
// therefore rarely claims anything on normal values, and needs two clearly separate humps.
//
// Rounded values have a mode at every step, and d shows these modes. The p-value does not detect rounding: for the
// p-value, each group of equal values is spread evenly over the least distance between two different values.
//
// The dip is exact, by Hartigan's algorithm (AS 217, 1985), in O(n log n); it agrees with R's package diptest. The
// p-value is interpolated in a table made by simulation (dip_table.go), with a relative error of some percent. The
// smallest p-value is 0.0001. Dip needs at least 4 values.
func Dip(x []float64) (d, p float64, err error) {
	const name = "dip"
	if err := checkValues(name, x, 4); err != nil {
		return 0, 0, err
	}
	s := sortedCopy(x)
	if max(-s[0], s[len(s)-1]) > 0x1p900 { // products must not overflow
		for i := range s {
			s[i] *= 0x1p-200
		}
	}
	d = dipOf(s)
	return d, dipP(len(s), dipOf(unrounded(s))), nil
}

// unrounded spreads equal values and keeps the order.
func unrounded(s []float64) []float64 {
	step := math.Inf(1)
	for i := 1; i < len(s); i++ {
		if gap := s[i] - s[i-1]; gap > 0 {
			step = min(step, gap)
		}
	}
	if math.IsInf(step, 1) {
		return s // all values are equal
	}
	spread := make([]float64, 0, len(s))
	for from := 0; from < len(s); {
		to := from + 1
		for to < len(s) && s[to] == s[from] {
			to++
		}
		for i := range to - from {
			spread = append(spread, s[from]+step*((float64(i)+0.5)/float64(to-from)-0.5))
		}
		from = to
	}
	return spread
}

// dipOf returns the dip of sorted values. A unimodal distribution function is convex up to its mode and concave after
// it. The search narrows the interval that contains the mode. Each step takes the greatest convex minorant and the
// least concave majorant of the empirical function within the interval, and continues between the two corners where
// both are farthest apart. The search ends when no distance inside the interval exceeds the largest distance outside.
// Distances are in units of 1/n and count both sides of a step. The dip is half of the largest distance.
func dipOf(s []float64) float64 {
	n := len(s)
	largest := 1.
	if s[0] < s[n-1] {
		before, behind := minorant(s), majorant(s)
		for low, high := 0, n-1; ; {
			convex := corners(before, high, low)
			concave := corners(behind, low, high)
			gap, i, j := widest(s, convex, concave)
			if gap < largest {
				break
			}
			largest = max(largest, misfit(s, convex[i:], aboveChord), misfit(s, concave[j:], belowChord))
			if low == convex[i] && high == concave[j] {
				break
			}
			low, high = convex[i], concave[j]
		}
	}
	return largest / float64(2*n)
}

// minorant returns, for each value, the preceding corner in the greatest convex minorant of all values up to it.
func minorant(s []float64) []int {
	before := make([]int, len(s))
	for j := 1; j < len(s); j++ {
		at := j - 1
		for at > 0 && (s[j]-s[at])*float64(at-before[at]) >= (s[at]-s[before[at]])*float64(j-at) {
			at = before[at]
		}
		before[j] = at
	}
	return before
}

// majorant returns, for each value, the next corner in the least concave majorant of all values from it on.
func majorant(s []float64) []int {
	last := len(s) - 1
	behind := make([]int, len(s))
	behind[last] = last
	for k := last - 1; k >= 0; k-- {
		at := k + 1
		for at < last && (s[k]-s[at])*float64(at-behind[at]) >= (s[at]-s[behind[at]])*float64(k-at) {
			at = behind[at]
		}
		behind[k] = at
	}
	return behind
}

func corners(next []int, from, to int) []int {
	all := []int{from}
	for from != to {
		from = next[from]
		all = append(all, from)
	}
	return all
}

// widest returns the largest distance between minorant and majorant, and the corners between which that distance
// lies. Both are straight between corners, so the largest distance is at a corner. The loop visits the corners of
// both from the left; the minorant's corners are in descending order.
func widest(s []float64, convex, concave []int) (gap float64, atConvex, atConcave int) {
	atConvex, atConcave = len(convex)-1, len(concave)-1
	if len(convex) == 2 && len(concave) == 2 {
		return 1, atConvex, atConcave
	}
	for i, j := len(convex)-2, 1; ; {
		if corner := concave[j]; convex[i] > corner {
			from, to := convex[i+1], convex[i]
			if d := aboveChord(s, from, to, corner); d >= gap {
				gap, atConvex, atConcave = d, i+1, j
			}
			j++
		} else {
			corner, from, to := convex[i], concave[j-1], concave[j]
			if d := belowChord(s, from, to, corner); d >= gap {
				gap, atConvex, atConcave = d, i, j
			}
			i--
		}
		i, j = max(i, 0), min(j, len(concave)-1)
		if convex[i] == concave[j] {
			return gap, atConvex, atConcave
		}
	}
}

// chord returns the height, at a value, of the straight line between two corners.
func chord(s []float64, from, to, at int) float64 {
	return (s[at] - s[from]) * float64(to-from) / (s[to] - s[from])
}

// aboveChord and belowChord return how far the empirical function, at one value, lies above or below the straight
// line between two corners.
func aboveChord(s []float64, from, to, at int) float64 {
	return float64(at-from+1) - chord(s, from, to, at)
}

func belowChord(s []float64, from, to, at int) float64 {
	return chord(s, from, to, at) - float64(at-from-1)
}

// misfit returns the largest distance of the values from straight lines between corners.
func misfit(s []float64, corners []int, off func(s []float64, from, to, at int) float64) (largest float64) {
	for i := 1; i < len(corners); i++ {
		from, to := min(corners[i-1], corners[i]), max(corners[i-1], corners[i])
		largest = max(largest, 1)
		if to-from <= 1 || s[to] == s[from] {
			continue
		}
		for at := from; at <= to; at++ {
			largest = max(largest, off(s, from, to, at))
		}
	}
	return largest
}

// dipP interpolates in the table: between sizes linearly in 1/√n, since √n times the dip converges for large n, and
// between probabilities linearly in their logarithm.
func dipP(n int, d float64) float64 {
	if d <= 1/float64(2*n) { // least possible dip, which small samples often have
		return 1
	}
	scaled := math.Sqrt(float64(n)) * d
	row := dipTable[len(dipTable)-1].scaled
	if at := slices.IndexFunc(dipTable, func(r dipRow) bool { return r.n >= n }); at >= 0 {
		row = dipTable[at].scaled
		if dipTable[at].n > n {
			below, above := dipTable[at-1], dipTable[at]
			inverse := func(n int) float64 { return 1 / math.Sqrt(float64(n)) }
			share := (inverse(below.n) - inverse(n)) / (inverse(below.n) - inverse(above.n))
			for i := range row {
				row[i] = below.scaled[i] + share*(above.scaled[i]-below.scaled[i])
			}
		}
	}
	if scaled < row[0] {
		return 1
	}
	for i := 1; i < len(row); i++ {
		if scaled < row[i] {
			share := (scaled - row[i-1]) / (row[i] - row[i-1])
			return dipProbabilities[i-1] * math.Pow(dipProbabilities[i]/dipProbabilities[i-1], share)
		}
	}
	return dipProbabilities[len(dipProbabilities)-1]
}
