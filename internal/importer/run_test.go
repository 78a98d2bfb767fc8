package importer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/quantity"
	"tare/internal/importer"
	"tare/internal/importer/longcsv"
	"tare/internal/importer/vaultbench"
	"tare/internal/importer/vaultbench/vaultbenchtest"
	"tare/internal/run/journal"
)

// lines is a format for tests: a file of lines "CELL METRIC VALUE". A line "broken" marks a cell as invalid,
// "round N" sets the round of the following trials, and "beside" makes a file without results. Any other line
// is an error.
var lines = importer.Format{Name: "lines", Doc: "lines", Extensions: []string{".txt"}, Read: func(f importer.File) ([]importer.Trial, error) {
	text, err := importer.ReadAll(f)
	if err != nil {
		return nil, err
	}
	var trials []importer.Trial
	round := 0
	for line := range strings.Lines(string(text)) {
		var t importer.Trial
		var v importer.Value
		if n, _ := fmt.Sscanf(line, "round %d", &round); n == 1 {
			continue
		}
		if line == "beside\n" {
			return nil, fmt.Errorf("%w: it has no numbers", importer.ErrNoResult)
		}
		n, _ := fmt.Sscan(line, &t.Cell, &v.Metric.Name, &v.Value)
		if n < 2 {
			return nil, fmt.Errorf("cannot read %q", line)
		}
		v.Metric.Unit, _, _ = strings.Cut(v.Metric.Name, "-")
		v.Metric.Better, v.Metric.Scale = "lower", "ratio"
		v.Metric.Headline = strings.HasSuffix(v.Metric.Name, "-mean")
		t.Kind, t.Round = "test", round
		t.Facts = map[string]string{"tool": "lines"}
		if v.Metric.Name == "broken" {
			t.Broken = "the tool says so"
		} else {
			t.Values = []importer.Value{v}
			t.Series = []importer.Series{{Name: "over time", Unit: "s", Seconds: []float64{1}, Values: []float64{v.Value}}}
		}
		trials = append(trials, t)
	}
	return trials, nil
}}

// imported imports files and returns the run.
func imported(t *testing.T, o importer.Options) *journal.Run {
	t.Helper()
	to := filepath.Join(t.TempDir(), "run")
	if _, err := importer.Run(t.Context(), to, o); err != nil {
		t.Fatal(err)
	}
	run, err := journal.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// write writes the files into a new directory.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// manyCells returns a file with one metric in each of n cells.
func manyCells(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "cell-%d s-mean 1\n", i)
	}
	return text.String()
}

// trialsOf returns the printed form of the trials of n cells.
func trialsOf(format string, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, "\n")
}

// each makes the format pass each trial of a file to the function change.
func each(o *importer.Options, change func(f importer.File, t *importer.Trial)) {
	read := o.Format.Read
	o.Format.Read = func(f importer.File) ([]importer.Trial, error) {
		trials, err := read(f)
		for i := range trials {
			change(f, &trials[i])
		}
		return trials, err
	}
}

// timed makes the format set the start of its trials.
func timed(o *importer.Options) {
	each(o, func(_ importer.File, t *importer.Trial) { t.Start = time.Unix(1_700_000_000, 0) })
}

// importing is a test case: files in a directory, the options of the import, and the expected result.
type importing struct {
	files   map[string]string
	arms    []string // NAME=PATH below the directory, or PATH
	options func(*importer.Options)
	trials  string // one trial a line: round arm cell values rules
	notes   []string
	err     string
}

func (i importing) run(t *testing.T) {
	t.Helper()
	dir := write(t, i.files)
	o := importer.Options{Format: lines, Name: "test", Confidence: 0.95, Equivalence: 0.02, Power: 0.8}
	o.Limits.Errors = new(quantity.Percent)
	for _, arm := range i.arms {
		name, from, ok := strings.Cut(arm, "=")
		if !ok {
			name, from = "", arm
		}
		o.Sources = append(o.Sources, importer.Source{Arm: name, From: []string{filepath.Join(dir, from)}})
	}
	if i.options != nil {
		i.options(&o)
	}
	to := filepath.Join(t.TempDir(), "run")
	result, err := importer.Run(context.Background(), to, o)
	if err != nil {
		checkError(t, errors.New(strings.ReplaceAll(err.Error(), dir+"/", "")), cmpOr(i.err, "no error"))
		left, _ := os.ReadDir(filepath.Dir(to))
		if len(left) != 0 {
			t.Errorf("the failed import left %v", left)
		}
		return
	}
	checkError(t, nil, i.err)
	run, err := journal.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(strings.ReplaceAll(i.trials, "\t", "")), print(run)); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	var notes []string
	for _, n := range result.Remarks {
		notes = append(notes, strings.ReplaceAll(n, dir+"/", ""))
	}
	if diff := cmp.Diff(i.notes, notes); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
	if !run.Finished || len(run.Trials) != result.Trials {
		t.Errorf("finished: %v, %d trials of %d", run.Finished, len(run.Trials), result.Trials)
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// print returns the trials of a run, one a line.
func print(run *journal.Run) string {
	var list []string
	for _, t := range run.Trials {
		line := fmt.Sprint(t.Round, " ", t.Arm, " ", t.Cell)
		var values []string
		for name, v := range t.Values {
			values = append(values, fmt.Sprintf(" %s=%v", name, v))
		}
		slices.Sort(values)
		line += strings.Join(values, "")
		for _, v := range t.Invalid {
			line += " " + v.Rule + "!"
		}
		list = append(list, line)
	}
	return strings.Join(list, "\n")
}

func pairBy(how string) func(*importer.Options) {
	return func(o *importer.Options) {
		var err error
		if o.PairBy, err = importer.ParsePairing(how); err != nil {
			panic(err)
		}
	}
}

func TestRun(t *testing.T) {
	two := map[string]string{
		"a/1.txt": "x s-mean 1\n", "a/2.txt": "x s-mean 2\n", "a/10.txt": "x s-mean 10\n",
		"b/2.txt": "x s-mean 3\n", "b/10.txt": "x s-mean 11\n", "b/11.txt": "x s-mean 12\n",
	}
	for name, i := range map[string]importing{
		"independent samples": {files: two, arms: []string{"a=a", "b=b"}, trials: `
			1 a x s-mean=1
			2 a x s-mean=2
			3 a x s-mean=10
			1 b x s-mean=3
			2 b x s-mean=11
			3 b x s-mean=12`},
		"by name": {files: two, arms: []string{"a=a", "b=b"}, options: pairBy("name"), trials: `
			1 a x s-mean=1
			2 a x s-mean=2
			3 a x s-mean=10
			2 b x s-mean=3
			3 b x s-mean=11
			4 b x s-mean=12`,
			notes: []string{"1 of the 3 rounds of b have no partner in a: 11.txt", "1 of the 3 rounds of a have no partner in b: 1.txt"}},
		"by index": {files: two, arms: []string{"a=a", "b=b"}, options: pairBy("index"), trials: `
			1 a x s-mean=1
			2 a x s-mean=2
			3 a x s-mean=10
			1 b x s-mean=3
			2 b x s-mean=11
			3 b x s-mean=12`},
		"by index, with a file less": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "x s-mean 2\n", "b/2.txt": "x s-mean 3\n"},
			arms:  []string{"a=a", "b=b"}, options: pairBy("index"),
			err: "cannot pair by index: arm a has 2 files and arm b has 1"},
		"trials one after the other, by round": {files: two, arms: []string{"a=a", "b=b"},
			options: func(o *importer.Options) { o.Format.Serial = true; pairBy("round")(o) },
			err:     "cannot pair by round: lines makes its trials one after the other, and those of the same number have nothing in common"},
		"trials one after the other, by index": {
			files:   map[string]string{"a/1.txt": "x s-mean 1\nx s-mean 2\n", "b/1.txt": "x s-mean 3\nx s-mean 4\n"},
			arms:    []string{"a=a", "b=b"},
			options: func(o *importer.Options) { o.Format.Serial = true; pairBy("index")(o) },
			trials:  "1 a x s-mean=1.5\n1 b x s-mean=3.5",
			notes:   []string{"files hold up to 2 readings of a cell that lines made one after the other: paired, a file is one trial with their median"}},
		"by expression": {
			files: map[string]string{"a/r1-p.txt": "x s-mean 1\n", "a/r2-q.txt": "x s-mean 2\n", "b/zz-r2.txt": "x s-mean 3\n"},
			arms:  []string{"a=a", "b=b"}, options: pairBy("r([0-9]+)"),
			trials: "1 a x s-mean=1\n2 a x s-mean=2\n2 b x s-mean=3",
			notes:  []string{"1 of the 2 rounds of a have no partner in b: 1"}},
		"expression that does not fit": {files: two, arms: []string{"a=a", "b=b"}, options: pairBy("r([0-9]+)"),
			err: "a/1.txt does not match --pair-by r([0-9]+)"},
		"expression that fits two": {files: two, arms: []string{"a=a", "b=b"}, options: pairBy("(txt)"),
			err: "a/1.txt and a/2.txt of arm a have the same match, txt"},
		"same name in two directories": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "c/1.txt": "x s-mean 2\n", "b/1.txt": "x s-mean 3\n"},
			arms:  []string{"a=a", "a=c", "b=b"}, options: pairBy("name"),
			err: "a/1.txt and c/1.txt of arm a have the same name, 1.txt"},
		"by round": {
			files: map[string]string{"a.txt": "round 7\nx s-mean 1\nround 3\nx s-mean 2\n", "b.txt": "round 3\nx s-mean 3\n"},
			arms:  []string{"a=a.txt", "b=b.txt"}, options: pairBy("round"),
			trials: "7 a x s-mean=1\n3 a x s-mean=2\n3 b x s-mean=3",
			notes:  []string{"1 of the 2 rounds of a have no partner in b: 7"}},
		"round twice": {
			files: map[string]string{"a/1.txt": "round 7\nx s-mean 1\n", "a/2.txt": "round 7\nx s-mean 3\n"},
			arms:  []string{"a=a"}, options: pairBy("round"),
			err: "a/1.txt and a/2.txt both hold round 7 of arm a in x"},
		"round not told": {files: two, arms: []string{"a=a", "b=b"}, options: pairBy("round"), err: "no valid trial in 6 files"},
		"nothing pairs": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "b/2.txt": "x s-mean 3\n"},
			arms:  []string{"a=a", "b=b"}, options: pairBy("name"),
			err: "nothing pairs by name: a has no round in common with another arm (a has 1.txt, b has 2.txt)"},
		"several trials of a cell in a file": {
			files: map[string]string{"a/1.txt": "x s-mean 1\nx s-mean 2\ny s-mean 3\n", "a/2.txt": "x s-mean 4\n", "b/1.txt": "x s-mean 5\nx s-mean 6\n"},
			arms:  []string{"a=a", "b=b"}, options: pairBy("name"),
			trials: "1 a x s-mean=1\n2 a x s-mean=2\n1 a y s-mean=3\n3 a x s-mean=4\n1 b x s-mean=5\n2 b x s-mean=6",
			notes:  []string{"1 of the 3 rounds of a have no partner in b: 2.txt"}},
		"files beside": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "beside\n", "a/3.txt": "beside\n"}, arms: []string{"a=a"},
			options: func(o *importer.Options) { o.Strict = true },
			trials:  "1 a x s-mean=1",
			notes:   []string{"2 files passed over that hold no result, but are written beside one; the first is a/2.txt"}},
		"broken files": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "what\n", "a/3.txt": "", "b/1.txt": "y s-mean 1\nx s-mean 2\n", "b/2.txt": "x broken\ny s-mean 0\n"},
			arms:  []string{"a=a", "b=b"}, trials: `
			1 a x s-mean=1
			1 b y s-mean=1
			1 b x s-mean=2
			2 b x import!
			2 b y s-mean=0 import!
			2 a x import!
			3 a x import!`},
		"arm of which nothing can be read": {
			files:  map[string]string{"a/1.txt": "x s-mean 1\n", "b/1.txt": "\x00"},
			arms:   []string{"a=a", "b=b"},
			trials: "1 a x s-mean=1\n1 b x import!"},
		"nothing valid": {files: map[string]string{"a/1.txt": "\x00", "a/2.txt": ""}, arms: []string{"a=a"}, err: "no valid trial in 2 files"},
		"strict": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "what\n"}, arms: []string{"a=a"},
			options: func(o *importer.Options) { o.Strict = true }, err: `a/2.txt: cannot read "what\n"`},
		"metric described otherwise": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "x s-mean 2\n"},
			arms:  []string{"a=a"},
			options: func(o *importer.Options) {
				each(o, func(f importer.File, t *importer.Trial) {
					if strings.HasSuffix(f.Name, "2.txt") {
						t.Values[0].Metric.Unit = "ms"
					}
				})
			},
			trials: "1 a x s-mean=1\n2 a x import!"},
		"more cells than can be compared": {
			files: map[string]string{"a/1.txt": manyCells(3334), "b/1.txt": manyCells(3334), "c/1.txt": manyCells(3333), "d/1.txt": manyCells(1)},
			arms:  []string{"a=a", "b=b", "c=c", "d=d"},
			err:   "more than 10000 comparisons: 3334 metrics in 3334 cells, of 4 arms"},
		"cells with alike names": {
			files:  map[string]string{"a/1.txt": "x/y s-mean 1\nx?y s-mean 2\n../.. s-mean 3\n-rf s-mean 4\n"},
			arms:   []string{"a=a"},
			trials: "1 a x_y s-mean=1\n1 a x_y+2 s-mean=2\n1 a _.. s-mean=3\n1 a rf s-mean=4"},
		"copies in an arm": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "x s-mean 2\n", "a/old/1.txt": "x s-mean 1\n", "a/old/2.txt": "x s-mean 2\n"},
			arms:  []string{"a=a"}, options: timed,
			trials: "1 a x s-mean=1\n2 a x s-mean=2\n3 a x s-mean=1 import!\n4 a x s-mean=2 import!",
			notes:  []string{"2 of the 4 files of a hold the same as another and are no trials of their own; the first is a/old/1.txt"}},
		"copies in an arm that tell no time, with eight values": {
			files:  map[string]string{"a/1.txt": manyCells(8), "a/2.txt": manyCells(8)},
			arms:   []string{"a=a"},
			trials: trialsOf("1 a cell-%d s-mean=1", 8) + "\n" + trialsOf("2 a cell-%d s-mean=1 import!", 8),
			notes:  []string{"1 of the 2 files of a hold the same as another and are no trials of their own; the first is a/2.txt"}},
		"the same by chance, with seven values": {
			files:  map[string]string{"a/1.txt": manyCells(7), "a/2.txt": manyCells(7)},
			arms:   []string{"a=a"},
			trials: trialsOf("1 a cell-%d s-mean=1", 7) + "\n" + trialsOf("2 a cell-%d s-mean=1", 7)},
		"the same by chance in two arms": {
			files:  map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "x s-mean 1\n", "b/1.txt": "x s-mean 1\n", "b/2.txt": "x s-mean 1\n", "b/3.txt": "x s-mean 2\n"},
			arms:   []string{"a=a", "b=b"},
			trials: "1 a x s-mean=1\n2 a x s-mean=1\n1 b x s-mean=1\n2 b x s-mean=1\n3 b x s-mean=2",
			notes:  []string{"2 of the 3 files of b hold the same as files of a; the first is b/1.txt"}},
		"copies in two arms": {
			files:  map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "x s-mean 2\n", "b/1.txt": "x s-mean 1\n", "b/2.txt": "x s-mean 2\n", "c/1.txt": "x s-mean 1\n", "c/2.txt": "x s-mean 3\n"},
			arms:   []string{"a=a", "b=b", "c=c"},
			trials: "1 a x s-mean=1\n2 a x s-mean=2\n1 b x s-mean=1\n2 b x s-mean=2\n1 c x s-mean=1\n2 c x s-mean=3",
			notes: []string{"all 2 files of b hold the same as those of a: a wrong directory?",
				"1 of the 2 files of c hold the same as files of a; the first is c/1.txt", "1 of the 2 files of c hold the same as files of b; the first is c/1.txt"}},
		"given twice":          {files: two, arms: []string{"a=a", "a=a/1.txt"}, err: "a/1.txt is given twice"},
		"given for two arms":   {files: two, arms: []string{"a=a", "b=a/*.txt"}, err: "a/1.txt is given for two arms, a and b"},
		"no such file":         {files: two, arms: []string{"a=c"}, err: "cannot read c: no such file or directory"},
		"nothing matches":      {files: two, arms: []string{"a=c*"}, err: "nothing matches c*"},
		"no such extension":    {files: map[string]string{"a/1.json": "x"}, arms: []string{"a=a"}, err: "no .txt file below "},
		"no such baseline":     {files: two, arms: []string{"a=a", "b=b"}, options: func(o *importer.Options) { o.Baseline = "c" }, err: "no arm c to be the baseline"},
		"control as baseline":  {files: two, arms: []string{"control=a", "b=b"}, options: func(o *importer.Options) { o.Baseline = "control" }, err: "cannot be the baseline"},
		"nothing but control":  {files: two, arms: []string{"control=a"}, err: "the only arm is control"},
		"no such headline":     {files: two, arms: []string{"a=a"}, options: func(o *importer.Options) { o.Headline = []string{"s-meen"} }, err: "no metric s-meen in the files"},
		"one arm with no name": {files: two, arms: []string{"a/1.txt"}, trials: "1 imported x s-mean=1"},
		"pattern in depth": {
			files:  map[string]string{"r/1/a.txt": "x s-mean 1\n", "r/2/p/a.txt": "x s-mean 2\n", "r/2/b.txt": "x s-mean 3\n", "r/.git/a.txt": "x s-mean 4\n"},
			arms:   []string{"a=r/**/a.txt"},
			trials: "1 a x s-mean=1\n2 a x s-mean=2"},
		"directories in depth": {
			files:  map[string]string{"r/1/a/1.txt": "x s-mean 1\n", "r/1/b/1.txt": "x s-mean 9\n", "r/2/p/a/1.txt": "x s-mean 2\n", "r/2/p/a/q/a/2.txt": "x s-mean 3\n"},
			arms:   []string{"a=r/**/a"},
			trials: "1 a x s-mean=1\n2 a x s-mean=2\n3 a x s-mean=3"},
		"directories in depth, with what is in them": {
			files:  map[string]string{"r/1/a1/a1.txt": "x s-mean 1\n", "r/a2.txt": "x s-mean 2\n"},
			arms:   []string{"a=r/**/a*"},
			trials: "1 a x s-mean=1\n2 a x s-mean=2"},
		"everything in depth": {
			files:  map[string]string{"r/1/a/1.txt": "x s-mean 1\n", "r/2.txt": "x s-mean 2\n"},
			arms:   []string{"a=r/**"},
			trials: "1 a x s-mean=1\n2 a x s-mean=2"},
		"directories only, of which there are none": {files: two, arms: []string{"a=a/**/2*"}, err: "no file matches",
			options: func(o *importer.Options) { o.Sources[0].From[0] += "/" }},
		"arm without a result": {
			files: map[string]string{"a/1.txt": "beside\n", "b/1.txt": "x s-mean 1\n"},
			arms:  []string{"a=a", "b=b"}, err: "no result in any file of arm a"},
		"run directories": {
			files:  map[string]string{"a/1.txt": "x s-mean 1\n", "a/runs/r/plan.json": "{}", "a/runs/r/trials.jsonl": "", "a/runs/r/raw/1.txt": "x s-mean 2\n"},
			arms:   []string{"a=a"},
			trials: "1 a x s-mean=1",
			notes:  []string{"a/runs/r is a run directory of Tare and was passed over"}},
		"run directories in depth": {
			files:  map[string]string{"a/1.txt": "x s-mean 1\n", "a/runs/r/plan.json": "{}", "a/runs/r/trials.jsonl": "", "a/runs/r/raw/1.txt": "x s-mean 2\n"},
			arms:   []string{"a=a/**/*.txt"},
			trials: "1 a x s-mean=1"},
		"a run directory itself": {files: map[string]string{"a/plan.json": "{}", "a/trials.jsonl": ""}, arms: []string{"a=a"}, err: "a is a run directory of Tare"},
		"patterns of directories": {
			files:  map[string]string{"r1/a.txt": "x s-mean 1\n", "r2/a.txt": "x s-mean 2\n", "r2/b.json": "-"},
			arms:   []string{"a=r*"},
			trials: "1 a x s-mean=1\n2 a x s-mean=2"},
	} {
		t.Run(name, i.run)
	}
}

func TestPlan(t *testing.T) {
	dir := write(t, map[string]string{
		"a/1.txt": "x s-mean 1\nx2 s-mean 1\n", "a/2.txt": "x ms-p99 2\nx s-mean 1\n",
		"control/1.txt": "x s-mean 1\n", "b/1.txt": "x s-mean 1\n",
	})
	o := importer.Options{Format: lines, Name: "test", Version: "v", Command: "tare import", Baseline: "b", Headline: []string{"x:s-mean"}}
	for _, arm := range []string{"a", "control", "b"} {
		o.Sources = append(o.Sources, importer.Source{Arm: arm, From: []string{filepath.Join(dir, arm)}})
	}
	run := imported(t, o)
	data, err := json.Marshal(struct{ Rounds, Import, Arms, Cells any }{run.Plan.Rounds, run.Plan.Import, run.Plan.Arms, run.Plan.Cells})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(string(data), dir+"/", "")
	want := `{"Rounds":3,` +
		`"Import":{"tool":"lines","arms":[{"name":"b","from":["b"],"files":1,"facts":{"tool":["lines"]}},{"name":"control","from":["control"],"files":1,"facts":{"tool":["lines"]}},{"name":"a","from":["a"],"files":2,"facts":{"tool":["lines"]}}],"command":"tare import"},` +
		`"Arms":[{"name":"b","role":"baseline","layers":[]},{"name":"control","role":"control","layers":[]},{"name":"a","role":"treatment","layers":[]}],` +
		`"Cells":[{"id":"x","workload":"test","kind":"test","config":null,"testbed":null,"metrics":[` +
		`{"name":"s-mean","unit":"s","better":"lower","headline":true,"scale":"ratio","optional":true},{"name":"ms-p99","unit":"ms","better":"lower","headline":false,"scale":"ratio","optional":true}],"expected":0},` +
		`{"id":"x2","workload":"test","kind":"test","config":null,"testbed":null,"metrics":[{"name":"s-mean","unit":"s","better":"lower","headline":false,"scale":"ratio"}],"expected":0}]}`
	if diff := cmp.Diff(strings.Split(want, ","), strings.Split(got, ",")); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestErrors imports the published runs with 2 replicas under different limits on errors. In some of these
// runs, half of the requests failed.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	var runs []vaultbenchtest.Run
	failing := 0
	for _, r := range vaultbenchtest.Study(t) {
		if r.Replicas == "2" && r.Platform == "aks" {
			runs = append(runs, r)
			if r.Success < 1 {
				failing++
			}
		}
	}
	vaultbenchtest.Write(t, dir, runs)
	if failing == 0 || failing == len(runs) {
		t.Fatalf("%d of %d runs failed", failing, len(runs))
	}
	half := quantity.Percent(0.6)
	for _, test := range []struct {
		limit *quantity.Percent
		want  int
	}{{new(quantity.Percent), failing}, {&half, 0}, {nil, 0}} {
		o := importer.Options{Format: vaultbench.Format, Sources: []importer.Source{{Arm: "aks", From: []string{dir}}}}
		o.Limits.Errors = test.limit
		run := imported(t, o)
		invalid := 0
		for _, trial := range run.Trials {
			if trial.Cell != "total" || trial.Valid() {
				continue
			}
			invalid++
			if v := trial.Invalid[0]; v.Rule != "errors" || !strings.HasSuffix(v.Detail, "%, over the limit of 0%") || trial.Values["latency-mean"] == 0 {
				t.Errorf("limit %v: invalid by %v, with the values %v", test.limit, v, trial.Values)
			}
		}
		if invalid != test.want {
			t.Errorf("limit %v: %d invalid trials, want %d", test.limit, invalid, test.want)
		}
	}
}

// TestSameStudyBothWays imports the same numbers as files and as a long CSV, and checks that both runs hold the
// same values.
func TestSameStudyBothWays(t *testing.T) {
	dir := t.TempDir()
	var runs []vaultbenchtest.Run
	table := strings.Builder{}
	table.WriteString("arm,round,cell,metric,unit,better,value\n")
	n := map[string]int{}
	for _, r := range vaultbenchtest.Study(t) {
		if r.Replicas == "5" {
			runs = append(runs, r)
			n[r.Platform]++
			fmt.Fprintf(&table, "%s,%d,total,latency-mean,s,lower,%v\n", r.Platform, n[r.Platform], float64(r.Latencies.Mean)/1e9)
		}
	}
	vaultbenchtest.Write(t, dir, runs)
	files := importer.Options{Format: vaultbench.Format, NoRaw: true}
	for _, arm := range []string{"aks", "c11n", "gke"} {
		files.Sources = append(files.Sources, importer.Source{Arm: arm, From: []string{filepath.Join(dir, "5replicas", arm)}})
	}
	csv := importer.Options{Format: longcsv.Format, Sources: []importer.Source{{From: []string{"-"}}}, Stdin: strings.NewReader(table.String())}
	var got []string
	for _, o := range []importer.Options{files, csv} {
		run := imported(t, o)
		var list []string
		for _, trial := range run.Trials {
			if trial.Cell == "total" {
				list = append(list, fmt.Sprint(trial.Round, trial.Arm, trial.Values["latency-mean"], len(trial.Invalid)))
			}
		}
		got = append(got, strings.Join(list, "\n"))
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("files and table differ:\n%s", diff)
	}
}
