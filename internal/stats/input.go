package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// These errors are the reasons why an input is refused. Every error of this package wraps one, and has the bad value or
// the number of values.
var (
	// ErrTooFew: no interval of the requested confidence exists for so few values.
	ErrTooFew    = errors.New("too few values")
	errNotFinite = errors.New("not a finite number")
	// ErrConstant: all values are equal, so the method cannot estimate their spread.
	ErrConstant = errors.New("values do not vary")
	errArgument = errors.New("argument out of range")
)

// Interval is an estimate with its confidence interval, in the unit of its values.
type Interval struct{ Point, Lo, Hi float64 }

// Contains reports whether v lies in the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// Map applies a monotone function to the point and the bounds. If the function falls, Map swaps the bounds.
func (i Interval) Map(to func(float64) float64) Interval {
	i = Interval{Point: to(i.Point), Lo: to(i.Lo), Hi: to(i.Hi)}
	if i.Lo > i.Hi {
		i.Lo, i.Hi = i.Hi, i.Lo
	}
	return i
}

// Estimate is an interval with its tests.
type Estimate struct {
	Interval
	P float64 // two-sided p-value of "the location is 0" or, for two samples, "the shift is 0"
	N int     // number of values; for two samples, their sum

	equivalence func(margin float64) float64
}

// Equivalence returns the p-value of "the true value is not between -margin and margin" (two one-sided tests,
// Schuirmann 1987). A small p shows equivalence. A margin ≤ 0 gives NaN.
func (e Estimate) Equivalence(margin float64) float64 {
	if checkPositive("equivalence", "margin", margin) != nil {
		return math.NaN()
	}
	return e.equivalence(margin)
}

// bothTails returns a test of equivalence, as a function of the margin. moved returns both tail probabilities of the
// shifted values.
func bothTails(moved func(shift float64) (lower, upper float64)) func(margin float64) float64 {
	return func(margin float64) float64 {
		_, above := moved(margin)  // p against "-margin or below"
		below, _ := moved(-margin) // p against "margin or above"
		return max(above, below)
	}
}

// Mapped returns the results of a function of each value.
func Mapped(x []float64, of func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = of(v)
	}
	return y
}

// Shifted returns x with an amount added to each value.
func Shifted(x []float64, amount float64) []float64 {
	return Mapped(x, func(v float64) float64 { return v + amount })
}

func checkFinite(name string, x []float64) error {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: value %d of %d is %v: %w", name, i+1, len(x), v, errNotFinite)
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

func checkValues(name string, x []float64, least int) error {
	return cmp.Or(checkFinite(name, x), checkCount(name, len(x), least))
}

func checkSamples(name string, x, y []float64, least int) error {
	return cmp.Or(checkValues(name+", first sample", x, least), checkValues(name+", second sample", y, least))
}

func checkConfidence(name string, confidence float64) error {
	if !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("%s: confidence %v is not between 0 and 1 (95 %% is 0.95): %w", name, confidence, errArgument)
	}
	return nil
}

func checkPositive(name, what string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s: %s %v is not a positive number: %w", name, what, v, errArgument)
	}
	return nil
}

func constant(name string) error { return fmt.Errorf("%s: %w", name, ErrConstant) }
