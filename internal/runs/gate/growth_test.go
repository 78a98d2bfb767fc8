package gate

import (
	"errors"
	"math"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/history"
)

// change generates a change of a history: the estimate with a half-width of 2 %.
func change(point float64) history.GrowthEstimate {
	return history.GrowthEstimate{
		Interval: analysis.Interval{Point: point, Lo: point - 0.02, Hi: point + 0.02}, Runs: 9, From: "runs/a", To: "runs/i",
		P: func(limit float64) float64 { return 0.5 * math.Erfc((point-limit)/0.0102/math.Sqrt2) },
	}
}

func TestAgainst(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency, throughput}, "slow")
	run := analysis.Analyze(p, trialsOf(p, 6, exactly(nil)), nil)
	for _, c := range []struct {
		name           string
		recent, anchor float64
		gap            analysis.Reason
		want           Outcome
		one, two       Reason
	}{
		{name: "as before", want: Pass, one: Within, two: Within},
		{name: "a jump", recent: 0.2, anchor: 0.2, want: Fail, one: Exceeds, two: Exceeds},
		{name: "a slow decline", recent: 0.01, anchor: 0.2, want: Fail, one: Within, two: Exceeds},
		{name: "about the limit", recent: 0.05, anchor: 0.01, want: Unresolved, one: Straddles, two: Within},
		{name: "a short history", gap: history.FewRuns{Runs: 2, Fewest: 5}, want: Unresolved, one: NoHistory, two: NoHistory},
	} {
		g := history.Growth{Cell: "network", Arm: "slow", Metric: latency, Of: "overhead", Recent: change(c.recent), Anchor: change(c.anchor), Gap: c.gap}
		others := []history.Growth{
			g,
			{Cell: "network", Arm: "control", Metric: latency, Of: "overhead", Recent: change(9), Anchor: change(9)},
			{Cell: "network", Arm: "slow", Metric: throughput, Of: "overhead", Recent: change(9), Anchor: change(9)},
			{Cell: "network", Arm: "gone", Metric: latency, Of: "overhead", Recent: change(9), Anchor: change(9)},
		}
		limits := LimitsOf(p)
		if err := limits.Add("latency=5%"); err != nil {
			t.Fatal(err)
		}
		r, err := Against(run, nil, others, limits, "history", 0.95, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != c.want || len(r.Cases) != 2 || r.Cases[0].Reason != c.one || r.Cases[1].Reason != c.two {
			t.Errorf("%s: %s, %+v", c.name, r.Outcome, r.Cases)
			continue
		}
		if r.Cases[0].History.Part != PartRecent || r.Cases[1].History.Part != PartAnchor || r.Cases[0].Gap != c.gap {
			t.Errorf("%s: %+v", c.name, r.Cases)
		}
	}
}

// TestAgainstObservational checks that a run of a single imported arm is judged only if the option
// asks for it.
func TestAgainstObservational(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency})
	trials := trialsOf(p, 6, exactly(nil))
	imported(p, trials)
	run := analysis.Analyze(p, trials, nil)
	growths := []history.Growth{{Cell: "network", Arm: "plain", Metric: latency, Of: "level", Recent: change(0), Anchor: change(0)}}
	limits := LimitsOf(p)
	if err := limits.Add("latency=5%"); err != nil {
		t.Fatal(err)
	}
	for allowed, want := range map[bool]Outcome{false: Unresolved, true: Pass} {
		r, err := Against(run, trials, growths, limits, "history", 0.95, Options{Observational: allowed})
		if err != nil || r.Outcome != want || r.Observation == nil {
			t.Errorf("allowed %v: %+v, %v; want %s", allowed, r, err, want)
		}
		if !allowed && r.Cases[0].Reason != NotRandom {
			t.Errorf("%s", r.Cases[0].Reason)
		}
	}
}

func TestAgainstErrors(t *testing.T) {
	p := planOf(6, []experiment.Metric{latency}, "slow")
	run := analysis.Analyze(p, trialsOf(p, 6, exactly(nil)), nil)
	growths := []history.Growth{{Cell: "network", Arm: "slow", Metric: latency, Of: "overhead", Recent: change(0), Anchor: change(0)}}
	if _, err := Against(run, nil, growths, LimitsOf(p), "history", 0.95, Options{}); !errors.Is(err, ErrNoBudget) {
		t.Errorf("without budgets the error is %v", err)
	}
	p.Budget = experiment.Budget{"latency": limit("1ms")}
	_, err := Against(run, nil, growths, LimitsOf(p), "history", 0.95, Options{})
	var known *LimitError
	if !errors.As(err, &known) || known.Text != "the budget of latency is an amount, 1ms; growth since earlier runs is known only as a share" {
		t.Errorf("of an amount the error is %v", err)
	}
}

// TestHostileGrowth checks that values which are not numbers decide nothing.
func TestHostileGrowth(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]history.GrowthEstimate{
		"nothing": {}, "no p": {Interval: analysis.Interval{}, Runs: 5},
		"nan":   {Interval: analysis.Interval{Point: nan, Lo: nan, Hi: nan}, Runs: 5, P: func(float64) float64 { return 0 }},
		"inf":   {Interval: analysis.Interval{Point: 0, Lo: -1, Hi: math.Inf(1)}, Runs: 5, P: func(float64) float64 { return 0 }},
		"p nan": {Interval: analysis.Interval{Point: 1, Lo: 0.9, Hi: 1.1}, Runs: 5, P: func(float64) float64 { return nan }},
	} {
		k := []Case{growthCase(Case{Limit: experiment.Bound{Value: 0.05, Scale: experiment.Ratio}}, history.Growth{Of: "overhead"}, PartRecent, c)}
		decide(k, 0.025)
		if k[0].Outcome != Unresolved || k[0].P != 1 {
			t.Errorf("%s: %+v", name, k[0])
		}
	}
}
