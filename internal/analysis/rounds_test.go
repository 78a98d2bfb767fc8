package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

func TestFewestRounds(t *testing.T) {
	for _, c := range []struct {
		treatments, metrics int
		confidence          float64
		want                int
	}{
		{1, 1, 0.95, 6}, // the control's own test: 2/2^6 = 3.1 %
		{1, 0, 0.95, 6}, // no headline metric: the test by itself
		{1, 1, 0.99, 8}, // 2/2^8 = 0.78 %
		{2, 1, 0.95, 6}, // 2/3^6 = 0.27 % ≤ 2.5 %
		{3, 4, 0.95, 6}, // ≤ 0.42 %
		{4, 8, 0.95, 7}, // 2/3^7 = 0.09 % ≤ 0.16 %
	} {
		var metrics []experiment.Metric
		for i := range c.metrics {
			metrics = append(metrics, headline(string(rune('a'+i)), experiment.Lower))
		}
		plan := testPlan(6, metrics, []string{"a", "b", "c", "d"}[:c.treatments]...)
		plan.Confidence = percentValue(c.confidence)
		if got := FewestRounds(plan); got != c.want {
			t.Errorf("%d treatments × %d metrics at %v: %d rounds, want %d", c.treatments, c.metrics, c.confidence, got, c.want)
		}
	}
}

func TestNeededRounds(t *testing.T) {
	metrics := []experiment.Metric{headline("time", experiment.Lower), {Name: "extra", Better: experiment.Lower, Scale: experiment.Ratio}}
	plan := testPlan(6, metrics, "calm", "loud")
	plan.Precision, plan.MaxRounds = 0.02, 500
	value := func(round int, _, arm, metric string) float64 {
		scale := map[string]float64{"calm": 1, "loud": 6, "control": 50}[arm]
		if metric == "extra" {
			scale = 90
		}
		return 100 * math.Exp(scale*quiet[round%len(quiet)])
	}
	trials := testTrials(plan, 20, value)
	// The noisiest treatment on a headline metric decides. Exploratory metrics and rounds after the
	// pilot do not count. The control is half of the reference.
	var contrasts []float64
	for round := 1; round <= 6; round++ {
		contrasts = append(contrasts, 6*quiet[round]-50*quiet[round]/2)
	}
	want, _, err := stats.PrecisionRounds(contrasts, math.Log(1.02), 0.95, 0.9, 500)
	if err != nil {
		t.Fatal(err)
	}
	got, err := NeededRounds(plan, trials)
	if err != nil || got != want || got <= 6 {
		t.Errorf("%d rounds, %v; want %d", got, err, want)
	}
	plan.MaxRounds = 9
	if got, err := NeededRounds(plan, trials); err != nil || got != 9 {
		t.Errorf("%d rounds, %v; want the cap of 9", got, err)
	}
	run := Analyze(plan, slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > 9 }), nil)
	if want := `capped-precision {"precision":0.02,"rounds":9}`; !strings.Contains(strings.Join(warningTexts(run), "\n"), want) {
		t.Errorf("no warning %q", want)
	}
	if want := 9 * 4; run.Trials.Planned != want {
		t.Errorf("%d trials planned, want %d", run.Trials.Planned, want)
	}
	plan.Precision = 0.5
	if got, err := NeededRounds(plan, trials); err != nil || got != 6 {
		t.Errorf("%d rounds, %v; want the pilot's 6", got, err)
	}
	breakRule(trials, "plain", "errors")
	if _, err := NeededRounds(plan, trials); err == nil || err.Error() != "no treatment has two valid pairs with the baseline on a headline metric in the pilot of 6 rounds" {
		t.Errorf("error %v", err)
	}
}

// An experiment of one arm measures noise: the number of rounds is for the control.
func TestNeededRoundsOfTheControl(t *testing.T) {
	plan := testPlan(6, timeOnly)
	plan.Precision, plan.MaxRounds = 0.001, 500
	trials := testTrials(plan, 6, scripted(map[string][]float64{"control": around(0, 1, 5)}))
	d := around(0, 1, 5)
	want, _, err := stats.PrecisionRounds(d[:6], math.Log(1.001), 0.95, 0.9, 500)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := NeededRounds(plan, trials); err != nil || got != want || got <= 6 {
		t.Errorf("%d rounds, %v; want %d", got, err, want)
	}
}

// After a pilot the headline interval is the hull of both intervals and claims only what both
// claim; the t interval beside it is Stein's.
func TestStein(t *testing.T) {
	plan := testPlan(6, timeOnly, "layer")
	plan.Precision, plan.MaxRounds = 0.01, 100
	trials := testTrials(plan, 12, scripted(map[string][]float64{"layer": around(0.07, 2, 0), "control": around(0, 1, 5)}))
	c := Analyze(plan, trials, nil).Comparisons[0]
	d := around(0.07, 2, 0)
	apart := make([]float64, 12)
	for i, control := range around(0, 1, 5)[:12] {
		apart[i] = control / 2
		d[i] -= apart[i]
	}
	rank, err := stats.AlignedRank(stats.AlignedRounds{Contrasts: d[:12], OthersDelta: apart}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	stein, err := stats.SteinInterval(contrast.Deviation(d[:6]), 6, d, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	want := Interval{math.Expm1(rank.Point), math.Expm1(min(rank.Lo, stein.Lo)), math.Expm1(max(rank.Hi, stein.Hi))}
	const close = 1e-5 // bounds by aligned ranks are found by a search
	near := func(a, b Interval) bool {
		return math.Abs(a.Point-b.Point) < close && math.Abs(a.Lo-b.Lo) < close && math.Abs(a.Hi-b.Hi) < close
	}
	if c.Method != contrast.MethodAlignedBoth || !near(c.Overhead, want) {
		t.Errorf("%s %v, want %s %v", c.Method, c.Overhead, contrast.MethodAlignedBoth, want)
	}
	if beside := (Interval{math.Expm1(stein.Point), math.Expm1(stein.Lo), math.Expm1(stein.Hi)}); !near(c.T, beside) {
		t.Errorf("beside it %v, want Stein's %v", c.T, beside)
	}
	if want := max(rank.P, stein.P); math.Abs(c.P-want) > 1e-9 {
		t.Errorf("p %v, want %v", c.P, want)
	}
	plan.Rounds = 3
	if c := Analyze(plan, trials[:9], nil).Comparisons[0]; c.Method != contrast.MethodStein || c.Rounds != 3 {
		t.Errorf("three rounds: %s over %d, want %s", c.Method, c.Rounds, contrast.MethodStein)
	}
}

// If rounds share set-ups, set-ups are counted, and converted to rounds in results.
func TestRoundsOfSetUps(t *testing.T) {
	plan := testPlan(12, timeOnly, "layer")
	plan.Precision, plan.MaxRounds = 0.001, 5000
	wide := around(0, 6, 0)
	trials := testTrials(plan, 12, scripted(map[string][]float64{"layer": wide, "control": around(0, 1, 5)}))
	for i := range trials {
		trials[i].SetUp = (trials[i].Round + 2) / 3
	}
	var means []float64
	control := around(0, 1, 5)
	for i := 0; i < 12; i += 3 {
		sum := 0.0
		for k := i; k < i+3; k++ {
			sum += wide[k] - control[k]/2
		}
		means = append(means, sum/3)
	}
	want, _, err := stats.PrecisionRounds(means, math.Log1p(0.001), 0.95, 0.9, 5000/3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := NeededRounds(plan, trials); err != nil || got != 3*want {
		t.Errorf("%d rounds, %v; want 3 × %d", got, err, want)
	}
	short := slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > 11 })
	plan.Rounds = 11
	want, _, err = stats.PrecisionRounds(means[:3], math.Log1p(0.001), 0.95, 0.9, 5000/3)
	if got, err2 := NeededRounds(plan, short); err != nil || err2 != nil || got != 3*want {
		t.Errorf("%d rounds, %v; want 3 × %d, of the set-ups that the pilot has completed", got, err2, want)
	}
	plan.Rounds = 12
	plan.Precision, plan.Equivalence = 0, 0.02
	again := testTrials(plan, 24, noisy(3, 0.05, nil))
	plan.Rounds = 24
	for i := range again {
		again[i].SetUp = (again[i].Round + 2) / 3
	}
	c := Analyze(plan, again, nil).Comparisons[0]
	if resolves(c.Verdict) || c.Needed%3 != 0 || c.Needed < 27 {
		t.Errorf("%s, %d rounds needed; want a multiple of 3", c.Verdict, c.Needed)
	}
}

// Effects of position in later rounds do not change the number of rounds that the pilot determined.
func TestNeededRoundsAskedAgain(t *testing.T) {
	plan := testPlan(8, timeOnly, "layer")
	plan.Precision, plan.MaxRounds = 0.005, 500
	trials := testTrials(plan, 60, noisy(2, 0.01, nil))
	pilot := slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > 8 })
	first, err := NeededRounds(plan, pilot)
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		if trials[i].Round > 8 && trials[i].Position == 1 {
			trials[i].Values["time"] *= 1.2
		}
	}
	if tabulate(plan, trials, validOnly).orderEffects(0, plan.Cells[0].Metrics[0]) == nil {
		t.Fatal("no effect of places is seen: the test shows nothing")
	}
	if again, err := NeededRounds(plan, trials); err != nil || again != first || first <= 8 {
		t.Errorf("%d rounds, %v; %d at first", again, err, first)
	}
}
