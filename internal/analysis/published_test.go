package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
)

func quoted(t *testing.T, text string) (list factor.Levels[quantity.Amount]) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		var a quantity.Amount
		if err := a.UnmarshalText([]byte(word)); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// publishedRun analyses a run of 12 rounds in which the arm tunnel costs 10 % of the bandwidth and 20 % of the latency,
// and the arm both twice as much. Noise is small.
func publishedRun(t *testing.T, rows []experiment.PublishedRow, noise float64, change func(*experiment.Plan, []journal.Trial) []journal.Trial) []Published {
	t.Helper()
	p := testPlan(12, []experiment.Metric{
		{Name: "bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		{Name: "latency", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio},
		{Name: "p99", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true}}, "tunnel", "both")
	p.Published = []experiment.PublishedSource{{Source: "A page", Rows: rows}}
	trials := testTrials(p, 12, noisy(5, noise, map[string]float64{"tunnel bandwidth": 0.9, "tunnel latency": 1.2, "both bandwidth": 0.8, "both latency": 1.4}))
	for _, trial := range trials {
		delete(trial.Values, "p99")
	}
	if change != nil {
		trials = change(p, trials)
	}
	run := Analyze(p, trials, nil)
	if len(run.Published) != 1 || len(run.Published[0].Rows) != len(rows) {
		t.Fatalf("%+v", run.Published)
	}
	return run.Published[0].Rows
}

func (p Published) said() string {
	text := string(p.Reading)
	if p.WithinNoise {
		text += ", within noise"
	}
	if p.Reason != nil {
		text += p.Reason.Kind()
	}
	if p.Measured == nil {
		return text + ", nothing measured"
	}
	scale := 100.0
	if p.Against == "" {
		scale = 1
	}
	text += fmt.Sprintf(", %.0f", p.Measured.Point*scale)
	if p.Ratio != nil {
		text += fmt.Sprintf(", ratio %.2f", p.Ratio.Point)
	}
	return text
}

// TestPublished checks what a run says of published numbers.
func TestPublished(t *testing.T) {
	difference := func(arm, against, metric, text string) experiment.PublishedRow {
		return experiment.PublishedRow{Arm: arm, Against: against, Metric: metric, Difference: quoted(t, text)}
	}
	value := func(arm, metric, text string) experiment.PublishedRow {
		return experiment.PublishedRow{Arm: arm, Metric: metric, Value: quoted(t, text)}
	}
	limit := func(r experiment.PublishedRow) experiment.PublishedRow { r.AtMost = true; return r }
	interval := func(r experiment.PublishedRow, text string) experiment.PublishedRow {
		r.Interval = quoted(t, text)
		return r
	}
	variance := func(r experiment.PublishedRow, v float64, n int) experiment.PublishedRow {
		r.Variance, r.Trials = &v, n
		return r
	}
	for _, c := range []struct {
		row  experiment.PublishedRow
		want string
	}{
		{difference("tunnel", "", "bandwidth", "-10%"), "inside, 10"},
		{difference("tunnel", "", "bandwidth@net*", "-58%"), "outside, 10"},
		{difference("tunnel", "", "latency", "+20%"), "inside, 20"},
		{difference("tunnel", "", "latency", "-20%"), "outside, 20"},
		{difference("tunnel", "", "bandwidth", "-0.1%"), "outside, within noise, 10"},
		{difference("tunnel", "plain", "bandwidth", "-15% -8%"), "overlap, 10"},
		{difference("tunnel", "", "bandwidth", "-15% -12%"), "apart, 10"},
		{difference("tunnel", "", "bandwidth", "-0.1% 0.1%"), "apart, within noise, 10"},
		{interval(difference("tunnel", "", "bandwidth", "-9%"), "-11% -7%"), "overlap, 10"},
		{interval(difference("tunnel", "", "bandwidth", "-9%"), "-7% -9.2%"), "apart, 10"},
		{limit(difference("tunnel", "", "bandwidth", "-12%")), "inside, 10"},
		{limit(difference("tunnel", "", "bandwidth", "-10.0%")), "overlap, 10"},
		{limit(difference("tunnel", "", "bandwidth", "-5%")), "outside, 10"},
		{limit(difference("tunnel", "", "latency", "30%")), "inside, 20"},
		{limit(difference("tunnel", "", "latency", "5%")), "outside, 20"},
		{difference("both", "tunnel", "bandwidth", "-11%"), "inside, 11"},
		{difference("plain", "tunnel", "latency", "-16.7%"), "inside, -17"},
		{difference("both", "tunnel", "latency", "50%"), "outside, 17"},
		{value("plain", "latency", "100s"), "inside, 100, ratio 1.00"},
		{value("plain", "latency", "50000ms"), "outside, 100, ratio 2.00"},
		{value("tunnel", "bandwidth", "0.09kbit/s"), "inside, 90, ratio 1.00"},
		{value("plain", "latency", "90s 110s"), "overlap, 100"},
		{limit(value("plain", "latency", "2m")), "inside, 100"},
		{variance(value("plain", "latency", "99s"), 25, 10), "overlap, 100, ratio 1.01"},
		{variance(value("plain", "latency", "99s"), 0.0001, 10), "apart, 100, ratio 1.01"},
		{value("plain", "p99", "90s"), "too-few-values, nothing measured"},
		{difference("tunnel", "", "p99", "9%"), "too-few-values, nothing measured"},
	} {
		if got := publishedRun(t, []experiment.PublishedRow{c.row}, 0.002, nil)[0].said(); got != c.want {
			t.Errorf("%s against %q on %s, published %v: %s; want %s", c.row.Arm, c.row.Against, c.row.Metric, c.row.Numbers(), got, c.want)
		}
	}
}

// TestPublishedMeans checks that a published mean stands beside the mean of the run's trials, and not beside the median.
func TestPublishedMeans(t *testing.T) {
	slow := func(p *experiment.Plan, trials []journal.Trial) []journal.Trial {
		for _, trial := range trials {
			if trial.Arm == "tunnel" && trial.Round == 4 {
				trial.Values["latency"] *= 3
			}
		}
		return trials
	}
	for mean, want := range map[bool]string{false: "outside, 120, ratio 0.86; outside, 20; outside, 20", true: "inside, 140, ratio 1.00; inside, 40; inside, 40"} {
		var got []string
		for _, r := range publishedRun(t, []experiment.PublishedRow{
			{Mean: mean, Arm: "tunnel", Metric: "latency", Value: quoted(t, "140s")},
			{Mean: mean, Arm: "tunnel", Metric: "latency", Difference: quoted(t, "+40%")},
			{Mean: mean, Arm: "tunnel", Against: "plain", Metric: "latency", Difference: quoted(t, "40%")},
		}, 0.002, slow) {
			got = append(got, r.said())
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("mean: %v: %s, want %s", mean, s, want)
		}
	}
}

// TestPublishedWithoutResult checks that there is no reading where the run itself has no result.
func TestPublishedWithoutResult(t *testing.T) {
	rows := []experiment.PublishedRow{{Arm: "tunnel", Metric: "bandwidth", Difference: quoted(t, "-10%")}, {Arm: "tunnel", Metric: "bandwidth", Value: quoted(t, "90bit/s")}}
	for _, c := range []struct {
		name, difference, value string
		change                  func(*experiment.Plan, []journal.Trial) []journal.Trial
	}{
		{"broken arm", "too-few-values, nothing measured", "too-few-values, nothing measured", func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial {
			breakRule(trials, "tunnel", "errors")
			return trials
		}},
		{"invalid run", "invalid-runs, nothing measured", "invalid-runs, nothing measured", func(p *experiment.Plan, trials []journal.Trial) []journal.Trial {
			p.Limits.InvalidTrials = percentOf(0.05)
			breakRule(trials, "both", "steal")
			return trials
		}},
		{"unfinished", "unfinished-runs, 10", "unfinished-runs, 90, ratio 1.00", func(_ *experiment.Plan, trials []journal.Trial) []journal.Trial { return trials[:len(trials)-8] }},
		{"one round", "too-few-values, 10", "too-few-values, 90, ratio 1.00", func(p *experiment.Plan, trials []journal.Trial) []journal.Trial {
			p.Rounds = 1
			return trials[:4]
		}},
	} {
		got := publishedRun(t, rows, 0.002, c.change)
		if d, v := got[0].said(), got[1].said(); d != c.difference || v != c.value {
			t.Errorf("%s: %q and %q; want %q and %q", c.name, d, v, c.difference, c.value)
		}
	}
}

// TestPublishedChangesNothing checks that published numbers change no verdict.
func TestPublishedChangesNothing(t *testing.T) {
	p := testPlan(12, []experiment.Metric{headline("latency", experiment.Lower)}, "tunnel")
	trials := testTrials(p, 12, noisy(5, 0.01, map[string]float64{"tunnel": 1.02}))
	without := texts(Analyze(p, trials, nil))
	p.Published = []experiment.PublishedSource{{Rows: []experiment.PublishedRow{{Arm: "tunnel", Metric: "latency", Difference: quoted(t, "2%")}}}}
	run := Analyze(p, trials, nil)
	if got := texts(run); fmt.Sprint(got) != fmt.Sprint(without) || run.Family != 1 {
		t.Errorf("%v with published numbers, %v without", got, without)
	}
	if m := run.Published[0].Rows[0].Measured; *m != run.Comparisons[0].Overhead || math.IsNaN(m.Lo) {
		t.Errorf("%v is not the overhead of the comparison", m)
	}
}
