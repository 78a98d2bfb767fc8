package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// roundCounts are the default numbers of rounds, or of pilot rounds.
var roundCounts = []int{6, 8, 10, 12, 20, 30, 50}

// effects are the true effects. At the second one the arm lies exactly on the
// equivalence margin.
var effects = []float64{0, equivalence, 0.05}

// chunk is the number of experiments that one task carries out.
const chunk = 500

// armCounts are the numbers of treatments in the table of many arms, and
// manyRounds its rounds.
var armCounts = []int{2, 4, 8}

const manyRounds = 12

// The precision of the Stein designs, and a finer one under independent noise,
// where a quiet pilot misleads most.
const (
	precision     = 0.02
	finePrecision = 0.01
)

// row is one design at several true effects.
type row struct {
	design
	effects []float64 // true ones, each of which is simulated
	// claimsOnly says that what is not resolved is not asked to have an interval that holds the
	// truth: trials are missing, or rare ones decide.
	claimsOnly bool
	unasked    bool // nothing is required: it shows what not to do

	mu      sync.Mutex
	tallies []tally // one for each effect
}

func (r *row) name() string {
	kind := "fixed"
	switch {
	case r.decided:
		kind = "decided"
	case r.mixed:
		kind = fmt.Sprintf("mixed-%d-arms", r.arms)
	case r.always:
		kind = "controlled"
	case r.precision == finePrecision:
		kind = "fine-stein"
	case r.precision > 0:
		kind = "stein"
	case r.arms > 1:
		kind = fmt.Sprintf("%d-arms", r.arms)
	case r.setUps > 0:
		kind = fmt.Sprintf("%d-setups", r.setUps)
	case r.slices > 0:
		kind = fmt.Sprintf("%d-slices", r.slices)
	}
	return fmt.Sprintf("%s-%d/%s", kind, r.rounds, r.noise.name)
}

func newRow(d design, effects []float64) *row {
	return &row{design: d, effects: effects, tallies: make([]tally, len(effects))}
}

func (o options) rows() []*row {
	var list []*row
	for _, precision := range []float64{0, precision, finePrecision} {
		for _, kind := range noises {
			for _, n := range o.rounds {
				if precision != finePrecision || kind.name == "iid" && n <= 12 {
					list = append(list, newRow(design{noise: kind, rounds: n, precision: precision, arms: 1}, effects))
				}
			}
		}
	}
	for _, kind := range noises {
		for _, arms := range armCounts {
			list = append(list, newRow(design{noise: kind, rounds: manyRounds, arms: arms}, effects[:1]))
		}
	}
	return slices.DeleteFunc(list, func(r *row) bool { return !o.selected(r.name()) })
}

// schedule starts the row's experiments.
func (r *row) schedule(tasks *errgroup.Group, o options) {
	for e := range r.tallies {
		d := r.design
		d.effect = r.effects[e]
		o.inChunks(tasks, fmt.Sprintf("%s %v", r.name(), d.effect), func(times int, rng *rand.Rand) error {
			t, err := newLaboratory(d, rng).repeat(times)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.tallies[e].add(t)
			return err
		})
	}
}

// inChunks starts experiments as tasks of at most a chunk, each with random numbers of its own.
func (o options) inChunks(tasks *errgroup.Group, name string, simulate func(times int, rng *rand.Rand) error) {
	for first := 0; first < o.times; first += chunk {
		tasks.Go(func() error {
			return simulate(min(chunk, o.times-first), source(o.seed, fmt.Sprintf("%s %d", name, first)))
		})
	}
}

// sequentialRow is what others do, in one environment with n trials of each arm.
type sequentialRow struct {
	noise noise
	n     int

	mu    *sync.Mutex
	tally *others
}

func (o options) sequentials() []sequentialRow {
	var list []sequentialRow
	for _, kind := range noises {
		for _, n := range o.rounds {
			if o.selected(fmt.Sprintf("fixed-%d/%s", n, kind.name)) {
				list = append(list, sequentialRow{noise: kind, n: n, mu: new(sync.Mutex), tally: new(others)})
			}
		}
	}
	return list
}

func (r sequentialRow) schedule(tasks *errgroup.Group, o options) {
	o.inChunks(tasks, fmt.Sprintf("sequential-%d/%s", r.n, r.noise.name), func(times int, rng *rand.Rand) error {
		t, err := sequential(r.noise, r.n, 0, times, rng)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tally.add(t)
		return err
	})
}

// source is a generator of its own for every name.
func source(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
