package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestFisherExact compares with fisher.test of R 4.2.2; the first is Fisher's own lady
// tasting tea (The Design of Experiments, 1935; two-sided 0.4857).
func TestFisherExact(t *testing.T) {
	for _, c := range []struct {
		a, m, b, n int
		want       float64
	}{
		{3, 4, 1, 4, 0.485714285714286},
		{10, 12, 2, 15, 0.00043523130075829},
		{17, 56, 0, 80, 5.31041868634658e-08},
		{5, 50, 0, 100, 0.00358140617403281},
		{0, 20, 0, 40, 1},
		{1, 20, 0, 40, 0.333333333333333},
		{200, 1000, 150, 1000, 0.00388842100598186},
		{30, 40, 20, 40, 0.0368348330762232},
		{2, 10, 8, 10, 0.0230141375652211},
	} {
		got := FisherExact(c.a, c.m, c.b, c.n)
		if !(math.Abs(got-c.want) <= 1e-9*max(c.want, 1e-3)) {
			t.Errorf("%d of %d and %d of %d: p %.15g; want %.15g", c.a, c.m, c.b, c.n, got, c.want)
		}
		least := FisherLeast(c.a+c.b, c.m, c.n)
		if least > got*(1+1e-9) {
			t.Errorf("%d of %d and %d of %d: p %v under the least, %v", c.a, c.m, c.b, c.n, got, least)
		}
	}
	if got := FisherExact(3, 2, 0, 4); !math.IsNaN(got) {
		t.Errorf("3 of 2: %v", got)
	}
	if got := FisherLeast(0, 20, 40); got != 1 {
		t.Errorf("least p of nothing drawn: %v", got)
	}
	if got := FisherLeast(2, 20, 40); math.Abs(got-19./177) > 1e-12 { // 20·19 / 60·59
		t.Errorf("least p of two drawn: %v", got)
	}
}

// TestClopperPearson compares with binom.test of R 4.2.2. The third is the example of
// its manual page (Conover 1971, p. 97: Mendel's peas).
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		k, n               int
		confidence, lo, hi float64
	}{
		{0, 30, 0.95, 0, 0.115703308222028},
		{17, 56, 0.95, 0.187798729881535, 0.440967373680717},
		{682, 925, 0.95, 0.707668264079039, 0.765406558241525},
		{5, 5, 0.9, 0.549280271653059, 1},
		{3, 30, 0.99, 0.0115878116665027, 0.320314221285516},
		{0, 80, 0.95, 0, 0.0450640350676923},
		{0, 0, 0.95, 0, 1},
	} {
		got, err := ClopperPearson(c.k, c.n, c.confidence)
		if err != nil || math.Abs(got.Lo-c.lo) > 1e-9 || math.Abs(got.Hi-c.hi) > 1e-9 {
			t.Errorf("%d of %d at %v: %v, %v; want [%v, %v]", c.k, c.n, c.confidence, got, err, c.lo, c.hi)
		}
	}
	if _, err := ClopperPearson(3, 2, 0.95); !errors.Is(err, errArgument) {
		t.Errorf("3 of 2: %v", err)
	}
}

// TestMeanRatio compares with the same formulas in R 4.2.2 (qt, var), and checks the errors for
// invalid inputs.
func TestMeanRatio(t *testing.T) {
	x := make([]float64, 40)
	for i := range x {
		x[i] = []float64{10.1, 9.8, 10.4, 10.0, 9.7, 10.2, 9.9, 10.3}[i%8] + float64(i)/100
	}
	y := []float64{10.9, 10.2, 21.5, 10.6, 10.1, 10.8, 10.4, 10.7, 10.5, 10.3, 10.2, 10.6, 10.4, 10.8, 10.1, 10.9,
		10.7, 10.3, 10.5, 10.6, 10.2, 10.0, 19.8, 10.4,
		10.3, 10.6, 10.2, 10.9, 10.3, 10.6, 10.2, 10.9, 10.3, 10.6, 10.2, 10.9, 10.3, 10.6, 10.2, 10.9}
	for _, c := range []struct {
		name string
		of   func(x, y []float64, confidence float64) (Interval, error)
		n    int
		want Interval
	}{
		{"pairs", LogMeanRatioPaired, 8, Interval{0.165489228711309, -0.0960128926180675, 0.426991350040685}},
		{"samples", LogMeanRatio, 8, Interval{0.165489228711309, -0.107893654431912, 0.438872111854529}},
		{"pairs", LogMeanRatioPaired, 40, Interval{0.0699684813204324, 0.00395156103720566, 0.337218160344955}},
		{"samples", LogMeanRatio, 40, Interval{0.0699684813204324, 0.00348891081039107, 0.339809568900125}},
	} {
		got, err := c.of(x[:c.n], y[:c.n], 0.95)
		if err != nil || math.Abs(got.Point-c.want.Point)+math.Abs(got.Lo-c.want.Lo)+math.Abs(got.Hi-c.want.Hi) > 1e-9 {
			t.Errorf("%s of %d: %+v, %v; want %+v", c.name, c.n, got, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		x, y []float64
		want error
	}{
		"lengths":  {x[:3], y[:4], errArgument},
		"zero":     {[]float64{1, 0, 2}, []float64{1, 2, 3}, errArgument},
		"one pair": {x[:1], y[:1], ErrTooFew},
		"constant": {[]float64{2, 4, 6}, []float64{1, 2, 3}, ErrConstant},
	} {
		if got, err := LogMeanRatioPaired(c.x, c.y, 0.95); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := LogMeanRatio([]float64{2, 2}, []float64{3, 3}, 0.95); !errors.Is(err, ErrConstant) {
		t.Errorf("no spread: %v, %v", got, err)
	}
}

// meanRatioSimulations count intervals of the ratio of means: with noise in both arms, and with
// stalls in one arm only, which some samples do not contain.
func meanRatioSimulations() []simulation {
	stalls := func(share, factor float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 {
			v := math.Exp(0.02 * r.NormFloat64())
			if r.Float64() < share {
				v *= factor
			}
			return v
		}
	}
	quiet := stalls(0, 1)
	exponential := func(r *rand.Rand) float64 { return 0.92 + 0.08*r.ExpFloat64() }
	row := func(noise string, n int, x, y func(*rand.Rand) float64, truth float64, of func(x, y []float64, confidence float64) (Interval, error), least, most float64) simulation {
		return simulation{"LogMeanRatio", noise, n, func(r *rand.Rand) bool {
			a, b := make([]float64, n), make([]float64, n)
			for i := range a {
				a[i], b[i] = x(r), y(r)
			}
			i, err := of(a, b, 0.95)
			return err == nil && i.Contains(truth)
		}, least, most, 0}
	}
	mean := -math.Expm1(0.0002) // mean of the exponential noise relative to the quiet one
	var list []simulation
	for _, n := range []int{6, 12, 20, 30, 50, 200} {
		list = append(list,
			row("2 % normal, pairs", n, quiet, quiet, 0, LogMeanRatioPaired, 0.94, 0.96),
			row("2 % normal, samples", n, quiet, quiet, 0, LogMeanRatio, 0.94, 0.97),
			row("spiky, both arms", n, stalls(0.05, 1.2), stalls(0.05, 1.2), 0, LogMeanRatioPaired, 0.945, 0.985),
			row("exponential, one arm", n, quiet, exponential, mean, LogMeanRatioPaired, 0.88, 0.97))
	}
	for _, c := range []struct {
		n           int
		least, most float64
	}{{12, 0.68, 0.73}, {20, 0.85, 0.89}, {30, 0.93, 0.98}, {50, 0.95, 0.99}, {200, 0.945, 0.985}} {
		list = append(list, row("10 % of one arm twice as long", c.n, quiet, stalls(0.1, 2), math.Log(1.1), LogMeanRatioPaired, c.least, c.most))
	}
	return list
}

// TestDealtCounts checks probabilities that can be counted by hand.
func TestDealtCounts(t *testing.T) {
	for _, c := range []struct {
		blocks [][]int
		want   float64
	}{
		{[][]int{{5, 0}}, 1},
		{[][]int{{5, 0}, {5, 0}}, 0.5},                       // both or none of two coins
		{[][]int{{5, 0, 0}, {5, 0, 0}, {5, 0, 0}}, 1.0 / 27}, // 5 are expected: 0 is closer to that than 15
		{[][]int{{5, 0, 0}, {5, 0, 0}, {3, 3, 3}, {2}}, 1.0 / 9},
		{nil, 1},
	} {
		if got := PermutedCounts(c.blocks); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: p %v, want %v", c.blocks, got, c.want)
		}
	}
}
