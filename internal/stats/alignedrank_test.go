package stats

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/test/slow"
)

// enumerated computes the tails from all possible choices of the arm's value.
func enumerated(rows [][]float64) (lower, upper float64) {
	var flat []float64
	var ends []int
	for _, row := range rows {
		mean := 0.0
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			flat = append(flat, math.Round((v-mean)*1e9))
		}
		ends = append(ends, len(flat))
	}
	ranks, _ := midRanks(flat)
	for i, row := range rows {
		own := ranks[ends[i]-len(row) : ends[i]]
		mean := 0.0
		for _, r := range own {
			mean += r / float64(len(own))
		}
		for j := range own {
			own[j] -= mean
		}
	}
	var sums []float64
	var walk func(round int, sum, squares float64)
	walk = func(round int, sum, squares float64) {
		if round == len(rows) {
			sums = append(sums, sum/math.Sqrt(squares))
			return
		}
		for _, r := range ranks[ends[round]-len(rows[round]) : ends[round]] {
			walk(round+1, sum+r, squares+r*r)
		}
	}
	walk(0, 0, 0)
	var observed, squares float64
	for i, row := range rows {
		r := ranks[ends[i]-len(row)]
		observed, squares = observed+r, squares+r*r
	}
	observed /= math.Sqrt(squares)
	for _, s := range sums {
		if s <= observed+1e-9 {
			lower += 1 / float64(len(sums))
		}
		if s >= observed-1e-9 {
			upper += 1 / float64(len(sums))
		}
	}
	return lower, upper
}

// roundsOf converts rows of the arm and one or two others to contrasts.
func roundsOf(rows [][]float64) (rounds AlignedRounds) {
	for _, r := range rows {
		if len(r) == 2 {
			rounds.Contrasts, rounds.OthersDelta = append(rounds.Contrasts, r[0]-r[1]), append(rounds.OthersDelta, math.NaN())
			continue
		}
		rounds.Contrasts, rounds.OthersDelta = append(rounds.Contrasts, r[0]-(r[1]+r[2])/2), append(rounds.OthersDelta, (r[1]-r[2])/2)
	}
	return rounds
}

func drawnRounds(n int, rng *rand.Rand, draw func() float64, alone func(i int) bool) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		shared := rng.NormFloat64()
		k := 3
		if alone(i) {
			k = 2
		}
		for range k {
			rows[i] = append(rows[i], shared+draw())
		}
	}
	return rows
}

func TestAlignedRankAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name  string
		draw  func() float64
		alone func(int) bool
	}{
		{"triples", rng.NormFloat64, func(int) bool { return false }},
		{"pairs and triples", rng.NormFloat64, func(i int) bool { return i%3 == 0 }},
		{"ties", func() float64 { return math.Round(2 * rng.NormFloat64()) }, func(i int) bool { return i == 1 }},
	} {
		for range 20 {
			rows := drawnRounds(7, rng, c.draw, c.alone)
			for _, row := range rows {
				row[0] += 0.5
			}
			rounds := roundsOf(rows)
			e, err := AlignedRank(rounds, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			lower, upper := enumerated(rows)
			if want := min(1, 2*min(lower, upper)); math.Abs(e.P-want) > 1e-9 {
				t.Errorf("%s: p %v, by enumeration %v", c.name, e.P, want)
			}
			if inside := e.Lo <= 0 && 0 <= e.Hi; inside != (e.P > 0.05) && c.name != "ties" {
				t.Errorf("%s: p %v, but the interval is [%v, %v]", c.name, e.P, e.Lo, e.Hi)
			}
			// Just outside the interval the test rejects, and just inside it does not.
			a, _ := rounds.align("")
			if _, p := a.tails(e.Lo - 1e-9); p > 0.025+1e-9 {
				t.Errorf("%s: below the interval the tail is %v", c.name, p)
			}
			if p, _ := a.tails(e.Hi + 1e-9); p > 0.025+1e-9 {
				t.Errorf("%s: above the interval the tail is %v", c.name, p)
			}
		}
	}
}

// With one other arm and no ties, the test is Wilcoxon's with scores rank − ½, so the least p, if all contrasts
// have one sign, is Wilcoxon's.
func TestAlignedRankLeast(t *testing.T) {
	five := []float64{1, 2, 3, 4, 5}
	none := []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	if _, err := AlignedRank(AlignedRounds{Contrasts: five, OthersDelta: none}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("five pairs: %v", err)
	}
	if e, err := AlignedRank(AlignedRounds{Contrasts: []float64{5, 6, 7, 8}, OthersDelta: []float64{1, -1, 0.5, 0.2}}, 0.95); err != nil || math.Abs(e.P-2./81) > 1e-12 {
		t.Errorf("four rounds of three: %+v, %v", e, err)
	}
	zero := make([]float64, 6)
	if e, err := AlignedRank(AlignedRounds{Contrasts: zero, OthersDelta: zero}, 0.95); err != nil || e.Interval != (Interval{}) || e.P != 1 {
		t.Errorf("all the same: %+v, %v", e, err)
	}
	if e, err := AlignedRank(AlignedRounds{Contrasts: []float64{7, 7, 7, 7, 7, 7}, OthersDelta: zero}, 0.95); err != nil || math.Abs(e.Lo-7) > 1e-9 || math.Abs(e.Hi-7) > 1e-9 {
		t.Errorf("the same shift in all rounds: %+v, %v", e, err)
	}
	if p := AlignedRankLeast(0, 4); math.Abs(p-2./81) > 1e-12 {
		t.Errorf("least p %v", p)
	}
	if _, err := AlignedRank(AlignedRounds{Contrasts: five, OthersDelta: none[:4]}, 0.95); !errors.Is(err, errArgument) {
		t.Errorf("unequal lengths: %v", err)
	}
}

var alignedRuns = flag.Int("aligned.n", 500, "samples per row for the coverage of the aligned rank interval")

func TestAlignedRankCoverage(t *testing.T) {
	slow.Test(t)
	for _, n := range []int{4, 6, 10, 20, 40} {
		rng := rand.New(rand.NewPCG(5, uint64(n)))
		for name, draw := range map[string]func() float64{
			"normal": rng.NormFloat64, "skewed": rng.ExpFloat64,
			"spiky": func() float64 {
				if rng.Float64() < 0.05 {
					return 10 + rng.NormFloat64()
				}
				return rng.NormFloat64()
			},
		} {
			held := 0
			for range *alignedRuns {
				rounds := roundsOf(drawnRounds(n, rng, draw, func(int) bool { return false }))
				e, err := AlignedRank(rounds, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if e.Contains(0) {
					held++
				}
			}
			share := float64(held) / float64(*alignedRuns)
			t.Logf("%d rounds, %s: %.1f %% hold the shift", n, name, 100*share)
			if share < 0.95-4*math.Sqrt(0.05*0.95/float64(*alignedRuns)) {
				t.Errorf("%d rounds, %s: only %.1f %% hold the shift", n, name, 100*share)
			}
		}
	}
}

func BenchmarkAlignedRank(b *testing.B) {
	for _, n := range []int{10, 16, 50, 1000} {
		rng := rand.New(rand.NewPCG(1, 1))
		rounds := roundsOf(drawnRounds(n, rng, rng.NormFloat64, func(int) bool { return false }))
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := AlignedRank(rounds, 0.95); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// If the arm lies between the two others in every round, all shifts that leave it there are equally
// good: the point is their middle.
func TestAlignedRankBetween(t *testing.T) {
	r := AlignedRounds{}
	for _, i := range []float64{4, 2, 2.5, 0.5, 1, 4, 2, 2.5, 0.5, 1, 4, 2} {
		r.Contrasts, r.OthersDelta = append(r.Contrasts, 0.0969057+1e-5*i), append(r.OthersDelta, 0.007444306+5e-6*float64(len(r.OthersDelta)%5))
	}
	e, err := AlignedRank(r, 0.95)
	if err != nil || math.Abs(e.Point-0.097) > 1e-4 {
		t.Errorf("%+v, %v; want a point of 0.097", e, err)
	}
}
