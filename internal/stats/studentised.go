package stats

import (
	"math"
)

const (
	// mostAssignments is the largest number of assignments that are all counted: 3⁸, for 8 rounds of three values. More
	// need a saddlepoint.
	mostAssignments = 6561
	// tiltSteps is the largest number of steps in the search for a saddlepoint. The search ends earlier when it reaches
	// the precision tiltPrecise.
	tiltSteps, tiltPrecise = 50, 1e-10
	// middle is a distance from 0, in standard deviations. Within this distance, tails are computed as normal.
	middle = 0.02
)

// assignment takes one value of each round as the arm's. It holds the sum of their centred ranks, and the sum of the
// ranks' squares.
type assignment struct{ sum, squares float64 }

// tails returns P(T ≤ t) and P(T ≥ t) for the arm's studentised sum T = Σρ / √Σρ², after the arm is moved by -shift. ρ
// is a rank's distance from its round's mean rank. The arm may spread more than other arms (Neuhaus 1993, Conditional
// rank tests for the two-sample problem under random censorship, Annals of Statistics 21; Janssen 1997, Studentized
// permutation tests for non-i.i.d. hypotheses, Statistics & Probability Letters 36).
func (a *alignedRounds) tails(shift float64) (lower, upper float64) {
	t, unit := a.statistic(shift)
	least := a.least()
	switch {
	case unit == 0:
		return 1, 1
	case 1/least <= mostAssignments:
		return a.counted(t)
	}
	tail := max(a.saddlepoint(math.Copysign(max(0, math.Abs(t)-unit/2), t)), least)
	if t < 0 {
		return tail, 1 - tail
	}
	return 1 - tail, tail
}

// normalTails returns the probabilities of both tails as if the statistic T were normally distributed. This is fast,
// and precise enough for resampling.
func (a *alignedRounds) normalTails(shift float64) (lower, upper float64) {
	t, _ := a.statistic(shift)
	least := a.least()
	return max(least, normalCDF(t)), max(least, normalTail(t))
}

// statistic returns T, the studentised sum of ranks, and unit, by which T grows if the sum of ranks grows by 1. The
// unit is 0 if all ranks are equal.
func (a *alignedRounds) statistic(shift float64) (t, unit float64) {
	a.rank(shift)
	var sum, squares float64
	for i := range a.ranks {
		own := a.centred(i)
		sum += own[0]
		squares += own[0] * own[0]
	}
	if squares == 0 {
		return 0, 0
	}
	return sum * a.share / math.Sqrt(squares), 1 / math.Sqrt(squares)
}

// centred returns the ranks of a round's values as distances from their mean. The arm's distance comes first.
func (a *alignedRounds) centred(round int) []float64 {
	k := a.sizes[round]
	all := 0
	for _, v := range a.ranks[round][:k] {
		all += v
	}
	own := a.scores[:k]
	for j, v := range a.ranks[round][:k] {
		own[j] = float64(k*v-all) / float64(2*k)
	}
	return own
}

func (a *alignedRounds) counted(t float64) (lower, upper float64) {
	ways, next := append(a.buffers[0][:0], assignment{}), a.buffers[1]
	for i := range a.ranks {
		next = next[:0]
		for _, v := range a.centred(i) {
			for _, w := range ways {
				next = append(next, assignment{w.sum + v, w.squares + v*v})
			}
		}
		ways, next = next, ways
	}
	a.buffers = [2][]assignment{ways, next}
	for _, w := range ways {
		other := 0.0
		if w.squares > 0 {
			other = w.sum / math.Sqrt(w.squares)
		}
		if other <= t+1e-9 {
			lower++
		}
		if other >= t-1e-9 {
			upper++
		}
	}
	return lower / float64(len(ways)), upper / float64(len(ways))
}

// saddlepoint approximates P(T ≥ t), or for t < 0 P(T ≤ t), by Lugannani and Rice's formula. Near Σρ = t·√Σρ², the root
// is replaced by its tangent at c²: Σ(ρ - t·ρ²/2c) = t·c/2. c² is the expected sum of squares at the saddlepoint
// (Daniels and Young 1991, Saddlepoint approximation for the studentized mean, Biometrika 78).
func (a *alignedRounds) saddlepoint(t float64) float64 {
	side := math.Copysign(1, t)
	if t = math.Abs(t); t < middle {
		return normalTail(t)
	}
	var k, k1, k2, squares float64
	for i := range a.ranks {
		own := a.centred(i)
		for _, v := range own {
			squares += v * v / float64(len(own))
		}
	}
	c := math.Sqrt(squares)
	tilt := t / c
	for range tiltSteps {
		k, k1, k2, squares = 0, 0, 0, 0
		for i := range a.ranks {
			own := a.centred(i)
			var m, m1, m2, s float64
			for _, v := range own {
				w := side*v - t*v*v/(2*c)
				e := math.Exp(tilt * w)
				m += e
				m1 += e * w
				m2 += e * w * w
				s += e * v * v
			}
			m1 /= m
			k += math.Log(m / float64(len(own)))
			k1 += m1
			k2 += m2/m - m1*m1
			squares += s / m
		}
		move := (t*c/2 - k1) / k2
		if !(math.Abs(move) > tiltPrecise*tilt) {
			break
		}
		tilt += min(max(move, -tilt/2), tilt)
		c = math.Sqrt(squares)
	}
	r := math.Sqrt(2 * max(0, tilt*t*c/2-k))
	u := tilt * math.Sqrt(k2)
	if !(r > 0) || !(u > 0) {
		return 0
	}
	return min(1, max(0, normalTail(r)+normalDensity(r)*(1/u-1/r)))
}
