package experiment

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

func orderedPlan(seed uint64, cells, arms int) *Plan {
	return &Plan{Seed: seed, Cells: make([]Cell, cells), Arms: make([]PlannedArm, arms)}
}

// orders returns the orders of the arms in one cell.
func orders(p *Plan, cell, from, to int) (rows [][]int) {
	for round := from; round <= to; round++ {
		var row []int
		for _, s := range p.Order(round) {
			if s.Cell == cell {
				row = append(row, s.Arm)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Over whole squares, every arm is in every position and follows every other arm equally often.
func TestOrderIsBalanced(t *testing.T) {
	t.Parallel()
	for _, arms := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11} {
		t.Run(fmt.Sprint(arms), func(t *testing.T) {
			rows := balancedRows(arms)
			for seed := range uint64(20) {
				p := orderedPlan(seed, 3, arms)
				for square := range 3 {
					for cell := range p.Cells {
						position, follows := map[[2]int]int{}, map[[2]int]int{}
						for _, order := range orders(p, cell, square*rows+1, (square+1)*rows) {
							if sorted := slices.Sorted(slices.Values(order)); len(slices.Compact(sorted)) != arms {
								t.Fatalf("%v does not hold every arm once", order)
							}
							for i, arm := range order {
								position[[2]int{arm, i}]++
								if i > 0 {
									follows[[2]int{order[i-1], arm}]++
								}
							}
						}
						for k, n := range position {
							if len(position) != arms*arms || n != rows/arms {
								t.Fatalf("seed %d: arm %d is %d times in position %d, want %d", seed, k[0], n, k[1], rows/arms)
							}
						}
						for k, n := range follows {
							if len(follows) != arms*(arms-1) || n != rows/arms {
								t.Fatalf("seed %d: arm %d follows arm %d in %d rounds, want %d", seed, k[1], k[0], n, rows/arms)
							}
						}
					}
				}
			}
		})
	}
}

// In any one round, every order of the arms has the same probability.
func TestOrderIsRandom(t *testing.T) {
	t.Parallel()
	const seeds = 24_000
	for _, round := range []int{1, 2, 7} {
		for arms, possible := range map[int]int{2: 2, 3: 6, 4: 24} {
			count := map[string]int{}
			for seed := range uint64(seeds) {
				count[fmt.Sprint(orders(orderedPlan(seed, 1, arms), 0, round, round))]++
			}
			sum, want := 0.0, float64(seeds)/float64(possible)
			for _, n := range count {
				sum += (float64(n) - want) * (float64(n) - want) / want
			}
			// The 99.99 % quantile of chi-square with 23 degrees of freedom is 57. Seeds are fixed.
			if len(count) != possible || sum > 57 {
				t.Errorf("round %d, %d arms: %d orders, chi-square %.1f: %v", round, arms, len(count), sum, count)
			}
		}
	}
}

// The control beside a single treatment takes part in the first six rounds, and then in every third. In the
// other rounds, the baseline and the treatment come first equally often. With two treatments, the control takes
// part in every round.
func TestSpareControl(t *testing.T) {
	t.Parallel()
	first := map[int]int{}
	const seeds, rounds = 2000, 30
	for seed := range uint64(seeds) {
		p := orderedPlan(seed, 2, 3)
		p.Arms[0].Role, p.Arms[1].Role, p.Arms[2].Role = Baseline, Control, Treatment
		p.SpareControl()
		var took [3]int
		trials := 0
		for round := 1; round <= rounds; round++ {
			order := orders(p, 0, round, round)[0]
			if want := round <= 6 || round%3 == 0; slices.Contains(order, 1) != want || len(slices.Compact(slices.Sorted(slices.Values(order)))) != len(order) {
				t.Fatalf("round %d: %v", round, order)
			}
			if len(order) == 2 {
				first[order[0]]++
			}
			for _, arm := range order {
				took[arm]++
				trials++
			}
			for arm, n := range took {
				if got := p.RoundsOf(arm, round); got != n {
					t.Fatalf("arm %d takes part in %d of %d rounds, RoundsOf says %d", arm, n, round, got)
				}
			}
			if p.Trials(round) != trials {
				t.Fatalf("%d trials of %d rounds, Trials says %d", trials, round, p.Trials(round))
			}
		}
	}
	if n := first[0] + first[2]; math.Abs(float64(first[0])-float64(n)/2) > 4*math.Sqrt(float64(n))/2 {
		t.Errorf("the baseline is first in %d of %d rounds without a control", first[0], n)
	}
	two := orderedPlan(1, 1, 4)
	two.Arms[1].Role = Control
	if two.SpareControl(); len(two.Order(8)) != 4 {
		t.Errorf("two arms: %v", two.Order(8))
	}
}

// The seeds of trials are spread evenly, and differ by seed, round, cell and arm.
func TestTrialSeed(t *testing.T) {
	t.Parallel()
	seen, sums := map[uint64]bool{}, [4]float64{}
	const n = 2000
	for i := range n {
		for k, seed := range []uint64{
			orderedPlan(uint64(i), 3, 4).TrialSeed(1, Step{}), orderedPlan(0, 3, 4).TrialSeed(2+i, Step{}),
			orderedPlan(0, 3, 4).TrialSeed(1, Step{Cell: 1 + i}), orderedPlan(0, 3, 4).TrialSeed(1, Step{Arm: 1 + i}),
		} {
			seen[seed] = true
			sums[k] += float64(seed) / math.MaxUint64 / n
		}
	}
	if len(seen) != 4*n {
		t.Errorf("%d seeds of %d differ", len(seen), 4*n)
	}
	for k, mean := range sums {
		if math.Abs(mean-0.5) > 4*math.Sqrt(1./12/n) {
			t.Errorf("the mean of kind %d is %.3f", k, mean)
		}
	}
}

func TestOrderDependsOnSeedAndRoundOnly(t *testing.T) {
	t.Parallel()
	p := orderedPlan(7, 3, 4)
	later := p.Order(9)
	p.Rounds = 30
	if got := orderedPlan(7, 3, 4).Order(9); !reflect.DeepEqual(got, later) || !reflect.DeepEqual(p.Order(9), later) {
		t.Errorf("got %v, then %v", later, got)
	}
	if reflect.DeepEqual(orders(p, 0, 1, 8), orders(p, 1, 1, 8)) {
		t.Error("two cells have the same orders")
	}
	if reflect.DeepEqual(orders(p, 0, 1, 24), orders(p, 0, 25, 48)) {
		t.Error("two squares are the same")
	}
	if reflect.DeepEqual(orders(p, 0, 1, 8), orders(orderedPlan(8, 3, 4), 0, 1, 8)) {
		t.Error("two seeds give the same orders")
	}
}

// The expected rows are the square of four in the paper, in its standard form.
func TestWilliamsSquare(t *testing.T) {
	t.Parallel()
	want := [][]int{{0, 1, 3, 2}, {1, 2, 0, 3}, {2, 3, 1, 0}, {3, 0, 2, 1}}
	for row := range want {
		if got := williams(4, row, false); !slices.Equal(got, want[row]) {
			t.Errorf("row %d: %v, want %v", row, got, want[row])
		}
	}
	if got := williams(3, 1, true); !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("mirrored: %v", got)
	}
}
