package history

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/stats"
)

// prediction compares one new value with the mean of k values of earlier runs,
// where runs differ from each other with a standard deviation estimated from df
// degrees of freedom:
//
//	new - mean ± t(df) · sd · √(1 + 1/k)
//
// This is Student's interval for one more value from the same population, exact
// where runs differ by normal noise. The spread between runs holds the
// uncertainty within them as well, as long as the new run is as precise as they
// were; what its own interval is wider by is added to the variance.
type prediction struct {
	difference float64 // new minus mean, on the scale of computation; positive is worse
	error      float64 // its standard error
	df         float64
}

// predict makes a prediction from the values of the runs to compare with.
func predict(y float64, reference []float64, sd, df, extra float64) prediction {
	k := float64(len(reference))
	sum, _ := sums(reference)
	return prediction{difference: y - sum/k, error: math.Sqrt(sd*sd*(1+1/k) + extra), df: df}
}

func (p prediction) student() distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: p.df}
}

// interval is that of the difference.
func (p prediction) interval() stats.Interval {
	half := p.error * p.student().Quantile(1-(1-Confidence)/2)
	return stats.Interval{Point: p.difference, Lo: p.difference - half, Hi: p.difference + half}
}

// exceeds is the one-sided p of "the difference is limit or less".
func (p prediction) exceeds(limit float64) float64 {
	if math.IsNaN(limit) || math.IsInf(limit, 1) {
		return 1
	}
	return p.student().CDF((limit - p.difference) / p.error)
}

// spreadWithin is the standard deviation within segments, all taken together,
// with its degrees of freedom.
func spreadWithin(segments ...[]float64) (sd, df float64) {
	total := 0.0
	for _, s := range segments {
		sum, _ := sums(s)
		mean := sum / float64(len(s))
		for _, v := range s {
			total += (v - mean) * (v - mean)
		}
		df += float64(len(s) - 1)
	}
	if df == 0 {
		return 0, 0
	}
	return math.Sqrt(total / df), df
}
