package history

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/stats"
)

// changeSite is the estimated position of a change. A position is the index of the first value of the new level.
type changeSite struct {
	earliest, latest int     // the true position lies between these bounds with the probability confidence
	sure             float64 // the probability of the claimed position
}

// locate estimates the certainty of the position at, which is claimed for the single change in x. It computes the
// posterior over all positions for one step between two levels in normal noise of unknown size, with equal prior
// probabilities (A. F. M. Smith, Biometrika 62, 1975): p(k) ∝ (k(n-k))^-½ S(k)^-(n-2)/2, where S(k) is the sum of
// squares around the two means. First, it moves values that lie more than three robust standard deviations from the
// median of their side of the change to that distance, so that a single outlier does not look like a step.
// hack/bench/history counts how often the bounds contain the true position.
func locate(x []float64, at int) changeSite {
	y := winsorized(x, at)
	n := len(y)
	logs := make([]float64, n) // logs of probabilities by position; 0 and 1 stay impossible
	top := math.Inf(-1)
	total, whole := sums(y)
	left, leftSquares := 0.0, 0.0
	least := 1e-18*(whole-total*total/float64(n)) + math.SmallestNonzeroFloat64
	for k := range n {
		logs[k] = math.Inf(-1)
		if k >= 2 && n-k >= 2 {
			a, b := float64(k), float64(n-k)
			s := max(leftSquares-left*left/a+(whole-leftSquares)-(total-left)*(total-left)/b, least)
			logs[k] = -0.5*math.Log(a*b) - 0.5*float64(n-2)*math.Log(s)
			top = max(top, logs[k])
		}
		left += y[k]
		leftSquares += y[k] * y[k]
	}
	return siteFrom(logs, top, at)
}

func siteFrom(logs []float64, top float64, at int) changeSite {
	p := make([]float64, len(logs))
	all := 0.0
	for k, l := range logs {
		p[k] = math.Exp(l - top)
		all += p[k]
	}
	out := changeSite{earliest: at, latest: at, sure: p[at] / all}
	order := make([]int, len(p))
	for k := range p {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	held := 0.0
	for _, k := range order { // the most probable positions first
		out.earliest, out.latest = min(out.earliest, k), max(out.latest, k)
		if held += p[k] / all; held >= confidence {
			break
		}
	}
	return out
}

// winsorized limits the values to three robust standard deviations (of both sides together) around the median of
// their own side of a change. It makes the median of the left side 0, so that sums of squares keep their precision.
func winsorized(x []float64, at int) []float64 {
	left, right := stats.Median(x[:at]), stats.Median(x[at:])
	centre := func(i int) float64 {
		if i < at {
			return left
		}
		return right
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Abs(v - centre(i))
	}
	reach := 3 * robust * stats.Median(out)
	for i, v := range x {
		if c := centre(i); reach > 0 { // reach is 0 if most values are equal
			v = min(max(v, c-reach), c+reach)
		}
		out[i] = v - left
	}
	return out
}

// robust is the standard deviation of normal values per median absolute deviation.
const robust = 1.4826

func sums(x []float64) (sum, squares float64) {
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum, squares
}
