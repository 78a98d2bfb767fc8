package journal

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/version"
)

// finished is a complete, closed run of two sessions.
func finished(t *testing.T) string {
	t.Helper()
	j, err := Create(filepath.Join(t.TempDir(), "run"), []byte(file), map[string][]byte{"a/b.yaml": []byte("kind: Thing\n")}, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	record(t, j, 1)
	must(t, j.Close())
	j, err = Resume(j.Dir())
	if err != nil {
		t.Fatal(err)
	}
	record(t, j, 2)
	record(t, j, 3)
	must(t, errors.Join(j.AddEnvironment(environment()), j.Finish(), j.Close()))
	return j.Dir()
}

// regular lists the files of a run except its lock, which has no data of the run.
func regular(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != lockFile {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestVerifyWholeRun(t *testing.T) {
	r, v, err := Verify(finished(t))
	if err != nil || v.Trials != 3 || v.Files != 3 || len(v.Unchecked) != 0 || len(v.Chain) != 64 || !r.Finished {
		t.Errorf("%+v, %v", v, err)
	}
	for _, n := range r.Notes {
		if n.Kind == NoteFinished && (n.Trials != 3 || n.Head == "") {
			t.Errorf("the last note is %+v", n)
		}
	}
}

// TestFlippedBits: Verify finds any changed bit in any file.
func TestFlippedBits(t *testing.T) {
	dir := finished(t)
	files := regular(t, dir)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 600 {
		path := files[n%len(files)]
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := random.IntN(len(content)), random.IntN(8)
		flipped := slices.Clone(content)
		flipped[at] ^= 1 << bit
		write(t, path, flipped)
		if _, v, err := Verify(dir); err == nil {
			t.Errorf("bit %d of byte %d of %s (%q becomes %q): not found, %+v", bit, at, filepath.Base(path), content[at], flipped[at], v)
		}
		write(t, path, content)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(path, content, 0o644))
}

// TestChangedRecord: changes that leave every line readable are found, too.
func TestChangedRecord(t *testing.T) {
	lines := func(text string) []string { return strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") }
	tests := []struct {
		name, file string
		change     func(text string) string
	}{
		{"a value", TrialsFile, func(s string) string { return strings.Replace(s, `"load":0.5`, `"load":0.6`, 1) }},
		{"a margin", PlanFile, func(s string) string { return strings.Replace(s, `"equivalence": "7.1%"`, `"equivalence": "70%"`, 1) }},
		{"the rounds", PlanFile, func(s string) string { return strings.Replace(s, `"rounds": 6`, `"rounds": 3`, 1) }},
		{"the experiment", ExperimentFile, func(s string) string { return s + "# more\n" }},
		{"a line less at the end", TrialsFile, func(s string) string { l := lines(s); return strings.Join(l[:len(l)-1], "") }},
		{"a line less of the notes", NotesFile, func(s string) string { l := lines(s); return strings.Join(slices.Delete(l, 1, 2), "") }},
		{"the chain of one line", TrialsFile, func(s string) string { at := strings.Index(s, chainBegins); return s[:at] + s[at+chainSize-1:] }},
		{"all chains", TrialsFile, bare},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := finished(t)
			edit(t, dir, tt.file, tt.change)
			_, err := Open(dir)
			var damage *DamageError
			if !errors.As(err, &damage) || damage.Dir != dir {
				t.Errorf("got %v, want damage", err)
			}
		})
	}
}

// older turns a run into a run of a Tare that wrote no chains.
func older(t *testing.T, dir string) {
	t.Helper()
	digests := regexp.MustCompile(`"files":\{[^}]*\},|"trials":[0-9]+,|"head":"[0-9a-f]*",`)
	edit(t, dir, TrialsFile, bare)
	edit(t, dir, NotesFile, func(s string) string { return digests.ReplaceAllString(bare(s), "") })
	edit(t, dir, PlanFile, func(s string) string { return strings.Replace(s, experiment.PlanSchema, experiment.PlanSchemaV1, 1) })
}

// edit changes a file of a run.
func edit(t *testing.T, dir, name string, change func(string) string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	changed := change(string(content))
	if changed == string(content) {
		t.Fatalf("nothing of %s was changed", name)
	}
	write(t, filepath.Join(dir, name), []byte(changed))
}

// bare removes the chains from the lines of a log, for a log of an older Tare.
func bare(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		body, _ := unseal([]byte(line))
		lines.Write(append(body, "}\n"...))
	}
	return lines.String()
}

// TestRecordOfAnOlderTare: a record without chains gets none when the run is resumed.
func TestRecordOfAnOlderTare(t *testing.T) {
	j := create(t)
	record(t, j, 1)
	dir := j.Dir()
	must(t, j.Close())
	older(t, dir)
	if _, v, err := Verify(dir); err != nil || v.Chain != "" || v.Trials != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	j, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	record(t, j, 2)
	here := environment()
	here.TareVersion = version.String()
	must(t, errors.Join(j.AddEnvironment(here), j.Finish(), j.Close()))
	if _, v, err := Verify(dir); err != nil || v.Chain != "" || v.Trials != 2 {
		t.Errorf("after it went on: %+v, %v", v, err)
	}
}
