package experiment_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment"
)

// FuzzLoad checks that no file makes Load panic, that problems have positions inside the file, and that an
// accepted file can be expanded and written.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(swept)
	f.Add(least + "design: {precision: 1%, pilot: 6}\nlimits: {errors: none}\nbudget: {tcp-bandwidth: 5%}\n")
	f.Fuzz(func(t *testing.T, text string) {
		x, err := experiment.Load("f.yaml", []byte(text), kinds())
		if err == nil {
			accepted(t, x)
			return
		}
		var problems *experiment.Problems
		if !errors.As(err, &problems) || len(*problems) == 0 {
			t.Fatalf("the error is %v", err)
		}
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		for _, p := range *problems {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Column > len([]rune(p.Source))+1 || p.Message == "" {
				t.Errorf("%+v is not a place in %q", p, text)
			}
		}
		_ = err.Error()
	})
}

// accepted checks that an experiment expands to a plan with unique names.
func accepted(t *testing.T, x *experiment.Experiment) {
	e, err := experiment.Expand(x, "test")
	if err != nil {
		t.Fatalf("Load accepts what Expand refuses: %v", err)
	}
	if _, err := json.Marshal(e.Plan); err != nil {
		t.Fatalf("the plan cannot be written: %v", err)
	}
	if len(e.Plan.Arms) < 2 || e.Plan.Arms[0].Role != experiment.Baseline || e.Plan.Arms[1].Role != experiment.Control {
		t.Errorf("arms are %v", e.Plan.Arms)
	}
	names := map[string]bool{}
	for _, a := range e.Plan.Arms {
		names["arm "+a.Name] = true
	}
	for _, c := range e.Plan.Cells {
		names["cell "+c.ID] = true
	}
	if len(names) != len(e.Plan.Arms)+len(e.Plan.Cells) {
		t.Errorf("names are not unique: %v", names)
	}
}

// TestHostileSizes loads files of the largest size and nesting that the limits admit, and checks that Load ends
// and reports problems.
func TestHostileSizes(t *testing.T) {
	for _, unit := range []string{
		"[", "{", "- ", "? ", "&a ", "*a ", "!a ", "{a: ", "a: ", "a:\n ", "\"", "'", "|\n", "# x\n", "\t", "<<: ", "[a, ", "---\n",
		"- - a\n", "{}, ", "&a [", "a: &a\n", "arms: [name: plain]\n", "- |\n x\n", "\\", "%a\n", "a,", ": ",
	} {
		text := strings.Repeat(unit, (18<<10)/len(unit))
		if _, err := experiment.Load("hostile.yaml", []byte(text), kinds()); err == nil {
			t.Errorf("%q repeated is accepted", unit)
		}
	}
}
