package contrast

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/experiment"
)

func TestCompareWithTheControl(t *testing.T) {
	d := Data{Metric: ratio(experiment.Lower), Paired: true, Treated: []float64{8, 8}, Baseline: []float64{4, 4}, Control: []float64{1, math.NaN()}}
	d.Compare()
	if want := math.Log(4); math.Abs(d.Contrasts[0]-want) > 1e-12 || math.Abs(d.Contrasts[1]-math.Log(2)) > 1e-12 {
		t.Errorf("contrasts %v", d.Contrasts)
	}
	if d.Controlled() != 1 || math.Abs(d.controlDelta[0]+math.Log(2)) > 1e-12 {
		t.Errorf("deltas %v", d.controlDelta)
	}
	// If one round of a set-up has no control, the reference of that set-up is the baseline alone.
	d.SetUps = []int{3, 3}
	contrasts, deltas, _ := d.Units()
	if d.Size() != 1 || math.Abs(contrasts[0]-math.Log(2)) > 1e-12 || !math.IsNaN(deltas[0]) {
		t.Errorf("units %v, %v", contrasts, deltas)
	}
	d.SetUps = nil
	d.PositionEffects = [][3]float64{{0.1, 0.3, 0.2}, {0.1, 0.3, 0}}
	d.Compare()
	if want := math.Log(4) - 0.1 + 0.25; math.Abs(d.Contrasts[0]-want) > 1e-12 {
		t.Errorf("without the effect of places %v, want %v", d.Contrasts[0], want)
	}
}

// Rounds that share a set-up are not independent, so their mean is the value.
func TestSetUpsAreTheUnit(t *testing.T) {
	const runs = 400
	rng := rand.New(rand.NewPCG(1, 1))
	claims := map[bool]int{}
	for range runs {
		d := Data{Metric: ratio(experiment.Lower), Paired: true}
		for setUp := range 8 {
			drawn := 0.02 * rng.NormFloat64()
			for range 3 {
				d.Contrasts = append(d.Contrasts, drawn+0.01*rng.NormFloat64())
				d.SetUps = append(d.SetUps, setUp)
			}
		}
		for _, blocks := range []bool{true, false} {
			if !blocks {
				d.SetUps = nil
			}
			if level95.Estimate(&d).Main.P <= 0.05 {
				claims[blocks]++
			}
		}
	}
	if claims[true] > runs*8/100 || claims[false] < runs*20/100 {
		t.Errorf("false claims in %d of %d runs by set-ups, %d by rounds", claims[true], runs, claims[false])
	}
}

// The values lie on a grid with steps of five deviations. Even with many rounds the median can be
// off by half a step.
func TestGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	step := math.Log(1.05)
	draw := func(shift float64) float64 {
		return math.Exp(step * math.Round((shift+step/5*rng.NormFloat64())/step))
	}
	held, varies := 0, 0
	const runs = 200
	for range runs {
		level := step * rng.Float64()
		d := Data{Metric: ratio(experiment.Lower), Paired: true}
		for range 50 {
			d.Treated, d.Baseline, d.Control = append(d.Treated, draw(level+0.02)), append(d.Baseline, draw(level)), append(d.Control, draw(level))
		}
		d.Compare()
		if d.grid() == 0 {
			continue // all values are the same
		}
		varies++
		if math.Abs(d.grid()-step) > 1e-9 {
			t.Fatalf("the grid is %v, found %v", step, d.grid())
		}
		if level95.Estimate(&d).Main.At.Contains(0.02) {
			held++
		}
	}
	if held < varies*94/100 || varies < runs/2 {
		t.Errorf("%d of %d intervals hold the truth", held, varies)
	}
}

// Counts are mostly zero: ranks do not see the difference, and means do.
func TestMeansOfCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	found, falsely := 0, 0
	const runs = 100
	for range runs {
		for _, rate := range []float64{0.4, 0} {
			d := Data{Metric: experiment.Metric{Name: "retransmits", Scale: experiment.Difference, Better: experiment.Lower}, Paired: true, Means: true, Margin: 1}
			for range 50 {
				base, count := 0.0, 0.0
				if rng.Float64() < 0.1 {
					base = 1
				}
				if rng.Float64() < rate+0.1 {
					count = 1
				}
				d.Treated, d.Baseline = append(d.Treated, count), append(d.Baseline, base)
			}
			d.Compare()
			e := level95.Estimate(&d)
			if e.Method != methodMeans || e.Main.Equiv > 0.05 {
				t.Fatalf("%+v", e)
			}
			if e.Main.P <= 0.05 && rate > 0 {
				found++
			} else if e.Main.P <= 0.05 {
				falsely++
			}
		}
	}
	if found < 95 || falsely > 12 {
		t.Errorf("0.4 a trial found in %d of %d, nothing taken for something in %d", found, runs, falsely)
	}
}

// A missing overhead prevents a verdict of equivalence, but does not prevent the verdict on a clear change.
func TestMissingInChanges(t *testing.T) {
	r := Rules{Confidence: 0.95, Alpha: 0.05, Margin: 0.02}
	run := func(cost float64) Data {
		d := Data{Metric: experiment.Metric{Name: "time", Better: experiment.Lower, Scale: experiment.Ratio}, Paired: true}
		for i := range 12 {
			d.Contrasts = append(d.Contrasts, cost+0.001*float64(i%5-2))
		}
		return d
	}
	for _, k := range []struct {
		from, to    Missing
		cost, equiv float64
		stands      bool
	}{
		{Missing{}, Missing{}, 0, 0.01, false},
		{Missing{}, Missing{Treated: 1}, 0, 1, false},
		{Missing{Baseline: 1}, Missing{}, 0, 1, false},
		{Missing{}, Missing{Treated: 1}, 0.3, 1, true},
		{Missing{Baseline: 6}, Missing{}, 0.3, 1, false},
	} {
		from, to := run(0), run(k.cost)
		from.Missing, to.Missing = k.from, k.to
		d := Changed(from, to)
		e := r.WithMissing(&d, r.Estimate(&d))
		if e.Main.Equiv > k.equiv || k.equiv == 1 && e.Main.Equiv != 1 || e.Main.At.Lo > 0 != k.stands {
			t.Errorf("%+v: %+v", k, e.Main)
		}
	}
}
