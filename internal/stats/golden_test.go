package stats

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// golden is one result of another implementation, written by testdata/golden.R and
// testdata/golden.py. The kind determines which fields count.
type golden struct {
	Kind, Name                  string
	X, Y, D                     []float64
	Confidence, Margin, Q       float64
	Effect, SD, Alpha, Power    float64
	HalfWidth, Point, Lo, Hi, P float64
	T, DF                       float64
	N                           int
}

func readGolden(t *testing.T, file string) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cases
}

// near compares relative to want, and absolutely for values below 1.
func (g golden) near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s %q: %s is %.15g, want %.15g", g.Kind, g.Name, what, got, want)
	}
}

func (g golden) interval(t *testing.T, got Interval, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s %q: %v", g.Kind, g.Name, err)
	}
	g.near(t, "point", got.Point, g.Point, 1e-9)
	g.near(t, "lower bound", got.Lo, g.Lo, 1e-9)
	g.near(t, "upper bound", got.Hi, g.Hi, 1e-9)
}

func (g golden) estimate(t *testing.T, got Estimate, err error) {
	t.Helper()
	g.interval(t, got.Interval, err)
	g.near(t, "p", got.P, g.P, 1e-9)
}

func (g golden) p(t *testing.T, got float64, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s %q: %v", g.Kind, g.Name, err)
	}
	g.near(t, "p", got, g.P, 1e-9)
}

func TestAgainstR(t *testing.T)     { checkGolden(t, "golden-r.json", 300) }
func TestAgainstSciPy(t *testing.T) { checkGolden(t, "golden-scipy.json", 115) }

func checkGolden(t *testing.T, file string, count int) {
	cases := readGolden(t, file)
	if len(cases) != count {
		t.Errorf("%s has %d cases, want %d", file, len(cases), count)
	}
	for _, g := range cases {
		if check, known := goldenChecks[g.Kind]; known {
			check(t, g)
		} else {
			t.Errorf("%s: no check for %q", file, g.Kind)
		}
	}
}

var goldenChecks = map[string]func(*testing.T, golden){
	"signedRank": func(t *testing.T, g golden) {
		got, err := SignedRank(g.D, g.Confidence)
		g.estimate(t, got, err)
	},
	"signedRankP": func(t *testing.T, g golden) {
		got, err := SignedRank(g.D, g.Confidence)
		g.p(t, got.P, err)
	},
	"equivalenceSignedRank": func(t *testing.T, g golden) {
		p, err := equivalent(g.Margin)(SignedRank(g.D, 0.5))
		g.p(t, p, err)
	},
	"pairedT": func(t *testing.T, g golden) {
		got, err := PairedT(g.D, g.Confidence)
		g.estimate(t, got, err)
	},
	"equivalenceT": func(t *testing.T, g golden) {
		p, err := equivalent(g.Margin)(PairedT(g.D, 0.5))
		g.p(t, p, err)
	},
	"rankSum": func(t *testing.T, g golden) {
		got, err := RankSum(g.X, g.Y, g.Confidence)
		g.estimate(t, got, err)
	},
	"rankSumP": func(t *testing.T, g golden) {
		got, err := RankSum(g.X, g.Y, g.Confidence)
		g.p(t, got.P, err)
	},
	"welchT": func(t *testing.T, g golden) {
		got, err := WelchT(g.X, g.Y, g.Confidence)
		g.estimate(t, got, err)
	},
	"rankSumInterval": func(t *testing.T, g golden) {
		got, err := RankSum(g.X, g.Y, g.Confidence)
		g.interval(t, got.Interval, err)
	},
	"equivalenceRankSum": func(t *testing.T, g golden) {
		p, err := equivalent(g.Margin)(RankSum(g.X, g.Y, 0.5))
		g.p(t, p, err)
	},
	"welch": func(t *testing.T, g golden) {
		meanX, sdX := meanSD(g.X)
		meanY, sdY := meanSD(g.Y)
		se, df := welchError(sdX, sdY, len(g.X), len(g.Y))
		g.near(t, "t", (meanY-meanX)/se, g.T, 1e-9)
		g.near(t, "degrees of freedom", df, g.DF, 1e-9)
	},
	"equivalenceWelch": func(t *testing.T, g golden) {
		p, err := equivalent(g.Margin)(WelchT(g.X, g.Y, 0.5))
		g.p(t, p, err)
	},
	"holm": func(t *testing.T, g golden) {
		for i, p := range Holm(g.X) {
			g.near(t, "adjusted p", p, g.Y[i], 1e-12)
		}
	},
	"power": func(t *testing.T, g golden) {
		g.near(t, "power", studentTestPower(g.Effect, g.SD, g.N, g.Alpha), g.P, 1e-9)
	},
	"detectable": func(t *testing.T, g golden) {
		g.near(t, "effect", DetectableEffect(g.SD, g.N, g.Alpha, g.Power), g.Point, 1e-9)
	},
	"rounds": func(t *testing.T, g golden) {
		if got := fewest(10000, func(n int) bool { return n > 1 && studentTestPower(g.Effect, g.SD, n, g.Alpha) >= g.Power }); got != g.N {
			t.Errorf("an effect of %v takes %d rounds, want %d", g.Effect, got, g.N)
		}
	},
	"quantile": func(t *testing.T, g golden) {
		g.near(t, "quantile", Quantile(g.X, g.Q), g.Point, 1e-12)
	},
	"medianInterval": func(t *testing.T, g golden) {
		got, actual, err := MedianInterval(g.X, g.Confidence)
		g.interval(t, got, err)
		if actual < g.Confidence || actual > 1 {
			t.Errorf("actual confidence %v for %v", actual, g.Confidence)
		}
	},
	"lag1": func(t *testing.T, g golden) {
		g.near(t, "autocorrelation", Lag1(g.X), g.Point, 1e-9)
	},
	"trendP": func(t *testing.T, g golden) {
		_, p, err := Trend(g.X)
		g.p(t, p, err)
	},
	"slope": func(t *testing.T, g golden) {
		slope, _, err := Trend(g.X)
		if err != nil {
			t.Errorf("%s %q: %v", g.Kind, g.Name, err)
		}
		g.near(t, "slope", slope, g.Point, 1e-12)
	},
	"line": func(t *testing.T, g golden) {
		line, err := FitLine(g.X, g.Y)
		if err != nil {
			t.Errorf("%s %q: %v", g.Kind, g.Name, err)
		}
		g.near(t, "slope", line.Slopes[0], g.Point, 1e-9)
		g.near(t, "intercept", line.Intercept, g.Q, 1e-9)
	},
	"dip": func(t *testing.T, g golden) {
		d, _, err := Dip(g.X)
		if err != nil {
			t.Errorf("%s %q: %v", g.Kind, g.Name, err)
		}
		g.near(t, "dip", d, g.Point, 1e-12)
	},
	"dipP": func(t *testing.T, g golden) {
		_, p, err := Dip(g.X)
		if err != nil {
			t.Errorf("%s %q: %v", g.Kind, g.Name, err)
		}
		g.near(t, "p", p, g.P, 0.001+0.03*g.P) // both tables come from simulations
	},
	"order": func(t *testing.T, g golden) {
		positions := make([]int, len(g.Y))
		for i, y := range g.Y {
			positions[i] = int(y)
		}
		p, err := OrderEffect(g.X, positions)
		g.p(t, p, err)
	},
	"stein": func(t *testing.T, g golden) {
		n, capped, err := SteinRounds(g.X, g.HalfWidth, 0.95, 100000)
		if n != g.N || capped || err != nil {
			t.Errorf("SteinRounds(half-width %v) = %d, %v, %v; want %d", g.HalfWidth, n, capped, err, g.N)
		}
		_, sd := meanSD(g.X)
		got, err := SteinInterval(sd, len(g.X), g.D, 0.95)
		g.estimate(t, got, err)
	},
	"energy": func(t *testing.T, g golden) {
		e := newEnergy(g.X)
		split, q := e.bestSplit(e.ranks, 3)
		if split != g.N {
			t.Errorf("split of %q at %d, want %d", g.Name, split, g.N)
		}
		g.near(t, "energy distance", q, g.Point, 1e-9)
	},
	"changepoints": func(t *testing.T, g golden) {
		// The flow of the Nile falls after 1898 (Cobb 1978). Value 0 is 1871.
		if got := Changepoints(g.X, 0.01, 5, 1); len(got) != 1 || got[0] != 28 {
			t.Errorf("changepoints of %s: %v, want [28]", g.Name, got)
		}
	},
}

// Worked examples of books and papers, with the printed precision.
func TestPublished(t *testing.T) {
	depression := []float64{-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010}
	signed, err := SignedRank(depression, 0.96)
	printed(t, "Hollander & Wolfe, examples 3.3 and 3.4 (estimate, 96 % interval)", err,
		[]float64{signed.Point, signed.Lo, signed.Hi}, []float64{-0.46, -0.786, -0.010}, 0.0005)

	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	weeks := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	sum, err := RankSum(term, weeks, 0.95)
	printed(t, "Hollander & Wolfe, section 4 (shift, one-sided p)", err,
		[]float64{sum.Point, sum.P / 2}, []float64{-0.305, 0.127}, 0.0005)

	sleep := []float64{-1.2, -2.4, -1.3, -1.3, 0, -1, -1.8, -0.8, -4.6, -1.4}
	paired, err := PairedT(sleep, 0.95)
	printed(t, "Student 1908, sleep", err,
		[]float64{paired.Point, paired.Lo, paired.Hi, paired.P}, []float64{-1.58, -2.4598858, -0.7001142, 0.002833}, 5e-7)
}

func printed(t *testing.T, source string, err error, got, want []float64, tolerance float64) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", source, err)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > tolerance {
			t.Errorf("%s: %s, want %s", source, numbers(got), numbers(want))
			return
		}
	}
}

func numbers(x []float64) string {
	text, _ := json.Marshal(x)
	return strings.Trim(string(text), "[]")
}
