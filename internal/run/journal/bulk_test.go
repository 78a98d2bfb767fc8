package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bulk begins a run that a Bulk writes.
func bulk(t *testing.T, dir string) *Bulk {
	t.Helper()
	b, err := NewBulk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// add adds trials of rounds 1 to n.
func add(t *testing.T, b *Bulk, n int) {
	t.Helper()
	for round := range n {
		if err := b.Add(&Trial{Round: round + 1, Attempt: 1, Cell: "x", Arm: "plain", Values: map[string]float64{"v": 1}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBulk(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "deep", "run")
	b := bulk(t, dir)
	add(t, b, 3)
	raw := b.RawName("1 a/b", "../x?.json")
	if _, err := b.Create(raw + "/../../../x.json"); err == nil {
		t.Error("a file was made out of the run")
	}
	f, err := b.Create(raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	must(t, f.Close())
	if _, err := os.Stat(dir); err == nil {
		t.Error("the run is there before it is finished")
	}
	if runs, err := Find(parent); err != nil || len(runs) != 0 {
		t.Errorf("found %v, %v", runs, err)
	}
	must(t, b.Finish(plan(), []string{"a remark"}))
	must(t, b.Discard())
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Trials) != 3 || r.Trials[2].Seq != 3 || r.Trials[2].Session != 1 || !r.Finished || r.Experiment != nil || r.Plan.Name != plan().Name {
		t.Errorf("read as %+v", r)
	}
	if got := r.Notes[1]; got.Kind != NoteRemark || got.Text != "a remark" || len(r.Sessions) != 1 {
		t.Errorf("notes: %+v", r.Notes)
	}
	if raw != "raw/1_a_b-x_.json" || f.name != raw {
		t.Errorf("raw output as %s and %s", raw, f.name)
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "deep", ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := NewBulk(dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second run in the same directory: %v", err)
	}
}

// TestBulkCutOff cuts trials.jsonl off, between lines and within one.
func TestBulkCutOff(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	b := bulk(t, dir)
	add(t, b, 3)
	must(t, b.Finish(plan(), nil))
	name := filepath.Join(dir, TrialsFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []int{len(text) / 3, len(text) - 2} {
		must(t, os.WriteFile(name, text[:end], 0o644))
		_, err := Open(dir)
		wantError(t, err, "where line 2 of notes.jsonl counts 3: the file was cut off or changed")
	}
}

// TestUnfinished leaves an unfinished run, as a killed process does, beside a run that another process still works
// on.
func TestUnfinished(t *testing.T) {
	parent := t.TempDir()
	killed, working := bulk(t, filepath.Join(parent, "killed")), bulk(t, filepath.Join(parent, "working"))
	add(t, killed, 2)
	if err := killed.close(); err != nil { // the kernel does this for a dead process
		t.Fatal(err)
	}
	// These directories lack their first file: one was made just now, the other some time ago.
	early, stale := filepath.Join(parent, ".early.unfinished-1"), filepath.Join(parent, ".stale.unfinished-2")
	// NewBulk made none of these directories, although their names are similar.
	foreign, full := filepath.Join(parent, ".notes.unfinished-3"), filepath.Join(parent, ".full.unfinished-4")
	for _, dir := range []string{early, filepath.Join(stale, RawDir), foreign, full, filepath.Join(parent, ".mine.unfinished-chapters")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{filepath.Join(foreign, TrialsFile), filepath.Join(full, "thesis.txt")} {
		must(t, os.WriteFile(name, nil, 0o644))
	}
	long := time.Now().Add(-time.Hour)
	for _, dir := range []string{stale, foreign, full} {
		must(t, os.Chtimes(dir, long, long))
	}
	for range 2 { // looking changes nothing
		left, err := Unfinished(parent)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{killed.temporary, stale}; !slices.Equal(left, want) {
			t.Errorf("unfinished: %v, want %v", left, want)
		}
	}
	// The same name can be used again.
	again := bulk(t, filepath.Join(parent, "killed"))
	add(t, again, 1)
	must(t, errors.Join(again.Finish(plan(), nil), working.Discard()))
	runs, err := Find(parent)
	if err != nil || len(runs) != 1 {
		t.Errorf("found %v, %v", runs, err)
	}
}

// TestRemoveUnfinished: files that are not Tare's stay in an unfinished run.
func TestRemoveUnfinished(t *testing.T) {
	t.Parallel()
	unfinished := func(t *testing.T) string {
		b := bulk(t, filepath.Join(t.TempDir(), "run"))
		add(t, b, 2)
		for _, name := range []string{b.RawName("1", "plain", "result.json"), b.RawName("1", "plain", "result.json") + ".series.json", "files.jsonl"} {
			f, err := b.Create(name)
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		must(t, b.close())
		return b.temporary
	}
	t.Run("alone", func(t *testing.T) {
		dir := unfinished(t)
		if kept, err := RemoveUnfinished(dir); err != nil || len(kept) > 0 {
			t.Errorf("kept %q, %v", kept, err)
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", dir, err)
		}
	})
	t.Run("shared", func(t *testing.T) {
		dir, outside := unfinished(t), t.TempDir()
		text := []byte("my thesis")
		for _, name := range []string{"thesis.txt", "raw/thesis.txt", "chapters/1.txt"} {
			must(t, errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), text, 0o644)))
		}
		must(t, os.Symlink(outside, filepath.Join(dir, "raw", "1-elsewhere")))
		kept, err := RemoveUnfinished(dir)
		if want := []string{"raw/1-elsewhere", "raw/thesis.txt", "chapters", "thesis.txt"}; err != nil || !slices.Equal(kept, want) {
			t.Errorf("kept %q, %v; want %q", kept, err, want)
		}
		var left []string
		for _, pattern := range []string{"*", "raw/*", "chapters/*"} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern))
			left = append(left, found...)
		}
		if len(left) != 6 { // three files, two directories and the link
			t.Errorf("left: %q", left)
		}
		if found, err := Unfinished(filepath.Dir(dir)); err != nil || len(found) > 0 {
			t.Errorf("it is found again: %q, %v", found, err)
		}
	})
	t.Run("a link in place of raw", func(t *testing.T) {
		dir, outside := unfinished(t), t.TempDir()
		file := filepath.Join(outside, "1-mine")
		err := errors.Join(os.RemoveAll(filepath.Join(dir, "raw")), os.Symlink(outside, filepath.Join(dir, "raw")), os.WriteFile(file, nil, 0o644))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RemoveUnfinished(dir); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(file); err != nil {
			t.Error(err)
		}
	})
}

// TestBulkSynced: before the run gets its name, all files and the directory of raw output are synced. Afterwards, the
// parent directories that have a new entry are synced.
func TestBulkSynced(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "new", "er", "run")
	b := bulk(t, dir)
	var mu sync.Mutex
	temporary := b.temporary
	before, after := map[string]bool{}, map[string]bool{}
	note := func(path string) error {
		mu.Lock()
		defer mu.Unlock()
		all := before
		if _, err := os.Stat(dir); err == nil {
			all = after
		}
		name, err := filepath.Rel(parent, strings.Replace(path, temporary, dir, 1))
		all[name] = true
		return err
	}
	b.sync, b.syncDir = func(f *os.File) error { return note(f.Name()) }, note
	add(t, b, 3)
	for _, name := range []string{FilesFile, "raw/1-a", "raw/1-a.series.json", "raw/2-b"} {
		f, err := b.Create(name)
		must(t, err)
		must(t, f.Close())
	}
	must(t, b.Remove("raw/2-b"))
	must(t, b.Finish(plan(), nil))
	want := map[string]bool{"new/er/run/raw": true}
	for _, name := range []string{TrialsFile, FilesFile, "raw/1-a", "raw/1-a.series.json"} {
		want["new/er/run/"+name] = true
	}
	if d := cmp.Diff(want, before); d != "" {
		t.Errorf("before the rename (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]bool{".": true, "new": true, "new/er": true}, after); d != "" {
		t.Errorf("after the rename (-want +got):\n%s", d)
	}
	b = bulk(t, filepath.Join(parent, "broken"))
	add(t, b, 1)
	b.sync = func(*os.File) error { return fs.ErrInvalid }
	wantError(t, b.Finish(plan(), nil), "cannot write trials.jsonl of run "+b.dir, "no run was made")
	must(t, b.Discard())
	if _, err := os.Stat(b.dir); err == nil {
		t.Error("a run that could not be synced has its name")
	}
}
