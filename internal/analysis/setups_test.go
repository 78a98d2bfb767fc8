package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

func TestSetUpsOf(t *testing.T) {
	trial := func(round, setUp, session int) journal.Trial {
		return journal.Trial{Round: round, SetUp: setUp, Session: session}
	}
	for _, c := range []struct {
		name                string
		trials              []journal.Trial
		known, once, shared bool
	}{
		{"an older run", []journal.Trial{trial(1, 0, 1), trial(2, 0, 1)}, false, false, false},
		{"every round", []journal.Trial{trial(1, 1, 1), trial(2, 2, 1)}, true, false, false},
		{"blocks", []journal.Trial{trial(1, 1, 1), trial(2, 1, 1), trial(3, 2, 1)}, true, false, true},
		{"once", []journal.Trial{trial(1, 1, 1), trial(2, 1, 1)}, true, true, false},
		{"once, resumed", []journal.Trial{trial(1, 1, 1), trial(2, 1, 1), trial(3, 2, 2)}, true, true, false},
	} {
		s := setUpsOf(c.trials)
		if s.Known() != c.known || s.Once() != c.once || s.Shared() != c.shared {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// The variation between set-ups is estimated apart from the variation between rounds, and its bound contains the
// true value.
func TestSpreadBetweenSetUps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := headline("time", experiment.Lower)
	for _, drawn := range []float64{0, 0.03} {
		const runs = 300
		sum, bounded, small := 0.0, 0, 0
		for range runs {
			d := contrast.Data{Metric: m, Paired: true}
			for setUp := range 12 {
				own := drawn * rng.NormFloat64()
				for range 6 {
					d.Contrasts, d.SetUps = append(d.Contrasts, own+0.02*rng.NormFloat64()), append(d.SetUps, setUp)
				}
			}
			b := spreadBetween(&d, 0.95)
			if b.SetUps != 12 || b.Rounds != 72 {
				t.Fatalf("%+v", b)
			}
			sum += b.SD * b.SD / runs
			if b.Most >= drawn {
				bounded++
			}
			if b.P <= 0.05 {
				small++
			}
		}
		if sd := math.Sqrt(sum); drawn > 0 && math.Abs(sd/drawn-1) > 0.1 || sd > 0.01 && drawn == 0 {
			t.Errorf("drawn %v, estimated %v", drawn, sd)
		}
		if bounded < runs*92/100 {
			t.Errorf("drawn %v: the bound holds it in %d of %d runs", drawn, bounded, runs)
		}
		if drawn == 0 && small > runs*9/100 || drawn > 0 && small < runs {
			t.Errorf("drawn %v: shown in %d of %d runs", drawn, small, runs)
		}
	}
	if spreadBetween(&contrast.Data{Metric: m, Paired: true, Contrasts: []float64{1, 2}}, 0.95) != nil {
		t.Error("rounds that have a set-up each say nothing of set-ups")
	}
}

// The same values always give the same digits.
func TestSpreadBetweenSetUpsIsOneNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	d := contrast.Data{Metric: headline("time", experiment.Lower), Paired: true}
	for i := range 60 {
		d.Contrasts, d.SetUps = append(d.Contrasts, 0.02*rng.NormFloat64()), append(d.SetUps, i/5)
	}
	first := *spreadBetween(&d, 0.95)
	for range 100 {
		if again := *spreadBetween(&d, 0.95); again != first {
			t.Fatalf("%+v, then %+v", first, again)
		}
	}
}
