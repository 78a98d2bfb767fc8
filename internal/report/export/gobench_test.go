package export

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"tare/internal/test/golden"
)

// TestGoBench reads the results with the package that benchstat uses.
func TestGoBench(t *testing.T) {
	r := fixture()
	text := written(t, "gobench", r)
	golden.Check(t, "testdata/trials.bench", text)
	var parser benchproc.ProjectionParser
	arm, err := parser.Parse("/arm", nil)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]int{}
	in := benchfmt.NewReader(strings.NewReader(text), "fixture")
	for in.Scan() {
		switch record := in.Result().(type) {
		case *benchfmt.Result:
			results[arm.Project(record).String()]++
			if len(record.Values) == 0 || record.Iters != 1 {
				t.Errorf("%s has %d iterations and %d values", record.Name, record.Iters, len(record.Values))
			}
		case *benchfmt.SyntaxError:
			t.Error(record)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/arm:plain", "/arm:control", `/arm:rules%20"8"%2Fx-2`} {
		if results[name] != 16 {
			t.Errorf("%d results of %s, want 16; there are %v", results[name], name, results)
		}
	}
	for _, unit := range []string{"tcp-bandwidth-bit/s", "rtt-sec", "drops"} {
		if in.Units().GetBetter(unit) == 0 {
			t.Errorf("which direction of %s is better is not told", unit)
		}
	}
}

// TestGoBenchCells checks that different cells are different benchmarks to
// benchstat, whatever their first letters are.
func TestGoBenchCells(t *testing.T) {
	for want, ids := range map[string][]string{
		"Read %72ead Write":    {"Read", "read", "write"},
		"%72ead Read":          {"read", "Read"},
		"Read.4k READ.4k":      {"read.4k", "READ.4k"},
		"%73eq %C5%BFeq":       {"seq", "ſeq"}, // a long s, whose capital is S
		"%C3%9Fhift 4k Äpfel":  {"ßhift", "4k", "äpfel"},
		"%2572ead %72ead Read": {"%72ead", "read", "Read"},
	} {
		r := fixture()
		cell := r.Record.Plan.Cells[1]
		r.Record.Plan.Cells, r.Record.Trials = nil, nil
		for _, id := range ids {
			cell.ID = id
			r.Record.Plan.Cells = append(r.Record.Plan.Cells, cell)
			add(r.Record, time.Time{}, 1, 1, 0, id, "plain", map[string]float64{"drops": 1})
		}
		var got []string
		in := benchfmt.NewReader(strings.NewReader(written(t, "gobench", r)), "fixture")
		for in.Scan() {
			if result, ok := in.Result().(*benchfmt.Result); ok {
				got = append(got, string(result.Name.Base()))
			}
		}
		if names := strings.Join(got, " "); names != want {
			t.Errorf("cells %q are the benchmarks %s, want %s", ids, names, want)
		}
	}
}

// TestBenchstat has benchstat compare the arms: the baseline first, and the
// difference that the fixture has.
func TestBenchstat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.txt")
	if err := os.WriteFile(file, []byte(written(t, "gobench", fixture())), 0o644); err != nil {
		t.Fatal(err)
	}
	got := output(t, exec.Command("go", "tool", "benchstat", "-col", "/arm", file), "")
	for _, want := range []string{
		`plain +│ +control +│ +rules%20"8"%2Fx-2`,
		`tcp-bandwidth-bit/s │ tcp-bandwidth-bit/s +vs base`,
		`Network.tcp/mtu=1500/workload=network +999.9M ± 0% .* -6.\d+% \(p=0.000 n=8\)`,
		`rtt-sec`,
		`-drops/workload=command`,
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("benchstat does not say %s:\n%s", want, got)
		}
	}
}
