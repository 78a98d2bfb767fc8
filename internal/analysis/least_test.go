package analysis

import (
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment/quantity"
)

func percentValue(v float64) quantity.Percent { return quantity.Percent(v) }

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 6}, {1 - 0.95, 6}, {0.0625, 5}, {0.01, 8}, {0.05 / 12, 9}, {1, 1}} {
		if got := contrast.Fewest(true, c.alpha); got != c.want {
			t.Errorf("alpha %v: %d pairs, want %d", c.alpha, got, c.want)
		}
	}
}
