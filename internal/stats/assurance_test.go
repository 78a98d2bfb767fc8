package stats

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/test/slow"
)

var assuranceN = flag.Int("assurance.n", 2000, "simulated runs behind each share of TestVerdictSizes")

// drawnEffect draws an effect from a belief.
func drawnEffect(rng *rand.Rand, b belief) float64 {
	return b.At + b.Error*StudentQuantile(math.Round(rng.Float64()*1998+1)/2000, b.DF)
}

// TestVerdictSizes draws the effect from its belief, and new noise, and judges with the tests
// themselves: about the requested share gets a verdict.
func TestVerdictSizes(t *testing.T) {
	slow.Test(t)
	normal := func(rng *rand.Rand) float64 { return rng.NormFloat64() }
	spiky := func(rng *rand.Rand) float64 {
		x := rng.NormFloat64() * 0.7
		if rng.Float64() < 0.1 {
			x += math.Copysign(6, rng.NormFloat64())
		}
		return x
	}
	aim := Aim{Alpha: 0.05, Shown: 0.05, Assurance: 0.8, Limit: 10_000, Seed: 3}
	with := func(margin float64, resamples int) Aim {
		a := aim
		a.Margin, a.Reach, a.Resamples = margin, 2*margin, resamples
		return a
	}
	for _, c := range []struct {
		name   string
		noise  func(*rand.Rand) float64
		n      int // number of observed values
		at     float64
		aim    Aim
		paired bool
		beside bool // two others ran in every round
	}{
		{"normal, no margin", normal, 20, 0.5, with(0, 0), true, false},
		{"normal, no margin, drawn", normal, 20, 0.5, with(0, 1000), true, false},
		{"normal, nothing there", normal, 30, 0, with(0.7, 0), true, false},
		{"normal, nothing there, drawn", normal, 30, 0, with(0.7, 1000), true, false},
		{"normal, in between", normal, 30, 0.35, with(0.7, 1000), true, false},
		{"spiky, drawn", spiky, 80, 0.3, with(0.7, 1000), true, false},
		{"normal, beside two", normal, 20, 0.5, with(0, 0), true, true},
		{"normal, beside two, nothing there", normal, 30, 0, with(0.7, 0), true, true},
		{"spiky, beside two, drawn", spiky, 60, 0.3, with(0.7, 400), true, true},
		{"normal samples", normal, 30, 0.2, with(1, 0), false, false},
		{"normal samples, drawn", normal, 30, 0.2, with(1, 1000), false, false},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		draw := func(n int, at float64) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = at + c.noise(rng)
			}
			return x
		}
		got, sizes, times := 0, 0, 40
		for range times { // each pass is one observed experiment
			var b belief
			var n int
			rounds := func(n int, at float64) AlignedRounds {
				r := AlignedRounds{Contrasts: draw(n, at), OthersDelta: make([]float64, n)}
				for i := range n {
					x, y := c.noise(rng)/math.Sqrt(1.5), c.noise(rng)/math.Sqrt(1.5)
					r.Contrasts[i] = at + (r.Contrasts[i]-at)/math.Sqrt(1.5) - (x+y)/2
					r.OthersDelta[i] = (y - x) / 2
				}
				return r
			}
			if c.beside {
				r := rounds(c.n, c.at)
				e, err := AlignedRank(r, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				b = BeliefOf(e.Interval, 0.95, AlignedDF(c.n))
				b.At = c.at
				n = RoundsForVerdict(r, b, c.aim)
			} else if c.paired {
				d := draw(c.n, c.at)
				e, err := SignedRank(d, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				b = BeliefOf(e.Interval, 0.95, float64(c.n-1))
				b.At = c.at
				n = PairsForVerdict(d, b, c.aim)
			} else {
				x, y := draw(c.n, 0), draw(c.n, c.at)
				e, err := RankSum(x, y, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				b = BeliefOf(e.Interval, 0.95, float64(2*c.n-2))
				b.At = c.at
				n = ValuesForVerdict(x, y, b, c.aim)
			}
			sizes += n
			for range *assuranceN / times {
				effect := drawnEffect(rng, b)
				if c.beside {
					if n > 0 && verdictOfRounds(t, rounds(n, effect), c.aim) {
						got++
					}
					continue
				}
				if n > 0 && c.paired && verdictOfPairs(t, draw(n, effect), c.aim) || n > 0 && !c.paired && verdictOfValues(t, draw(n, 0), draw(n, effect), c.aim) {
					got++
				}
			}
		}
		share := float64(got) / float64(*assuranceN/times*times)
		t.Logf("%s: about %d, %.1f %% get a verdict", c.name, sizes/times, 100*share)
		if math.Abs(share-0.8) > 0.07 {
			t.Errorf("%s: %.1f %% of runs get a verdict, 80 %% asked for", c.name, 100*share)
		}
	}
}

func verdictOfPairs(t *testing.T, d []float64, a Aim) bool {
	e, err := SignedRank(d, 1-a.Shown)
	if err != nil {
		t.Fatal(err)
	}
	if e.P <= a.Alpha {
		return true
	}
	if a.Margin == 0 {
		return false
	}
	ranks, err := equivalent(a.Margin)(SignedRank(d, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	byT, err := equivalent(a.Margin)(PairedT(d, 0.5))
	return err == nil && max(ranks, byT) <= a.Alpha && -a.Reach < e.Lo && e.Hi < a.Reach
}

func verdictOfRounds(t *testing.T, r AlignedRounds, a Aim) bool {
	e, err := AlignedRank(r, 1-a.Shown)
	if err != nil {
		t.Fatal(err)
	}
	if e.P <= a.Alpha {
		return true
	}
	if a.Margin == 0 {
		return false
	}
	ranks, err := equivalent(a.Margin)(AlignedRank(r, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	byT, err := equivalent(a.Margin)(PairedT(r.Contrasts, 0.5))
	return err == nil && max(ranks, byT) <= a.Alpha && -a.Reach < e.Lo && e.Hi < a.Reach
}

func verdictOfValues(t *testing.T, x, y []float64, a Aim) bool {
	ranks, err := RankSum(x, y, 1-a.Shown)
	if err != nil {
		t.Fatal(err)
	}
	welch, err := WelchT(x, y, 1-a.Shown)
	if err != nil {
		t.Fatal(err)
	}
	if max(ranks.P, welch.P) <= a.Alpha {
		return true
	}
	one, err := equivalent(a.Margin)(RankSum(x, y, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	other, err := equivalent(a.Margin)(WelchT(x, y, 0.5))
	return err == nil && max(one, other) <= a.Alpha && -a.Reach < min(ranks.Lo, welch.Lo) && max(ranks.Hi, welch.Hi) < a.Reach
}

// If the effect is known exactly, assurance is power. If it is normal around a value, assurance has
// the closed form of O'Hagan, Stevens & Campbell (2005), Φ((√n·m/σ − z) / √(1 + n·v/σ²)) for a
// claim on one side.
func TestAssuranceClosedForms(t *testing.T) {
	const many = 1e6
	aim := Aim{Alpha: 0.05, Assurance: 0.8, Limit: 10_000}
	if got := SizeForVerdict(10_000, belief{At: 0.2, Error: 1e-7, DF: many}, aim); got != LeastSignedRank(0.05) {
		t.Errorf("an effect beyond all noise: %d", got)
	}
	for _, c := range []struct{ m, v float64 }{{0.5, 0.01}, {0.3, 0.004}, {1, 0.04}} {
		p := &pairs{sd: 1, scale: 1}
		b := belief{At: c.m, Error: math.Sqrt(c.v), DF: many}
		for _, n := range []int{40, 100, 190} {
			a := aim
			got := verdictChance(p, b, &a, n)
			z := -StudentQuantile(signedRankNull(n).level(0.05)/2, float64(n-1))
			above := func(m float64) float64 {
				return 1 - StudentTail((math.Sqrt(float64(n))*m-z)/math.Sqrt(1+float64(n)*c.v), many)
			}
			if want := above(c.m) + above(-c.m); math.Abs(got-want) > 1e-9 {
				t.Errorf("m = %v, v = %v, n = %d: %v, want %v", c.m, c.v, n, got, want)
			}
		}
	}
}

func TestVerdictSizeEdges(t *testing.T) {
	aim := Aim{Alpha: 0.05, Margin: 1, Reach: 2, Shown: 0.05, Assurance: 0.8, Limit: 1000, Resamples: 100}
	b := belief{At: 0, Error: 1, DF: 9}
	none := func(change func(*Aim)) Aim { a := aim; change(&a); return a }
	d := []float64{1, -1, 2, -2, 3, -3, 1, 0, 2, -1}
	for name, got := range map[string]int{
		"one pair":           PairsForVerdict(d[:1], b, aim),
		"no spread":          PairsForVerdict([]float64{1, 1, 1}, b, aim),
		"no error":           PairsForVerdict(d, belief{DF: 9}, aim),
		"an infinite error":  PairsForVerdict(d, belief{Error: math.Inf(1), DF: 9}, aim),
		"no degrees":         PairsForVerdict(d, belief{Error: 1}, aim),
		"not a number":       PairsForVerdict(d, belief{At: math.NaN(), Error: 1, DF: 9}, aim),
		"one value":          ValuesForVerdict(d[:1], d, b, aim),
		"constant values":    ValuesForVerdict([]float64{1, 1}, []float64{2, 2}, b, aim),
		"no values":          SizeForVerdict(0, b, aim),
		"certainty":          PairsForVerdict(d, b, none(func(a *Aim) { a.Assurance = 1 })),
		"level 0":            PairsForVerdict(d, b, none(func(a *Aim) { a.Alpha = 0 })),
		"over the limit":     PairsForVerdict(d, b, none(func(a *Aim) { a.Margin, a.Limit = 0.01, 20 })),
		"nothing to resolve": PairsForVerdict(d, belief{Error: 1e-3, DF: 9}, none(func(a *Aim) { a.Margin, a.Limit = 0, 20 })),
	} {
		if got != 0 {
			t.Errorf("%s: %d, want 0", name, got)
		}
	}
	apart := make([]float64, len(d))
	for name, got := range map[string]int{
		"apart of other length": RoundsForVerdict(AlignedRounds{Contrasts: d, OthersDelta: apart[1:]}, b, aim),
		"one round":             RoundsForVerdict(AlignedRounds{Contrasts: d[:1], OthersDelta: apart[:1]}, b, aim),
		"no spread":             RoundsForVerdict(AlignedRounds{Contrasts: make([]float64, 10), OthersDelta: apart}, b, aim),
	} {
		if got != 0 {
			t.Errorf("rounds, %s: %d, want 0", name, got)
		}
	}
	alone := make([]float64, len(d))
	for i := range alone {
		alone[i] = math.NaN()
	}
	if pairs, rounds := PairsForVerdict(d, b, none(func(a *Aim) { a.Resamples = 0 })), RoundsForVerdict(AlignedRounds{Contrasts: d, OthersDelta: alone}, b, none(func(a *Aim) { a.Resamples = 0 })); rounds < pairs-1 || rounds > pairs+1 {
		t.Errorf("rounds without another reference: %d, pairs %d", rounds, pairs)
	}
	first := PairsForVerdict(d, b, aim)
	if again := PairsForVerdict(d, b, aim); first != again || first < 6 {
		t.Errorf("%d, then %d", first, again)
	}
}

// TestSides draws effects from a belief and counts the new intervals on each side of 0.
func TestSides(t *testing.T) {
	side := Side{Below: 0.025, Above: 0.005, Assurance: 0.8, Limit: 10_000}
	rng := rand.New(rand.NewPCG(4, 5))
	for _, at := range []float64{-0.6, 0.5} {
		b := belief{At: at, Error: 1 / math.Sqrt(12), DF: AlignedDF(12)} // for contrasts with a deviation of 1
		n := side.Rounds(12, b)
		said := 0
		const times = 600
		for range times {
			effect := drawnEffect(rng, b)
			r := AlignedRounds{Contrasts: make([]float64, n), OthersDelta: make([]float64, n)}
			for i := range n {
				a, x, y := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
				r.Contrasts[i], r.OthersDelta[i] = effect+(a-(x+y)/2)/math.Sqrt(1.5), (y-x)/2/math.Sqrt(1.5)
			}
			a, err := r.align("test")
			if err != nil {
				t.Fatal(err)
			}
			if lower, upper := a.tails(0); lower <= side.Below || upper <= side.Above {
				said++
			}
		}
		share := float64(said) / times
		t.Logf("%v: %d rounds, %.1f %% said", at, n, 100*share)
		if math.Abs(share-0.8) > 0.07 {
			t.Errorf("%v: %d rounds, %.1f %% said, want 80 %%", at, n, 100*share)
		}
	}
	near := side.Rounds(12, belief{At: 1e-9, Error: 0.3, DF: 22})
	if pairs, values := side.Pairs(12, belief{At: 0.5, Error: 0.3, DF: 11}), side.Values(12, belief{At: 0.5, Error: 0.3, DF: 22}); near < 12 || near > 1000 || pairs < 12 || values < 12 {
		t.Errorf("%d rounds at the limit itself; %d pairs, %d values", near, pairs, values)
	}
	if got := (Side{Below: 0.025, Above: 0.7, Assurance: 0.8, Limit: 100}).Pairs(12, belief{At: 1, Error: 1, DF: 11}); got != 0 {
		t.Errorf("a level of 0.7: %d", got)
	}
}
