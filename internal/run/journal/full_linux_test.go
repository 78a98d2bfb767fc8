package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of a few pages.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root; TestFileSizeLimit tests the same without")
	}
	dir := t.TempDir()
	err := syscall.Mount("tare-test", dir, "tmpfs", 0, "size=128k")
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("mounting is refused here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill fills the disk and returns the file that takes the space.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return path
}

// TestFullDisk fills the disk during a run, continues the run after making room, and loses nothing.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "run")
	j, err := Create(dir, []byte(file), nil, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { j.Close() }()
	record(t, j, 1)
	filler := fill(t, disk)
	// The last page of the log has room for one or two more trials.
	done := 1
	for err == nil {
		tr := trial(done + 1)
		if err = j.Append(tr); err == nil {
			done++
		}
	}
	wantError(t, err, "cannot write trials.jsonl", "no space left on device",
		"every trial recorded so far is intact; free some disk space, then go on with: tare resume "+dir)
	var w *WriteError
	if !errors.As(err, &w) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%#v", err)
	}
	if len(j.Trials()) != done || done == 1 {
		t.Errorf("%d trials acknowledged, %d kept", done, len(j.Trials()))
	}
	data, err := os.ReadFile(filepath.Join(dir, TrialsFile))
	if err != nil || !bytes.HasSuffix(data, []byte("\n")) || bytes.Count(data, []byte("\n")) != done {
		t.Errorf("%d lines for %d trials, %v", bytes.Count(data, []byte("\n")), done, err)
	}
	wantError(t, j.Append(trial(done+1)), "no space left on device") // this session records nothing more
	must(t, errors.Join(os.Remove(filler), j.Close()))
	if j, err = Resume(dir); err != nil {
		t.Fatal(err)
	}
	if tr := record(t, j, done+1); tr.Seq != done+1 || tr.Session != 2 {
		t.Errorf("number %d, session %d", tr.Seq, tr.Session)
	}
}

// TestFullDiskRawOutput: a trial whose raw output is lost to a full disk is not recorded.
func TestFullDiskRawOutput(t *testing.T) {
	disk := smallDisk(t)
	j, err := Create(filepath.Join(disk, "run"), []byte(file), nil, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	raw, err := j.Raw(1, 1, "plain", "x")
	if err != nil {
		t.Fatal(err)
	}
	w, err := raw.Create("out")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(make([]byte, 1<<20))
	wantError(t, err, "cannot write raw/001-plain-x/out", "no space left", "tare resume")
	tr := trial(1)
	tr.Raw = raw.Dir()
	wantError(t, j.Append(tr), "cannot write raw/001-plain-x/out", "no space left")
	if n := len(reopen(t, j.Dir()).Trials); n != 0 {
		t.Errorf("%d trials on record", n)
	}
}

// TestFullDiskCreate begins a run on a full disk.
func TestFullDiskCreate(t *testing.T) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "runs", "run")
	filler := fill(t, disk)
	_, err := Create(dir, bytes.Repeat([]byte("#"), 1<<16), nil, plan(), environment())
	wantError(t, err, "cannot write the run directory "+dir, "no space left on device: free some disk space and start again")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	os.Remove(filler)
	j, err := Create(dir, []byte(file), nil, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
}

// TestBulkFullDisk fills the disk while a Bulk writes a run: the error names the cause, and nothing stays.
func TestBulkFullDisk(t *testing.T) {
	disk := smallDisk(t)
	b := bulk(t, filepath.Join(disk, "run"))
	filler := fill(t, disk)
	var err error
	for round := 1; err == nil && round < 1_000_000; round++ {
		err = b.Add(&Trial{Round: round, Attempt: 1, Cell: "x", Arm: "plain"})
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fmt.Sprint(err), "no run was made; free some disk space and start again") {
		t.Errorf("error %v", err)
	}
	must(t, b.Discard())
	entries, err := os.ReadDir(disk)
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(filler) {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// BenchmarkAppend records a trial with one raw file of 16 KiB, the size for a network trial.
func BenchmarkAppend(b *testing.B) {
	j := create(b)
	output := make([]byte, 16<<10)
	for n := 1; b.Loop(); n++ {
		raw, err := j.Raw(n, 1, "plain", "x")
		if err != nil {
			b.Fatal(err)
		}
		w, err := raw.Create("out.json")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Write(output); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		tr := trial(n)
		tr.Raw = raw.Dir()
		if err := j.Append(tr); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen reads a run of 1,000 trials.
func BenchmarkOpen(b *testing.B) {
	j := create(b)
	for n := range 1000 {
		if err := j.Append(trial(n + 1)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		reopen(b, j.Dir())
	}
}
