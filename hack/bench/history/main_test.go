package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// The same seed gives the same figures, however the work is spread, and every
// table has its rows.
func TestRunIsReproducible(t *testing.T) {
	var first, second bytes.Buffer
	run(&first, options{times: 3, seed: 1, markdown: true}) // too few for the requirements
	run(&second, options{times: 3, seed: 1, markdown: true})
	if first.String() != second.String() {
		t.Error("two runs with the same seed differ")
	}
	for _, want := range []string{"## Flat histories\n", "## One step among 50 runs\n", "## Steps near the ends\n", "## A change that is taken back\n", "## The smallest segment\n",
		"## Slow drift\n", "## A gate on a flat history\n", "## A slow decline at the gate\n", "| normal, levels known |", "| AR(0.6)"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("no %q in the output", want)
		}
	}
}

func TestWorlds(t *testing.T) {
	x := drift(make([]float64, 11), 0.1)
	if x[0] != 0 || math.Abs(x[10]-math.Log(1.1)) > 1e-12 {
		t.Errorf("a drift of 10 %% goes from %v to %v", x[0], x[10])
	}
	x = step(make([]float64, 4), 2, 0.05)
	if x[1] != 0 || x[2] != math.Log1p(0.05) || x[3] != x[2] {
		t.Errorf("a step of 5 %% at 2: %v", x)
	}
	if got := oracle(step(make([]float64, 20), 12, 0.05), 12, 0.05); got != 0 {
		t.Errorf("without noise the place is off by %d", got)
	}
}
