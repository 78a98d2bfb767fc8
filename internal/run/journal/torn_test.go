package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTornLine cuts the last line of each log at every byte and resumes the run: earlier lines must be there, and
// writing must continue.
func TestTornLine(t *testing.T) {
	for _, log := range []string{TrialsFile, NotesFile} {
		j := create(t)
		must(t, j.Append(&Trial{Round: 1, Cell: "x", Arm: "plain"}))
		must(t, j.Note("the last note")) // later notes would count the trial whose line is torn
		must(t, j.Append(&Trial{Round: 2, Cell: "x", Arm: "plain"}))
		want := reopen(t, j.Dir())
		j.Close()
		data, err := os.ReadFile(filepath.Join(j.Dir(), log))
		if err != nil {
			t.Fatal(err)
		}
		start := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
		for cut := start; cut < len(data); cut++ {
			tear(t, want, log, data, start, cut)
		}
	}
}

// tear resumes a copy of the run. The copy's log is cut at a byte of the last line.
func tear(t *testing.T, whole *Run, log string, data []byte, start, cut int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	must(t, os.CopyFS(dir, os.DirFS(whole.Dir)))
	must(t, os.WriteFile(filepath.Join(dir, log), data[:cut], 0o644))
	trials, notes := whole.Trials, whole.Notes
	kept := cut == len(data)-1 // only the newline is missing: the line is whole
	if !kept && log == TrialsFile {
		trials = trials[:len(trials)-1]
	}
	if !kept && log == NotesFile {
		notes = notes[:len(notes)-1]
	}
	r := reopen(t, dir)
	if d := cmp.Diff(trials, r.Trials) + cmp.Diff(notes, r.Notes); d != "" {
		t.Fatalf("%s cut at %d, read (-want +got):\n%s", log, cut, d)
	}
	j, err := Resume(dir)
	if err != nil {
		t.Fatalf("%s cut at %d: %v", log, cut, err)
	}
	defer j.Close()
	said := ""
	if last := j.run.Notes[len(j.run.Notes)-1]; last.Kind == NoteRemark {
		said = last.Text
	}
	want := fmt.Sprintf("dropped a torn last line of %s (%d bytes)", log, cut-start)
	if torn := !kept && cut > start; torn != strings.HasPrefix(said, want) {
		t.Fatalf("%s cut at %d: the note is %q", log, cut, said)
	}
	last := record(t, j, 9)
	if d := cmp.Diff(append(trials[:len(trials):len(trials)], *last), reopen(t, dir).Trials); d != "" {
		t.Fatalf("%s cut at %d, after going on (-want +got):\n%s", log, cut, d)
	}
}

// TestHole tests a possible result of a crash of the machine: a line of full length, of which a part is zeros.
func TestHole(t *testing.T) {
	j := create(t)
	for n := range 2 {
		record(t, j, n+1)
	}
	j.Close()
	path := filepath.Join(j.Dir(), TrialsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[len(data)-100 : len(data)-50])
	must(t, os.WriteFile(path, data, 0o644))
	j, err = Resume(j.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if n := len(j.Trials()); n != 1 {
		t.Errorf("%d trials, want 1", n)
	}
	record(t, j, 3)
	if n := len(reopen(t, j.Dir()).Trials); n != 2 {
		t.Errorf("%d trials after going on, want 2", n)
	}
}

// FuzzTrials reads arbitrary bytes as trials.jsonl. The whole lines alone must give the same trials, and the reader
// must not fail on them.
func FuzzTrials(f *testing.F) {
	j := create(f)
	record(f, j, 1)
	record(f, j, 2)
	data, err := os.ReadFile(filepath.Join(j.Dir(), TrialsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Add(bytes.Replace(data, []byte("{"), []byte("["), 1))
	f.Add([]byte("{}\n\n{}"))
	f.Add([]byte("\x00\n"))
	f.Add([]byte(`{"schema":"tare.trial/v1","seq":1,"values":{"a":1e999}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		trials, end, err := parseTrials(bytes.NewReader(data), &chain{sealed: true})
		if err != nil {
			return
		}
		if end < 0 || end > int64(len(data)) {
			t.Fatalf("%d bytes of whole lines in %d", end, len(data))
		}
		again, end2, err := parseTrials(bytes.NewReader(data[:end]), &chain{sealed: true})
		if err != nil || end2 != end || !cmp.Equal(trials, again) {
			t.Fatalf("whole lines alone: %v, %d bytes of %d", err, end2, end)
		}
	})
}
