package history

import (
	"math"
	"math/rand/v2"
	"slices"

	"tare/stats"
)

// mostInterludeValues bounds the search for interludes, whose time grows with
// the square of the number of runs.
const mostInterludeValues = 500

// interludeShare is the part of the level that is spent on interludes; the rest
// is for single changes.
const interludeShare = 0.25

// search finds the changes of a strand: those that one split shows, and in what
// lies between them the interludes. Searching for one split at a time is blind
// to a level that comes and goes, a regression that was mended after a week for
// instance: whatever the place, one side holds some of it and much of the rest.
// Under no change at all, the chance of any claim is alpha at most, since it is
// split between two permutation tests.
func search(x []float64, alpha float64, least int) []int {
	changes := stats.Changepoints(x, alpha*(1-interludeShare), least, seed)
	bounds := slices.Concat([]int{0}, changes, []int{len(x)})
	random := rand.New(rand.NewPCG(seed, 1))
	var within func(from, to int)
	within = func(from, to int) {
		a, b, found := interlude(x[from:to], alpha*interludeShare, least, random)
		if !found {
			return
		}
		changes = append(changes, from+a, from+b)
		within(from, from+a)
		within(from+a, from+b)
		within(from+b, to)
	}
	for i := range bounds[1:] {
		within(bounds[i], bounds[i+1])
	}
	slices.Sort(changes)
	return changes
}

// interlude finds the stretch of values [from, to) that stands out most from the
// values around it, if fewer than alpha of the shuffles have one that stands out
// as much. The interlude and both sides of it have at least so many values.
// (By ranks it would hardly find any that is short: six values can have no higher
// ranks than the six highest, however far they are from the rest.)
func interlude(x []float64, alpha float64, least int, random *rand.Rand) (from, to int, found bool) {
	if len(x) < 3*least || len(x) > mostInterludeValues {
		return 0, 0, false
	}
	values := limited(x)
	from, to, observed := mostApart(values, least)
	observed -= 1e-9 * observed // the same values summed in another order
	shuffles := int(min(max(math.Ceil(2/alpha)-1, 499), 99_999))
	allowed := int(math.Floor(alpha*float64(shuffles+1)+1e-9)) - 1
	larger := 0
	for range shuffles {
		if larger > allowed {
			return 0, 0, false
		}
		random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		if _, _, q := mostApart(values, least); q >= observed {
			larger++
		}
	}
	return from, to, larger <= allowed
}

// mostApart finds, among values with the mean 0, the stretch whose mean lies
// furthest from that of the rest for its size; and the square of how far, in
// units of √(1/inside + 1/outside).
func mostApart(values []float64, least int) (from, to int, most float64) {
	n := len(values)
	sums := make([]float64, n+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	most = -1
	for length := least; length <= n-2*least; length++ {
		weight := float64(n) / float64(length*(n-length))
		for a := least; a+length <= n-least; a++ {
			d := sums[a+length] - sums[a]
			if q := d * d * weight; q > most {
				from, to, most = a, a+length, q
			}
		}
	}
	return from, to, most
}

// limited are the values minus their mean, after values further than four robust
// standard deviations from the median have been pulled in to there: a level of
// some runs may stand out, an outlier may not.
func limited(x []float64) []float64 {
	centre := stats.Median(x)
	reach := 4 * robust * medianDeviation(x, func(int) float64 { return centre })
	out := make([]float64, len(x))
	mean := 0.0
	for i, v := range x {
		out[i] = v - centre
		if reach > 0 { // else most values are the same
			out[i] = min(max(out[i], -reach), reach)
		}
		mean += out[i] / float64(len(x))
	}
	for i := range out {
		out[i] -= mean
	}
	return out
}
