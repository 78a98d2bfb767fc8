package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/text/safetext"
)

// acts reports whether a text contains characters that must not reach a terminal.
func acts(text []byte) bool {
	var safe bytes.Buffer
	w := safetext.NewWriter(&safe)
	_, _ = w.Write(text) // writing to a buffer cannot fail
	_ = w.Flush()
	return !bytes.Equal(safe.Bytes(), text)
}

// comparable converts all numbers in a decoded document to one type.
func comparable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = comparable(v[k])
		}
	case []any:
		for i := range v {
			v[i] = comparable(v[i])
		}
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	}
	return v
}

// FuzzYAML checks that -o yaml can be read as the same document that -o json prints, for any strings, names and
// numbers, and that it is safe on a terminal.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{"", "a: b", "- x", "#", "null", "~", "0x1f", "1e3", ".5", "2026-01-02", "a\x1b[31m\u202e", "\u034f", " x\n y ", "\n", "|\n", "'\"\\", "? x", "<<", "*a", "&a", "!!str"} {
		f.Add(text, "", 1.5)
	}
	f.Add("plain", `{"a":[1,2.50,{"":[[],{}]}],"big":123456789012345678901234567890,"small":1e-400}`, -1e300)
	f.Fuzz(func(t *testing.T, text, document string, number float64) {
		v := map[string]any{"value": text, "list": []any{text, map[string]any{text: text}, []any{text}}, text: map[string]any{"in": text}}
		if _, err := json.Marshal(number); err == nil { // JSON has no infinite numbers
			v["number"] = number
		}
		var more any
		d := json.NewDecoder(strings.NewReader(document))
		d.UseNumber() // the type of numbers in parameters of a stored plan
		if d.Decode(&more) == nil {
			v["document"] = more
		}
		var asJSON, asYAML bytes.Buffer
		if err := encode(&asJSON, v, "json"); err != nil {
			t.Fatal(err)
		}
		if err := encode(&asYAML, v, "yaml"); err != nil {
			t.Fatalf("%v\n%s", err, asJSON.String())
		}
		if acts(asJSON.Bytes()) || acts(asYAML.Bytes()) {
			t.Errorf("not safe on a terminal: %q", asYAML.String())
		}
		var want, got any
		if err := json.Unmarshal(asJSON.Bytes(), &want); err != nil {
			t.Skip(err) // no reader can represent a number in the document
		}
		if err := yaml.Unmarshal(asYAML.Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, asYAML.String())
		}
		if d := cmp.Diff(comparable(want), comparable(got)); d != "" {
			t.Errorf("-JSON +YAML\n%s\n%s", d, asYAML.String())
		}
	})
}

// hostileFiles are the files of a run that FuzzShow fills.
var hostileFiles = []string{journal.PlanFile, journal.TrialsFile, journal.NotesFile, journal.EnvironmentFile, journal.ExperimentFile, journal.FilesFile}

// Limits of one command on a hostile run. They are far above the needs of a command, and far below what would
// harm a machine.
const (
	longest = 10 * time.Minute
	most    = 2 << 30 // allocated bytes
)

// FuzzShow checks that commands that read a run end with a result or an error for any content of its files,
// within limits of time and memory, and that no control characters reach the terminal.
func FuzzShow(f *testing.F) {
	for _, run := range seedRuns(f) {
		files := make([][]byte, len(hostileFiles))
		for i, name := range hostileFiles {
			files[i], _ = os.ReadFile(filepath.Join(run, name)) // an import lacks some of the files
		}
		bare := slices.Clone(files)
		for i, file := range bare { // in the form of an older Tare without chains, so that changes are not damage at once
			bare[i] = chains.ReplaceAll(file, nil)
		}
		for _, seed := range [][][]byte{files, bare} {
			f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], seed[5])
		}
	}
	f.Fuzz(func(t *testing.T, plan, trials, notes, environment, experiment, imported []byte) {
		dir := t.TempDir()
		for i, content := range [][]byte{plan, trials, notes, environment, experiment, imported} {
			if len(content) == 0 {
				continue // an empty file is left out, so that some runs lack files
			}
			if err := os.WriteFile(filepath.Join(dir, hostileFiles[i]), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{
			{"verify", dir}, {"show", dir, "--all"}, {"show", dir, "-o", "yaml"}, {"show", dir, "-o", "csv"}, {"show", dir, "--as", "published"},
			{"report", dir}, {"report", dir, "-o", "markdown"}, {"report", dir, "-o", "svg"},
		} {
			bounded(t, args)
		}
	})
}

// bounded runs a command within the limits.
func bounded(t *testing.T, args []string) {
	hangs := time.AfterFunc(longest, func() { panic(strings.Join(args, " ") + " hangs") })
	defer hangs.Stop()
	before := allocated()
	var stdout, stderr bytes.Buffer
	code := Main(args, State{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Width: 80})
	if bytes := allocated() - before; bytes > most {
		t.Errorf("%v takes %d bytes of memory", args, bytes)
	}
	if code != ExitDone && code != exitError && code != ExitInvalid && (code != ExitUsage || !strings.Contains(stderr.String(), "is not a run directory")) {
		t.Errorf("%v ends with code %d: %s", args, code, stderr.String())
	}
	if acts(stdout.Bytes()) || acts(stderr.Bytes()) {
		t.Errorf("%v prints what acts on a terminal: %q %q", args, stdout.String(), stderr.String())
	}
}

// allocated returns the number of bytes that this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// chains matches the digests and chains of a record.
var chains = regexp.MustCompile(`,"chain":"[0-9a-f]*"|"head":"[0-9a-f]*",|,"files":\{[^}]*\}`)

// seedRuns makes two runs: one of an experiment with a factor and failures, and one of an import.
func seedRuns(f *testing.F) []string {
	file := []byte(`apiVersion: tare/v1alpha1
kind: Experiment
name: seed
description: What does it cost?
arms:
  - name: plain
  - name: other
    layers: [{env: {set: {A: "1"}}}]
workloads:
  - network: {protocols: [tcp], paths: [pod-to-pod], streams: [1, 2, 4]}
  - command:
      run: [echo, done]
      metrics: [{name: took, unit: ms, better: lower, headline: true, regex: 'took ([0-9.]+)'}]
design: {rounds: 6, seed: 7}
budget: {took: 10%}
`)
	x, err := experiment.Load("experiment.yaml", file, catalog.Kinds())
	if err != nil {
		f.Fatal(err)
	}
	expansion, err := experiment.Expand(x, "test")
	if err != nil {
		f.Fatal(err)
	}
	run := filepath.Join(f.TempDir(), "run")
	start := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	j, err := journal.Create(run, file, nil, &expansion.Plan, &machine.Environment{Time: start, Kernel: "6.8.0", OS: "an OS", CPU: machine.CPU{Model: "Example 9000", Online: 2}})
	if err != nil {
		f.Fatal(err)
	}
	defer j.Close()
	n := 0
	for round := range 6 {
		for at, arm := range expansion.Plan.Arms {
			for _, cell := range expansion.Plan.Cells {
				n++
				trial := &journal.Trial{Round: round + 1, Attempt: 1, Position: at + 1, Cell: cell.ID, Arm: arm.Name,
					Start: start.Add(time.Duration(n) * time.Second), Wall: time.Second, Values: map[string]float64{}}
				for k, m := range cell.Metrics {
					trial.Values[m.Name] = float64(100 + (n+k)*37%11)
				}
				if n%20 == 0 {
					trial.Invalid = []journal.Violation{{Rule: "exit-status", Detail: "it ended with status 3"}}
				}
				if err := j.Append(trial); err != nil {
					f.Fatal(err)
				}
			}
		}
	}
	if err := j.Note("a remark"); err != nil {
		f.Fatal(err)
	}
	if err := j.Finish(); err != nil {
		f.Fatal(err)
	}

	table := filepath.Join(f.TempDir(), "table.csv")
	rows := "arm,cell,round,metric,unit,better,value\n"
	for round := range 8 {
		for i, arm := range []string{"a", "b"} {
			rows += arm + ",qps=" + strconv.Itoa(100*(1+round%2)) + "," + strconv.Itoa(round+1) + ",latency,ms,lower," + strconv.Itoa(10+i+round%3) + "\n"
		}
	}
	if err := os.WriteFile(table, []byte(rows), 0o600); err != nil {
		f.Fatal(err)
	}
	imported := filepath.Join(f.TempDir(), "imported")
	var stderr bytes.Buffer
	if code := Main([]string{"import", "csv", table, "--dir", imported, "--pair-by", "round", "-q"}, State{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &stderr}); code != ExitDone && code != ExitInvalid {
		f.Fatalf("import ends with code %d: %s", code, stderr.String())
	}
	return []string{run, imported}
}
