package published

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

var seconds = experiment.Metric{Name: "took", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}

// run makes an imported run. Each arm has its values, of which the first ones may be those of failed trials.
func run(arms []string, values map[string][]float64, failed map[string]int) (*analysis.Run, []journal.Trial) {
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: "made", Testbed: experiment.TestbedImport, Rounds: 8,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Import: &experiment.Import{Tool: "csv"},
		Cells: []experiment.Cell{{ID: "total", Metrics: []experiment.Metric{seconds}}}}
	var trials []journal.Trial
	for i, name := range arms {
		role := experiment.Treatment
		if i == 0 {
			role = experiment.Baseline
		}
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: name, Role: role})
		for k, v := range values[name] {
			t := journal.Trial{Seq: len(trials) + 1, Session: 1, Round: k + 1, Attempt: 1, Position: 1, Cell: "total", Arm: name, Values: map[string]float64{"took": v}}
			if k < failed[name] {
				t.Invalid = []journal.Violation{{Rule: workload.RuleErrors, Detail: "half of them"}}
			}
			trials = append(trials, t)
		}
	}
	return analysis.Analyze(plan, trials, nil), trials
}

func of(t *testing.T, r *analysis.Run, trials []journal.Trial, o Options) *Table {
	t.Helper()
	table, err := Of(r, trials, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(table); err != nil {
		t.Fatal(err)
	}
	return table
}

// lines returns a table's differences, one per line.
func lines(table *Table) (list []string) {
	share := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.4f", *v)
	}
	for _, d := range table.Cells[0].Metrics[0].Differences {
		said := "not judged"
		if d.Verdict != nil {
			said = string(d.Verdict.Verdict)
		}
		list = append(list, fmt.Sprintf("%s-%s %s %s %s", d.B, d.A, share(d.RelativeToA), share(d.RelativeToB), said))
	}
	return list
}

// The numbers can be checked by head: 2, 4, 4, 4, 5, 5, 7, 9 have the mean 5 and
// the population variance 4.
func TestMoments(t *testing.T) {
	r, trials := run([]string{"a", "b"}, map[string][]float64{"a": {2, 4, 4, 4, 5, 5, 7, 9}, "b": {4, 4, 4, 4, 4, 4, 4, 4}}, nil)
	table := of(t, r, trials, Options{})
	want := []Moments{{Arm: "a", N: 8, Mean: 5, Variance: 4}, {Arm: "b", N: 8, Mean: 4}}
	if d := cmp.Diff(want, table.Cells[0].Metrics[0].Arms); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// b is 20 % under a, and a 25 % over b.
	if d := cmp.Diff([]string{"b-a -0.2000 -0.2500 not resolved"}, lines(table)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// around returns n values around a level.
func around(level float64, n int) (list []float64) {
	for i := range n {
		list = append(list, level*(1+0.002*float64((7*i)%11-5)))
	}
	return list
}

// All pairs of a few arms are shown in the plan's order. With a reference, only its pairs are shown.
func TestPairs(t *testing.T) {
	values := map[string][]float64{"a": around(1, 20), "b": around(1.1, 20), "c": around(1.1, 20)}
	r, trials := run([]string{"a", "b", "c"}, values, nil)
	for reference, want := range map[string][]string{
		"":  {"b-a 0.1000 0.0909 costs", "c-a 0.1000 0.0909 costs", "c-b 0.0000 0.0000 equivalent"},
		"a": {"b-a 0.1000 0.0909 costs", "c-a 0.1000 0.0909 costs"},
		"c": {"c-a 0.1000 0.0909 costs", "c-b 0.0000 0.0000 equivalent"},
	} {
		if d := cmp.Diff(want, lines(of(t, r, trials, Options{Reference: reference}))); d != "" {
			t.Errorf("reference %q: (-want +got)\n%s", reference, d)
		}
	}
	_, err := Of(r, trials, Options{Reference: "d"})
	if err == nil || err.Error() != `reference "d" is no arm of this run; it has a, b, c` {
		t.Errorf("an unknown reference: %v", err)
	}
}

// With many arms, only the pairs with the baseline are shown.
func TestManyArms(t *testing.T) {
	names, values := []string{"a", "b", "c", "d", "e"}, map[string][]float64{}
	for _, n := range names {
		values[n] = around(1, 8)
	}
	r, trials := run(names, values, nil)
	table := of(t, r, trials, Options{})
	for _, line := range lines(table) {
		if !strings.Contains(line, "-a ") {
			t.Error(line)
		}
	}
	if n := len(lines(table)); n != 4 {
		t.Errorf("%d pairs", n)
	}
}

// The verdict on an arm against its baseline is the run's own.
func TestSaidIsTheRunsOwn(t *testing.T) {
	r, trials := run([]string{"a", "b"}, map[string][]float64{"a": around(1, 20), "b": around(1.1, 20)}, nil)
	if said := of(t, r, trials, Options{}).Cells[0].Metrics[0].Differences[0].Verdict; said != &r.Comparisons[0] {
		t.Errorf("%+v", said)
	}
}

// Failed trials are left out unless the options include them. They are counted in both tables.
func TestInvalidTrials(t *testing.T) {
	b := around(1.1, 40)
	for i := range 4 {
		b[i] = 0.1 // an error is a fast answer
	}
	r, trials := run([]string{"a", "b"}, map[string][]float64{"a": around(1, 40), "b": b}, map[string]int{"b": 4})
	without, with := of(t, r, trials, Options{}), of(t, r, trials, Options{WithInvalid: true})
	for _, table := range []*Table{without, with} {
		if d := cmp.Diff([]Arm{{"a", 40, 0}, {"b", 40, 4}}, table.Cells[0].Trials); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
	got := func(table *Table) string {
		m := table.Cells[0].Metrics[0].Arms[1]
		return fmt.Sprintf("%d, %d invalid, mean %.3f", m.N, m.Invalid, m.Mean)
	}
	if got(without) != "36, 0 invalid, mean 1.100" || got(with) != "40, 4 invalid, mean 1.000" {
		t.Errorf("%s; with the invalid %s", got(without), got(with))
	}
	// The mean with failed trials hides the difference, which the interval still shows.
	if got := lines(with); got[0] != "b-a 0.0000 0.0000 costs" && got[0] != "b-a -0.0000 -0.0000 costs" {
		t.Errorf("%s", got[0])
	}
}

// An invalid run gives no verdicts in the table. An arm without values has no mean.
func TestInvalidRunAndEmptyArm(t *testing.T) {
	r, trials := run([]string{"a", "b", "c"}, map[string][]float64{"a": around(1, 8), "b": around(1, 8)}, nil)
	r.Valid = false
	table := of(t, r, trials, Options{})
	if got := lines(table)[1]; got != "c-a – – not resolved" {
		t.Error(got)
	}
	if said := table.Cells[0].Metrics[0].Differences[2].Verdict; said.Verdict != analysis.Invalid || !reflect.DeepEqual(said.Reason, analysis.InvalidRuns{}) {
		t.Errorf("%+v", said)
	}
}

// Zero, infinite and huge values: a mean that is not positive has no percentage, and the table is always valid JSON.
func TestOddValues(t *testing.T) {
	r, trials := run([]string{"a", "b"}, map[string][]float64{"a": {0, 0}, "b": {math.MaxFloat64, -math.MaxFloat64, math.NaN(), math.Inf(1)}}, nil)
	table := of(t, r, trials, Options{})
	if got := lines(table)[0]; !strings.HasPrefix(got, "b-a – –") {
		t.Error(got)
	}
	if m := table.Cells[0].Metrics[0].Arms[1]; m.N != 2 {
		t.Errorf("%+v", m)
	}
}

// A percentage of a negative mean would have a misleading sign.
func TestNegativeMeans(t *testing.T) {
	r, trials := run([]string{"a", "b"}, map[string][]float64{"a": {-5, -5.2}, "b": {-3, -3.1}}, nil)
	if got := lines(of(t, r, trials, Options{}))[0]; !strings.HasPrefix(got, "b-a – –") {
		t.Error(got)
	}
}

// In a run of Tare's own, the table leaves out the control. If the control is the reference, its pairs are shown, and
// are not judged again.
func TestControl(t *testing.T) {
	r, trials := run([]string{"a", "control", "b"}, map[string][]float64{"a": around(1, 8), "control": around(1, 8), "b": around(1.1, 8)}, nil)
	r.Plan.Arms[1].Role = experiment.Control
	r.Plan.Import = nil
	r = analysis.Analyze(r.Plan, trials, nil)
	if d := cmp.Diff([]string{"a", "b"}, of(t, r, trials, Options{}).Arms); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	want := []string{"control-a 0.0000 0.0000 not judged", "b-control 0.1000 0.0909 not judged"}
	if d := cmp.Diff(want, lines(of(t, r, trials, Options{Reference: "control"}))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
