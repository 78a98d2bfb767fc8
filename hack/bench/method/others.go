package main

import (
	"errors"
	"math"
	"math/rand/v2"

	"tare/internal/stats"
)

// others counts false claims of what is done elsewhere: all trials of one arm,
// then all of the other, with no difference between them.
type others struct {
	n        int
	welch    int // Welch's t test on logarithms claims a difference at 5 %
	rankSum  int // Mann–Whitney's test does
	averages int // the means differ by more than the threshold
}

// threshold is the difference of two averages that is taken for a finding.
const threshold = 0.01

func (o *others) add(p others) {
	o.n += p.n
	o.welch += p.welch
	o.rankSum += p.rankSum
	o.averages += p.averages
}

// sequential makes such experiments of n trials of each arm, the second slower
// by effect.
func sequential(kind noise, n int, effect float64, times int, rng *rand.Rand) (others, error) {
	var sum others
	a, b := make([]float64, n), make([]float64, n)
	for range times {
		c := kind.start(rng, 2*n, 1)
		for i := range a {
			a[i] = c.next(1)
		}
		for i := range b {
			b[i] = c.next(max(1, kind.noisier)) + math.Log1p(effect)
		}
		welch, err := stats.WelchT(a, b, confidence)
		if err != nil {
			return sum, err
		}
		ranks, err := stats.RankSum(a, b, confidence)
		if errors.Is(err, stats.ErrTooFew) {
			ranks.P = 1 // so few ranks can claim nothing
		} else if err != nil {
			return sum, err
		}
		sum.add(others{
			n:        1,
			welch:    one(welch.P <= 1-confidence),
			rankSum:  one(ranks.P <= 1-confidence),
			averages: one(math.Abs(average(b)/average(a)-1) > threshold),
		})
	}
	return sum, nil
}

// average is the arithmetic mean of the values whose logarithms are given.
func average(logs []float64) float64 {
	sum := 0.0
	for _, x := range logs {
		sum += math.Exp(x)
	}
	return sum / float64(len(logs))
}
