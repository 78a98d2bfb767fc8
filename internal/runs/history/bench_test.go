package history_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"tare/internal/runs/history"
	"tare/internal/runs/history/historytest"
)

// benchRuns is a long history: two years of working days.
const benchRuns, benchCells = 480, 15 // each cell has four series

// benchRun returns the i-th run: little noise, and one step in the middle.
func benchRun(i int, random *rand.Rand) historytest.Run {
	r := base
	r.Number, r.Cells, r.Noise = i, benchCells, 0.01
	r.Level *= math.Exp(0.03 * random.NormFloat64())
	r.Cost += 0.01 * random.NormFloat64()
	if i >= benchRuns/2 {
		r.Cost += 0.05
	}
	return r
}

// BenchmarkNew judges 480 runs × 60 series that have been read: series without changes, some that
// changed once, and a machine whose level wanders or moves every few weeks.
func BenchmarkNew(b *testing.B) {
	for _, kind := range []struct {
		name  string
		level func(i int, before float64, random *rand.Rand) float64
	}{
		{"quiet", func(_ int, _ float64, random *rand.Rand) float64 { return 0.03 * random.NormFloat64() }},
		{"wandering", func(_ int, before float64, random *rand.Rand) float64 { return 0.6*before + 0.024*random.NormFloat64() }},
		{"steps", func(i int, _ float64, random *rand.Rand) float64 {
			return 0.1*float64(i/60%2) + 0.03*random.NormFloat64()
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			var runs []*history.Run
			level := 0.0
			for i := range benchRuns {
				r := benchRun(i, random)
				level = kind.level(i, level, random)
				r.Level, r.Cost = base.Level*math.Exp(level), r.Cost+0.3*level
				runs = append(runs, history.Of(r.Journal(fmt.Sprintf("runs/%03d", i))))
			}
			for b.Loop() {
				history.New(runs, nil, history.Options{})
			}
		})
	}
}

// BenchmarkRead reads 480 run directories of 15 cells × 8 rounds × 3 arms.
func BenchmarkRead(b *testing.B) {
	random, dir := rand.New(rand.NewPCG(1, 1)), b.TempDir()
	for i := range benchRuns {
		if err := benchRun(i, random).Write(filepath.Join(dir, fmt.Sprintf("%03d", i))); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, _, err := history.Read(context.Background(), dir); err != nil {
			b.Fatal(err)
		}
	}
}
