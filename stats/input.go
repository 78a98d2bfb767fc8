package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// The reasons for which an input is refused. Every error of this package wraps
// one of them and says which value or how many values it is about.
var (
	// ErrTooFew: no interval of the asked confidence exists for so few values.
	ErrTooFew = errors.New("too few values")
	// ErrNotFinite: a value is NaN or infinite.
	ErrNotFinite = errors.New("not a finite number")
	// ErrConstant: all values are the same, so that a method which estimates
	// its own spread (the t family) has nothing to go by.
	ErrConstant = errors.New("values do not vary")
	// ErrArgument: a confidence, margin, seed size or the like is out of range.
	ErrArgument = errors.New("argument out of range")
)

// Interval is an estimate with its confidence interval, in the unit of the
// values it was made from.
type Interval struct{ Point, Lo, Hi float64 }

// Contains says whether v lies in the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// Map is the interval of to(v), which rises or falls throughout, with its bounds in order.
func (i Interval) Map(to func(float64) float64) Interval {
	i = Interval{Point: to(i.Point), Lo: to(i.Lo), Hi: to(i.Hi)}
	if i.Lo > i.Hi {
		i.Lo, i.Hi = i.Hi, i.Lo
	}
	return i
}

// Estimate is an interval with the tests that belong to it.
type Estimate struct {
	Interval
	P float64 // two-sided p of "the location, or the shift, is 0"
	N int     // values used; of both samples together for two samples

	equivalence func(margin float64) float64
}

// Equivalence is the p of "the location, or the shift, is -margin or less, or margin or more": the larger
// p of two one-sided tests (Schuirmann 1987), exact where P is. A p up to 5 % is evidence of equivalence
// within the margin at 5 %; the 90 % interval then lies inside it. It is NaN unless the margin is a positive number.
func (e Estimate) Equivalence(margin float64) float64 {
	if checkPositive("equivalence", "margin", margin) != nil {
		return math.NaN()
	}
	return e.equivalence(margin)
}

// bothTails makes tests of equivalence of the tails that values have when they are moved.
func bothTails(moved func(by float64) (lower, upper float64)) func(margin float64) float64 {
	return func(margin float64) float64 {
		_, above := moved(margin)  // against: they lie at -margin or below
		below, _ := moved(-margin) // against: at margin or above
		return max(above, below)
	}
}

// shifted is each value and an amount.
func shifted(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v + by
	}
	return y
}

// firstError is the first error that is there.
func firstError(errs ...error) error { return cmp.Or(errs...) }

func checkFinite(name string, x []float64) error {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: value %d of %d is %v: %w", name, i+1, len(x), v, ErrNotFinite)
		}
	}
	return nil
}

func checkCount(name string, n, least int) error {
	if n < least {
		return fmt.Errorf("%s: %d given, at least %d needed: %w", name, n, least, ErrTooFew)
	}
	return nil
}

// checkValues looks for so many finite values.
func checkValues(name string, x []float64, least int) error {
	return firstError(checkFinite(name, x), checkCount(name, len(x), least))
}

// checkSamples looks at two samples of which each needs some least count.
func checkSamples(name string, x, y []float64, least int) error {
	return firstError(checkValues(name+", first sample", x, least), checkValues(name+", second sample", y, least))
}

func checkConfidence(name string, confidence float64) error {
	if !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("%s: confidence %v is not between 0 and 1 (95 %% is 0.95): %w", name, confidence, ErrArgument)
	}
	return nil
}

func checkPositive(name, what string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s: %s %v is not a positive number: %w", name, what, v, ErrArgument)
	}
	return nil
}

// constant is the error of values that do not vary.
func constant(name string) error { return fmt.Errorf("%s: %w", name, ErrConstant) }
