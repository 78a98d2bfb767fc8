package journal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

const file = "apiVersion: tare/v1alpha1\nkind: Experiment\nname: dns # as the user wrote it\n"

// plan returns a plan that uses every field. Its parameters of unknown shape have the types that reading gives them,
// so that plans can be compared.
func plan() *experiment.Plan {
	limit, events := quantity.Percent(0.05), 0
	return &experiment.Plan{
		Schema: experiment.PlanSchema, Name: "dns", Description: "what does it cost?", Testbed: "local",
		Seed: math.MaxUint64, Rounds: 6, Precision: 0.02, MaxRounds: 40,
		Confidence: 0.95, Equivalence: 0.071, Power: 0.8, Attempts: 3,
		Limits: experiment.Limits{Errors: new(quantity.Percent), ForeignCPU: &limit, Throttling: &events},
		Budget: experiment.Budget{"latency": {Number: 10, Unit: "%"}},
		Arms: []experiment.PlannedArm{
			{Name: "plain", Role: experiment.Baseline, Layers: []experiment.PlannedLayer{}},
			{Name: "seccomp[rules=8]", Role: experiment.Treatment, Levels: []factor.Level{{Factor: "rules", Value: "8"}},
				Layers: []experiment.PlannedLayer{{Kind: "seccomp", Config: map[string]any{"rules": number("8")}}}},
		},
		Cells: []experiment.Cell{{
			ID: "network.tcp", Workload: "network", Kind: "network",
			Config:   map[string]any{"size": number("9007199254740993"), "share": number("0.1")},
			Testbed:  map[string]any{"link": map[string]any{"rate": "1Gbit", "mtu": number("1500")}},
			Metrics:  []experiment.Metric{{Name: "tcp-bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}},
			Expected: 3*time.Second + 1,
		}},
	}
}

func environment() *machine.Environment {
	return &machine.Environment{
		Schema: machine.EnvironmentSchema, Time: time.Date(2026, 1, 2, 15, 4, 5, 6, time.UTC), TareVersion: "0.1.0", Kernel: "6.8.0",
		CPU: machine.CPU{Model: "Example 9000", Online: 4, Usable: 2, Flags: []string{"aes", "avx2"}}, Memory: 1 << 35,
		Cgroup: machine.Cgroup{Version: 2, CPUs: 1.5}, Load: [3]float64{0.1, 0.2, 0.3},
		Mitigations: map[string]string{"spectre_v1": "Mitigation: everything"}, Tools: []machine.Tool{{Name: "fio", Path: "/usr/bin/fio", Version: "fio-3.36"}},
	}
}

// trial returns the nth trial with every field set.
func trial(n int) *Trial {
	return &Trial{
		Round: n, Attempt: 1, Position: 2, Cell: "network.tcp", Arm: "seccomp[rules=8]",
		Start: time.Date(2026, 1, 2, 15, 4, n, 123456789, time.UTC), Wall: 3*time.Second + time.Duration(n),
		Values:     map[string]float64{"tcp-bandwidth": 1e9 / float64(n+2), "tiny": math.SmallestNonzeroFloat64},
		Invalid:    []Violation{{Rule: workload.RuleForeignCPU, Detail: "31 % where 20 % is allowed\nline two"}},
		Checks:     []layer.Check{{Layer: "seccomp", Name: "mode", Expected: "2", Observed: "2", OK: true}},
		Conditions: machine.Conditions{ForeignCPU: 0.31, CPUPressure: -1, Throttled: 2, Load: 0.5},
		Used:       map[string]testbed.Usage{"client": {User: 1, System: 2, Wall: 3, MaxRSS: 4}},
		Harness:    Harness{CPU: 5, Around: 6},
	}
}

// must ends the test on an unexpected error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create makes a run in a new directory. The test's end closes the run.
func create(t testing.TB) *Journal {
	t.Helper()
	j, err := Create(filepath.Join(t.TempDir(), "runs", "dns"), []byte(file), nil, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// record appends the nth trial with one raw file.
func record(t testing.TB, j *Journal, n int) *Trial {
	t.Helper()
	tr := trial(n)
	raw, err := j.Raw(tr.Round, tr.Attempt, tr.Arm, tr.Cell)
	if err != nil {
		t.Fatal(err)
	}
	w, err := raw.Create("out.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(w, "output %d\n", n); err != nil {
		t.Fatal(err)
	}
	must(t, w.Close())
	tr.Raw = raw.Dir()
	must(t, j.Append(tr))
	return tr
}

func reopen(t testing.TB, dir string) *Run {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	j := create(t)
	var want []Trial
	for n := range 3 {
		want = append(want, *record(t, j, n+1))
	}
	must(t, j.SetRounds(11, "the pilot asks for 11"))
	must(t, j.Note("a remark"))
	must(t, j.Finish())
	r := reopen(t, j.Dir())
	fixed := plan()
	fixed.Fixed = 11
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"experiment", string(r.Experiment), file},
		{"plan", r.Plan, fixed},
		{"plan of the writer", j.run.Plan, fixed},
		{"environment", r.Environment, environment()},
		{"environment of the writer", j.Environment(), environment()},
		{"trials", r.Trials, want},
		{"trials of the writer", j.Trials(), want},
		{"notes of the writer", j.run.Notes, r.Notes},
		{"rounds", r.Rounds, 11},
		{"finished", r.Finished, true},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, d)
		}
	}
	var kinds []string
	for _, n := range r.Notes {
		kinds = append(kinds, fmt.Sprintf("%d %s %s", n.Session, n.Kind, n.Text))
	}
	if d := cmp.Diff([]string{"1 session started", "1 rounds the pilot asks for 11", "1 remark a remark", "1 finished finished"}, kinds); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
	data, err := os.ReadFile(filepath.Join(j.Dir(), want[1].Raw, "out.json"))
	if string(data) != "output 2\n" {
		t.Errorf("raw output is %q, %v", data, err)
	}
	if want[1].Raw != "raw/002-seccomp_rules=8-network.tcp" || want[1].Seq != 2 || want[1].Session != 1 {
		t.Errorf("recorded as %q, number %d, session %d", want[1].Raw, want[1].Seq, want[1].Session)
	}
}

func TestResume(t *testing.T) {
	j := create(t)
	record(t, j, 1)
	must(t, j.SetRounds(9, "why"))
	must(t, j.Close())
	j, err := Resume(j.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if j.Session() != 2 || j.Rounds() != 9 || len(j.Trials()) != 1 {
		t.Errorf("session %d, rounds %d, %d trials", j.Session(), j.Rounds(), len(j.Trials()))
	}
	changed := environment()
	changed.Kernel = "6.9.1"
	must(t, j.AddEnvironment(changed))
	if tr := record(t, j, 2); tr.Seq != 2 || tr.Session != 2 {
		t.Errorf("number %d, session %d", tr.Seq, tr.Session)
	}
	r := reopen(t, j.Dir())
	if last := r.Notes[len(r.Notes)-1].Text; last != "the machine changed: kernel is 6.9.1, was 6.8.0" {
		t.Errorf("last note: %s", last)
	}
	if len(r.Sessions) != 2 || r.Sessions[1].Environment.Kernel != "6.9.1" || r.Environment.Kernel != "6.8.0" {
		t.Errorf("sessions: %+v", r.Sessions)
	}
}

// The first session's environment may be completed later.
func TestEnvironmentCompleted(t *testing.T) {
	j := create(t)
	more := environment()
	more.Kernel = "another"
	more.Clusters = []machine.Cluster{{Context: "east", Version: "v1.34.4"}}
	must(t, j.AddEnvironment(more))
	r := reopen(t, j.Dir())
	if len(r.Environment.Clusters) != 1 || r.Environment.Clusters[0].Context != "east" {
		t.Errorf("clusters: %+v", r.Environment.Clusters)
	}
	if len(r.Notes) != 2 || r.Notes[0].Text != "started" || r.Notes[1].Kind != noteFiles {
		t.Errorf("notes, which should not tell of a difference from itself: %+v", r.Notes)
	}
}

func TestResumeFinished(t *testing.T) {
	j := create(t)
	record(t, j, 1)
	must(t, errors.Join(j.Finish(), j.Finish(), j.Close()))
	j, err := Resume(j.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if !j.Finished() || j.Session() != 1 {
		t.Errorf("finished %v, session %d", j.Finished(), j.Session())
	}
	if err := j.AddEnvironment(environment()); err != nil {
		t.Error(err)
	}
	wantError(t, j.Append(trial(2)), "is finished and takes no more trials")
}

func TestImportedRunHasNoEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	j, err := Create(dir, []byte(file), nil, plan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	if r := reopen(t, dir); r.Environment != nil || r.Finished {
		t.Errorf("%+v", r)
	}
}

// wantError checks that an error contains all of the given texts.
func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v\ndoes not say %q", err, text)
		}
	}
}

// TestCreateOverFinished checks that the error does not propose to resume a finished run.
func TestCreateOverFinished(t *testing.T) {
	j := create(t)
	must(t, j.Finish())
	j.Close()
	if _, err := Create(j.Dir(), nil, nil, plan(), nil); err == nil || !strings.HasSuffix(err.Error(), j.Dir()+" is not empty: choose another directory") {
		t.Errorf("%v", err)
	}
}

func TestRefusals(t *testing.T) {
	j := create(t)
	dir := j.Dir()
	must(t, j.SetRounds(9, "why"))
	nan := trial(1)
	nan.Values["tiny"] = math.NaN()
	strange := trial(1)
	strange.Raw = "../../etc"
	long := trial(1)
	long.Arm = strings.Repeat("x", maxLine)
	_, again := Create(dir, nil, nil, plan(), nil)
	_, locked := Resume(dir)
	_, missing := Resume(dir + "x")
	_, empty := Open(t.TempDir())
	for _, c := range []struct {
		err   error
		texts []string
	}{
		{again, []string{dir, "is not empty", "tare resume"}},
		{locked, []string{fmt.Sprintf("is being written by process %d", os.Getpid())}},
		{missing, []string{"no run to resume", dir + "x"}},
		{empty, []string{"is not a run directory: it has no plan.json"}},
		{j.SetRounds(10, ""), []string{"fixed at 9 and cannot become 10"}},
		{j.SetRounds(0, ""), []string{"0 is not a number of rounds"}},
		{j.Append(nan), []string{"cannot be recorded", "seccomp[rules=8]", "NaN"}},
		{j.Append(strange), []string{`"../../etc" is not raw output of this session`}},
		{j.Append(long), []string{"too long for trials.jsonl"}},
	} {
		wantError(t, c.err, c.texts...)
	}
	if err := j.SetRounds(9, "again"); err != nil {
		t.Errorf("the same number of rounds again: %v", err)
	}
	var l *LockedError
	if !errors.As(locked, &l) || l.PID != os.Getpid() {
		t.Errorf("%#v", locked)
	}
	record(t, j, 1) // a refused trial does not stop the journal
	if n := len(reopen(t, dir).Trials); n != 1 {
		t.Errorf("%d trials", n)
	}
}

func TestCreateLeavesNothingWhenItFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	p := plan()
	p.Cells[0].Config = math.Inf(1)
	_, err := Create(dir, nil, nil, p, environment())
	wantError(t, err, "plan.json", "unsupported value")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestCreateInEmptyDirectory(t *testing.T) {
	j, err := Create(t.TempDir(), []byte(file), nil, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	must(t, j.Close())
}
