package stats

import (
	"math"
	"slices"
)

// Dip measures how far the distribution behind x is from having one mode. The dip d is the largest distance between
// the empirical distribution function and the nearest unimodal one (Hartigan & Hartigan 1985), from 1/(2n) to 1/4. The
// p-value is for "one mode": the chance of such a dip for as many values from a uniform distribution. This unimodal
// distribution is the hardest to distinguish from a bimodal one, so the test rarely claims two modes of normal values.
//
// Rounded values have a mode at every step, which d includes. For the p-value, each group of equal values is spread
// evenly over the least distance between two different values.
//
// The dip is exact, by Hartigan's algorithm (AS 217, 1985); it agrees with R's package diptest. The p-value is
// interpolated in dipTable, with a relative error of some percent. The smallest p-value is 0.0001. Dip needs at least 4
// values.
func Dip(x []float64) (d, p float64, err error) {
	const name = "dip"
	if err := checkValues(name, x, 4); err != nil {
		return 0, 0, err
	}
	s := sortedCopy(x)
	if max(-s[0], s[len(s)-1]) > 0x1p900 { // scale the values down, so that no product overflows
		for i := range s {
			s[i] *= 0x1p-200
		}
	}
	d = dipOf(s)
	return d, dipP(len(s), dipOf(unrounded(s))), nil
}

// unrounded spreads each group of equal values. The values stay in ascending order.
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

// dipOf returns the dip of sorted values. The search narrows the interval that contains the mode. Distances are in
// units of 1/n.
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

// minorant returns, for each value, the corner before it in the greatest convex minorant of the values up to this
// value.
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

// majorant returns, for each value, the next corner of the least concave majorant. This majorant covers the values from
// this value on.
func majorant(s []float64) []int {
	last, mirrored := len(s)-1, Mapped(s, func(v float64) float64 { return -v })
	slices.Reverse(mirrored)
	behind := minorant(mirrored)
	slices.Reverse(behind)
	for k := range behind {
		behind[k] = last - behind[k]
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

// widest returns the largest distance between minorant and majorant, and the corners around it. The minorant's corners
// are in descending order.
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

// aboveChord returns how far the empirical distribution function lies above the line between two corners, at one value;
// belowChord: below it.
func aboveChord(s []float64, from, to, at int) float64 {
	return float64(at-from+1) - chord(s, from, to, at)
}

func belowChord(s []float64, from, to, at int) float64 {
	return chord(s, from, to, at) - float64(at-from-1)
}

// misfit returns the largest distance of the values from the straight lines that join neighbouring corners. The
// function off gives one distance.
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

// dipP returns the p-value of the dip d of n values, interpolated in dipTable. It is linear in 1/√n, and in the
// logarithm of the probability.
func dipP(n int, d float64) float64 {
	if d <= 1/float64(2*n) { // d is the smallest possible dip of n values, which is frequent in small samples
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

// dipProbabilities has the probability of each column of dipTable: the chance that √n·dip of n uniform values is at
// least the number in the column.
var dipProbabilities = [...]float64{
	0.999, 0.99, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02,
	0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001,
}

type dipRow struct {
	n      int
	scaled [len(dipProbabilities)]float64
}

// dipTable is the output of `go test ./internal/stats -run DipTable -v -dip.n 100000`.
var dipTable = []dipRow{
	{4, [...]float64{0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2653, 0.3155, 0.3436, 0.3763, 0.3990, 0.4156, 0.4365, 0.4486, 0.4642, 0.4758, 0.4843, 0.4892, 0.4921, 0.4948, 0.4960}},
	{5, [...]float64{0.2236, 0.2236, 0.2236, 0.2236, 0.2236, 0.2438, 0.2724, 0.3007, 0.3298, 0.3603, 0.3769, 0.3952, 0.4075, 0.4165, 0.4274, 0.4331, 0.4396, 0.4431, 0.4454, 0.4462, 0.4467, 0.4470, 0.4471}},
	{6, [...]float64{0.2041, 0.2041, 0.2041, 0.2272, 0.2550, 0.2796, 0.3021, 0.3236, 0.3443, 0.3662, 0.3779, 0.3903, 0.3984, 0.4041, 0.4197, 0.4419, 0.4737, 0.4969, 0.5241, 0.5365, 0.5499, 0.5565, 0.5626}},
	{7, [...]float64{0.1890, 0.1890, 0.2165, 0.2492, 0.2733, 0.2937, 0.3119, 0.3288, 0.3449, 0.3614, 0.3699, 0.3815, 0.4045, 0.4225, 0.4473, 0.4637, 0.4858, 0.5042, 0.5218, 0.5333, 0.5426, 0.5530, 0.5559}},
	{8, [...]float64{0.1768, 0.1768, 0.2313, 0.2608, 0.2819, 0.2991, 0.3140, 0.3280, 0.3411, 0.3552, 0.3762, 0.4015, 0.4207, 0.4362, 0.4569, 0.4708, 0.4899, 0.5062, 0.5252, 0.5493, 0.5702, 0.5886, 0.6044}},
	{9, [...]float64{0.1667, 0.1841, 0.2411, 0.2672, 0.2854, 0.2998, 0.3125, 0.3241, 0.3374, 0.3685, 0.3870, 0.4091, 0.4261, 0.4404, 0.4579, 0.4708, 0.4919, 0.5169, 0.5461, 0.5643, 0.5798, 0.5989, 0.6118}},
	{10, [...]float64{0.1630, 0.1932, 0.2461, 0.2696, 0.2856, 0.2984, 0.3092, 0.3231, 0.3477, 0.3757, 0.3926, 0.4132, 0.4283, 0.4418, 0.4608, 0.4766, 0.5029, 0.5287, 0.5532, 0.5723, 0.5832, 0.6033, 0.6118}},
	{12, [...]float64{0.1734, 0.2040, 0.2509, 0.2697, 0.2821, 0.2961, 0.3158, 0.3354, 0.3563, 0.3805, 0.3954, 0.4150, 0.4325, 0.4495, 0.4727, 0.4892, 0.5140, 0.5360, 0.5661, 0.5884, 0.6050, 0.6233, 0.6341}},
	{15, [...]float64{0.1848, 0.2114, 0.2489, 0.2680, 0.2886, 0.3067, 0.3238, 0.3410, 0.3601, 0.3850, 0.4026, 0.4249, 0.4431, 0.4589, 0.4807, 0.4976, 0.5247, 0.5510, 0.5800, 0.6010, 0.6228, 0.6455, 0.6684}},
	{20, [...]float64{0.1916, 0.2122, 0.2544, 0.2777, 0.2953, 0.3117, 0.3276, 0.3468, 0.3681, 0.3941, 0.4113, 0.4339, 0.4528, 0.4689, 0.4931, 0.5102, 0.5383, 0.5623, 0.5952, 0.6166, 0.6369, 0.6666, 0.6949}},
	{30, [...]float64{0.1899, 0.2163, 0.2595, 0.2828, 0.3018, 0.3193, 0.3367, 0.3558, 0.3778, 0.4052, 0.4229, 0.4458, 0.4660, 0.4831, 0.5075, 0.5261, 0.5559, 0.5828, 0.6168, 0.6407, 0.6559, 0.6834, 0.7049}},
	{50, [...]float64{0.1979, 0.2216, 0.2670, 0.2907, 0.3097, 0.3275, 0.3458, 0.3653, 0.3877, 0.4160, 0.4346, 0.4591, 0.4788, 0.4970, 0.5238, 0.5437, 0.5739, 0.6026, 0.6429, 0.6617, 0.6907, 0.7160, 0.7546}},
	{100, [...]float64{0.2022, 0.2281, 0.2739, 0.2982, 0.3176, 0.3359, 0.3542, 0.3740, 0.3967, 0.4263, 0.4451, 0.4703, 0.4910, 0.5099, 0.5374, 0.5575, 0.5900, 0.6225, 0.6600, 0.6850, 0.7110, 0.7408, 0.7730}},
	{200, [...]float64{0.2072, 0.2333, 0.2795, 0.3039, 0.3242, 0.3429, 0.3615, 0.3819, 0.4053, 0.4353, 0.4546, 0.4797, 0.5014, 0.5202, 0.5474, 0.5680, 0.6019, 0.6335, 0.6730, 0.6995, 0.7282, 0.7740, 0.7885}},
	{500, [...]float64{0.2108, 0.2379, 0.2845, 0.3098, 0.3299, 0.3489, 0.3684, 0.3894, 0.4132, 0.4432, 0.4628, 0.4890, 0.5115, 0.5305, 0.5594, 0.5810, 0.6161, 0.6485, 0.6839, 0.7105, 0.7397, 0.7740, 0.8017}},
	{1000, [...]float64{0.2152, 0.2405, 0.2879, 0.3128, 0.3330, 0.3518, 0.3714, 0.3924, 0.4166, 0.4469, 0.4667, 0.4929, 0.5150, 0.5340, 0.5628, 0.5838, 0.6205, 0.6516, 0.6929, 0.7225, 0.7488, 0.7889, 0.8257}},
	{2000, [...]float64{0.2139, 0.2415, 0.2897, 0.3150, 0.3356, 0.3546, 0.3740, 0.3949, 0.4189, 0.4498, 0.4703, 0.4974, 0.5203, 0.5403, 0.5687, 0.5914, 0.6277, 0.6615, 0.6991, 0.7275, 0.7517, 0.7909, 0.8050}},
	{5000, [...]float64{0.2179, 0.2437, 0.2919, 0.3168, 0.3372, 0.3561, 0.3754, 0.3967, 0.4210, 0.4520, 0.4721, 0.4988, 0.5214, 0.5412, 0.5709, 0.5928, 0.6277, 0.6613, 0.7070, 0.7410, 0.7642, 0.8051, 0.8241}},
	{20000, [...]float64{0.2194, 0.2458, 0.2933, 0.3184, 0.3390, 0.3581, 0.3775, 0.3986, 0.4230, 0.4542, 0.4748, 0.5016, 0.5243, 0.5454, 0.5743, 0.5945, 0.6295, 0.6620, 0.7038, 0.7309, 0.7525, 0.7806, 0.7963}},
}
