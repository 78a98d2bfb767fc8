package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// equivalent returns the p of equivalence of an estimate.
func equivalent(margin float64) func(Estimate, error) (float64, error) {
	return func(e Estimate, err error) (float64, error) {
		if err != nil {
			return 0, err
		}
		return e.Equivalence(margin), nil
	}
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	six := []float64{1, 2, 3, 4, 5, 6}
	estimate := func(e Estimate, err error) error { return err }
	p := func(p float64, err error) error { return err }
	stein := func(n int, capped bool, err error) error { return err }
	withP := func(_, p float64, err error) error { return err }
	median := func(i Interval, actual float64, err error) error { return err }
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{estimate(SignedRank(six[:5], 0.95)), ErrTooFew, "signed rank: 5 values, at least 6 needed at 95 %: too few values"},
		{estimate(SignedRank(six, 0.99)), ErrTooFew, "signed rank: 6 values, at least 8 needed at 99 %: too few values"},
		{estimate(SignedRank(nil, 0.95)), ErrTooFew, "signed rank: 0 values, at least 6 needed at 95 %: too few values"},
		{estimate(SignedRank([]float64{1, 2, nan, 4}, 0.95)), errNotFinite, "signed rank: value 3 of 4 is NaN: not a finite number"},
		{estimate(SignedRank(six, 95)), errArgument, "signed rank: confidence 95 is not between 0 and 1 (95 % is 0.95): argument out of range"},
		{estimate(PairedT(six[:1], 0.95)), ErrTooFew, "paired t: 1 given, at least 2 needed: too few values"},
		{estimate(PairedT([]float64{1, inf}, 0.95)), errNotFinite, "paired t: value 2 of 2 is +Inf: not a finite number"},
		{estimate(PairedT([]float64{0.1, 0.1, 0.1}, 0.95)), ErrConstant, "paired t: all 3 values are 0.1: values do not vary"},
		{estimate(PairedT(six, 0)), errArgument, "paired t: confidence 0 is not between 0 and 1 (95 % is 0.95): argument out of range"},
		{stein(SteinRounds(six, 0.1, 0.95, 5)), errArgument, "Stein rounds: at most 5 rounds, but the pilot has 6: argument out of range"},
		{stein(SteinRounds(six, -1, 0.95, 50)), errArgument, "Stein rounds: half-width -1 is not a positive number: argument out of range"},
		{stein(SteinRounds(six[:1], 1, 0.95, 50)), ErrTooFew, "Stein rounds: 1 given, at least 2 needed: too few values"},
		{estimate(SteinInterval(0, 6, six, 0.95)), errArgument, "Stein interval: pilot's standard deviation 0 is not a positive number: argument out of range"},
		{estimate(SteinInterval(1, 1, six, 0.95)), ErrTooFew, "Stein interval, pilot: 1 given, at least 2 needed: too few values"},
		{estimate(SteinInterval(1, 7, six, 0.95)), ErrTooFew, "Stein interval: 6 given, at least 7 needed: too few values"},
		{median(MedianInterval(six[:5], 0.95)), ErrTooFew, "median interval: 5 values, at least 6 needed at 95 %: too few values"},
		{median(MedianInterval([]float64{nan}, 0.95)), errNotFinite, "median interval: value 1 of 1 is NaN: not a finite number"},
		{estimate(RankSum(six[:3], six[:4], 0.95)), ErrTooFew, "rank sum: samples of 3 and 4 allow no interval at 95 %: too few values"},
		{estimate(RankSum(nil, six, 0.95)), ErrTooFew, "rank sum: samples of 0 and 6 allow no interval at 95 %: too few values"},
		{estimate(RankSum(six, []float64{inf}, 0.95)), errNotFinite, "rank sum, second sample: value 1 of 1 is +Inf: not a finite number"},
		{estimate(WelchT(six, six[:1], 0.95)), ErrTooFew, "Welch t, second sample: 1 given, at least 2 needed: too few values"},
		{estimate(WelchT([]float64{1, 1}, []float64{2, 2}, 0.95)), ErrConstant, "Welch t: neither sample varies: values do not vary"},
		{p(OrderEffect(six, []int{1, 2})), errArgument, "order effect: 6 values but 2 positions: argument out of range"},
		{p(OrderEffect(six[:3], []int{0, 1, 2})), ErrTooFew, "order effect: 3 given, at least 4 needed: too few values"},
		{p(OrderEffect(six[:4], []int{1, 1, 1, 1})), ErrConstant, "order effect: every position is 1: values do not vary"},
		{withP(Dip(six[:3])), ErrTooFew, "dip: 3 given, at least 4 needed: too few values"},
		{withP(Dip([]float64{1, 2, nan, 4})), errNotFinite, "dip: value 3 of 4 is NaN: not a finite number"},
		{withP(Trend(six[:3])), ErrTooFew, "trend: 3 given, at least 4 needed: too few values"},
		{withP(Trend([]float64{1, inf, 2, 3})), errNotFinite, "trend: value 2 of 4 is +Inf: not a finite number"},
	} {
		if c.err == nil || c.err.Error() != c.text || !errors.Is(c.err, c.is) {
			t.Errorf("error %v, want %s (%v)", c.err, c.text, c.is)
		}
	}
}

// The interval by selection equals that by sorting all Walsh averages.
func TestSelectionAgainstSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		n := 1 + random.IntN(40)
		s := make([]float64, n)
		for i := range s {
			s[i] = random.NormFloat64() * math.Pow(10, float64(random.IntN(9)-4))
			if trial%3 == 0 {
				s[i] = math.Round(s[i])
			}
		}
		slices.Sort(s)
		var walsh []float64
		for i := range s {
			for j := i; j < n; j++ {
				walsh = append(walsh, s[i]/2+s[j]/2)
			}
		}
		slices.Sort(walsh)
		for k, want := range walsh {
			if got := kthSmallest(k+1, walshAverages(s)); got != want {
				t.Fatalf("Walsh average %d of %v is %v, want %v", k+1, s, got, want)
			}
		}
		if got, want := medianOf(walshAverages(s)), Quantile(walsh, 0.5); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Fatalf("median of the Walsh averages of %v is %v, want %v", s, got, want)
		}
	}
}

// Without ties, the interval contains 0 exactly if the test does not reject it.
func TestIntervalAndPAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, shift float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = shift + random.NormFloat64()
		}
		return x
	}
	for range 2000 {
		d := draw(6+random.IntN(20), random.Float64())
		signed, err := SignedRank(d, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if signed.Contains(0) != (signed.P > 0.05) {
			t.Fatalf("signed rank of %v: %+v", d, signed)
		}
		inner, _ := SignedRank(d, 0.9)
		margin := 2 * random.Float64()
		p, err := equivalent(margin)(SignedRank(d, 0.5))
		if inside := -margin < inner.Lo && inner.Hi < margin; inside != (p <= 0.05) || err != nil {
			t.Fatalf("equivalence of %v within %v: p = %v, %v, 90 %% interval %+v", d, margin, p, err, inner)
		}
		x, y := draw(4+random.IntN(9), 0), draw(4+random.IntN(9), random.Float64()*2)
		sum, err := RankSum(x, y, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Contains(0) != (sum.P > 0.05) {
			t.Fatalf("rank sum of %v and %v: %+v", x, y, sum)
		}
	}
}

// Beyond the exact distribution, the normal approximation never claims more confidence than it has,
// and far out in the tails somewhat less.
func TestLargeSampleDepths(t *testing.T) {
	for _, alpha := range []float64{0.1, 0.05, 0.01, 0.001} {
		cdf := signedRankCDF(maxExactSignedRank + 1)
		k := signedRankNull(maxExactSignedRank + 1).depth(alpha)
		if reached := cdf[k-1]; reached > alpha/2*1.001 || reached < alpha/2*0.85 {
			t.Errorf("signed rank: tail %v for alpha/2 = %v", reached, alpha/2)
		}
		both := rankSumCDF(maxExactRankSum+1, maxExactRankSum+1)
		k = rankSumNull(maxExactRankSum+1, maxExactRankSum+1).depth(alpha)
		if reached := both[k-1]; reached > alpha/2*1.001 || reached < alpha/2*0.85 {
			t.Errorf("rank sum: tail %v for alpha/2 = %v", reached, alpha/2)
		}
	}
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}}, // Holm's procedure by hand
		{[]float64{0.04}, []float64{0.04}},
		{[]float64{0.01, math.NaN(), 0.02}, []float64{0.03, 1, 0.04}},
	} {
		got := Holm(c.p)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
			t.Errorf("Holm(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

func TestQuantileEdges(t *testing.T) {
	for _, c := range []struct {
		x       []float64
		q, want float64
	}{
		{nil, 0.5, math.NaN()}, {[]float64{7}, 0.99, 7}, {[]float64{1, 2}, -0.1, math.NaN()},
		{[]float64{1, 2}, math.NaN(), math.NaN()}, {[]float64{1, 2}, 0.25, 1.25},
	} {
		if got := Quantile(c.x, c.q); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.x, c.q, got, c.want)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	// For n = 6 the interval reaches from the least to the largest value, with confidence 1 - 2/64.
	got, actual, err := MedianInterval([]float64{3, 1, 2, 6, 5, 4}, 0.95)
	if want := (Interval{3.5, 1, 6}); got != want || math.Abs(actual-0.96875) > 1e-15 || err != nil {
		t.Errorf("%+v at %v, %v; want %+v at 0.96875", got, actual, err, want)
	}
}

func TestSignedRankDegenerate(t *testing.T) {
	for _, c := range []struct {
		d    []float64
		want Interval
		p    float64
	}{
		{make([]float64, 6), Interval{0, 0, 0}, 1},
		{[]float64{2, 2, 2, 2, 2, 2}, Interval{2, 2, 2}, 0.03125},
		{[]float64{-1, -2, -3, -4, -5, -6}, Interval{-3.5, -6, -1}, 0.03125},
	} {
		got, err := SignedRank(c.d, 0.95)
		if got.Interval != c.want || got.P != c.p || got.N != 6 || err != nil {
			t.Errorf("SignedRank(%v) = %+v, %v; want %+v, p = %v", c.d, got, err, c.want, c.p)
		}
		for _, margin := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if p := got.Equivalence(margin); !math.IsNaN(p) {
				t.Errorf("within %v: p = %v, want NaN", margin, p)
			}
		}
	}
}

func TestSteinCapped(t *testing.T) {
	n, capped, err := SteinRounds([]float64{1, 2, 3, 4, 5, 6}, 0.001, 0.95, 40)
	if n != 40 || !capped || err != nil {
		t.Errorf("%d, %v, %v; want 40, capped", n, capped, err)
	}
	n, capped, err = SteinRounds([]float64{1, 1, 1}, 0.001, 0.95, 40)
	if n != 3 || capped || err != nil {
		t.Errorf("%d, %v, %v; want the pilot's 3", n, capped, err)
	}
}

// PrecisionRounds keeps Stein's number if the pilot's rounds are enough or the limit is reached.
// Otherwise it returns a larger number.
func TestPrecisionRounds(t *testing.T) {
	pilot := []float64{0.021, 0.035, 0.018, 0.040, 0.027, 0.031}
	for _, c := range []struct {
		half, assurance float64
		limit, want     int
		capped          bool
	}{
		{0.02, 0.9, 100, 6, false},
		{0.005, 0.9, 1000, 36, false},
		{0.005, 0.5, 1000, 19, false}, // Stein's number
		{0.005, 0.99, 1000, 104, false},
		{0.005, 0.9, 30, 30, true},
		{0.005, 0.9, 15, 15, true},
	} {
		n, capped, err := PrecisionRounds(pilot, c.half, 0.95, c.assurance, c.limit)
		if err != nil || n != c.want || capped != c.capped {
			t.Errorf("±%v in %v of runs, at most %d: %d, %v, %v; want %d, %v", c.half, c.assurance, c.limit, n, capped, err, c.want, c.capped)
		}
	}
	if _, _, err := PrecisionRounds(pilot, 0.01, 0.95, 1, 50); err == nil || err.Error() != "precision rounds: assurance 1 is not between 0 and 1: argument out of range" {
		t.Errorf("%v", err)
	}
}
