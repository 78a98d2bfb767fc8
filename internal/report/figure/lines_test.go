package figure

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/analysis"
)

func TestLevelsScale(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []float64
		want   string
	}{
		{"even", []float64{100, 200, 300, 400}, "even"},
		{"nearly even", []float64{100, 500, 1000, 2000}, "even"},
		{"doubling thrice", []float64{1, 2, 4}, "even"},
		{"doubling", []float64{1, 2, 4, 8, 16}, "log"},
		{"decades", []float64{100, 1000, 10000}, "log"},
		{"1, 2, 5", []float64{100, 200, 500, 1000, 2000, 5000}, "log"},
		{"near a capacity", []float64{1000, 2000, 2800, 2900, 3000}, "even"},
		{"from zero, even", []float64{0, 25, 50}, "even"},
		{"from zero, by decades", []float64{0, 1, 10, 100, 1000}, "bent at 1"},
		{"below zero", []float64{-10, 1, 100, 10000}, "even"},
		{"two", []float64{1, 1000}, "even"},
		{"one", []float64{7}, "even"},
		{"none", nil, "even"},
		{"huge", []float64{1e-300, 1, 1e300}, "log"},
	} {
		a := levelAxis(c.levels)
		got := "even"
		switch {
		case a.Log:
			got = "log"
		case a.Bend > 0:
			got = fmt.Sprintf("bent at %g", a.Bend)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		places := make([]float64, len(c.levels))
		for i, x := range c.levels {
			places[i] = a.At(x)
			if places[i] < 0.01 && c.name != "huge" || places[i] > 0.99 && c.name != "huge" {
				t.Errorf("%s: %g stands at the edge", c.name, x)
			}
		}
		if !slices.IsSorted(places) {
			t.Errorf("%s: places %v", c.name, places)
		}
	}
}

func TestValuesScale(t *testing.T) {
	one := func(values ...float64) Lines { return Lines{Arms: []Line{{Values: [][]float64{values}}}} }
	fitted := one(1, 100)
	fitted.Arms[0].Fitted = []analysis.Interval{{}}
	for _, c := range []struct {
		name string
		Lines
		want bool
	}{
		{"close", one(1, 2, 3), false}, {"steep", one(0.001, 0.002, 0.4), true}, {"with a zero", one(0, 1, 100), false}, {"none", one(), false}, {"a straight line", fitted, false},
	} {
		if _, up, _ := c.axes(); up.Log != c.want {
			t.Errorf("%s: %+v", c.name, up)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.25, 10, "[0.5 1 2 5 10]"}, {2, 900, "[2 5 10 20 50 100 200 500]"}, {1, 1e4, "[1 3 10 30 100 300 1000 3000 1e+04]"}, {1e-6, 1e12, "[1e-06 0.0001 0.01 1 100 1e+04 1e+06 1e+08 1e+10 1e+12]"},
	} {
		var list []string
		for _, v := range (Axis{Lo: c.lo, Hi: c.hi, Log: true}).ticks(5) {
			list = append(list, fmt.Sprintf("%.4g", v))
		}
		if got := fmt.Sprint(list); got != c.want {
			t.Errorf("from %g to %g: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

// TestLegend: names of arms stand beside and below each other, within the picture.
func TestLegend(t *testing.T) {
	l := Lines{X: []float64{1, 2, 3}}
	for i := range 9 {
		l.Arms = append(l.Arms, Line{Arm: fmt.Sprintf("an arm with a name that is long %d", i)})
	}
	c := l.layOut(false)
	count := 0
	for _, row := range c.legend() {
		end := -12.0
		for _, e := range row {
			if e.x < end {
				t.Errorf("%q begins at %g, before the one before ends at %g", e.name, e.x, end)
			}
			end = e.x + 15 + textWidth(e.name, 12)
			count++
		}
		if end > c.w {
			t.Errorf("a row ends at %g of %g", end, c.w)
		}
	}
	if count != len(l.Arms) {
		t.Errorf("%d names, want %d", count, len(l.Arms))
	}
}
