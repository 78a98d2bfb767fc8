package experiment

import (
	"testing"

	"tare/internal/experiment/quantity"
)

// Each look at a run that was then extended leaves a quarter of the error probability.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		confidence float64
		looks      []int
		want       float64
	}{
		{0.95, nil, 0.95},
		{0.99, nil, 0.99},
		{0.95, []int{10}, 0.9875},
		{0.95, []int{10, 20}, 0.996875},
	} {
		p := Plan{Confidence: quantity.Percent(c.confidence), Looks: c.looks, Rounds: 10}
		if got := float64(p.Judged()); got < c.want-1e-12 || got > c.want+1e-12 || c.looks == nil && got != c.want {
			t.Errorf("%v after looks at %v: %v, want %v", c.confidence, c.looks, got, c.want)
		}
	}
	p := Plan{Rounds: 10}
	if got := p.Total(); got != 10 {
		t.Errorf("%d rounds in all, want 10", got)
	}
	p.Fixed = 32
	if got := p.Total(); got != 32 {
		t.Errorf("%d rounds in all, want 32", got)
	}
}
