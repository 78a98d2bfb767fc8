package stats

import (
	"errors"
	"math"
	"testing"
)

func TestSignFlip(t *testing.T) {
	// With all subsets of six values, the smallest mean is the smallest value, and no subset's mean
	// is 0 or less.
	e, err := SignFlip([]float64{1, 2, 3, 4, 5, 6}, 0.95)
	if err != nil || e.Point != 3.5 || e.Lo != 1 || e.Hi != 6 || math.Abs(e.P-2./64) > 1e-12 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := SignFlip([]float64{1, 2, 3, 4, 5}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("five values: %v", err)
	}
	// There are too few random subsets for such a confidence.
	if _, err := SignFlip(make([]float64, 40), 0.9995); !errors.Is(err, ErrTooFew) {
		t.Errorf("a confidence of 99.95 %%: %v", err)
	}
	if p, err := equivalent(1)(SignFlip([]float64{0, 0, 0, 0, 0, 0}, 0.5)); err != nil || math.Abs(p-1./64) > 1e-12 {
		t.Errorf("equivalence %v, %v", p, err)
	}
}
