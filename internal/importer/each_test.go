package importer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/importer"
	"tare/internal/run/journal"
)

// Each file becomes a run. The run's time is the time in the file, or else the file's last modification.
func TestEach(t *testing.T) {
	dir := write(t, map[string]string{"n/1.txt": "x s-mean 1\n", "n/2.txt": "x s-mean 2\n", "n/sub/1.txt": "x s-mean 3\n", "n/torn.txt": "?\n"})
	last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "n", "2.txt"), last, last); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "history")
	o := importer.Options{Format: lines, Name: "test", Sources: []importer.Source{{Arm: "a", From: []string{filepath.Join(dir, "n")}}}}
	var got []string
	done := func(one importer.FileImport) {
		text := filepath.Base(one.Directory)
		switch {
		case one.Err != nil:
			text += " no run"
		case one.Result == nil:
			text += " there"
		}
		got = append(got, text)
	}
	if err := importer.Each(t.Context(), to, o, done); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2", "sub_1", "torn no run"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	run, err := journal.Open(filepath.Join(to, "2"))
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) != 1 || !run.Trials[0].Start.Equal(last) || run.Trials[0].Arm != "a" {
		t.Errorf("%+v", run.Trials)
	}
	got = nil
	if err := importer.Each(t.Context(), to, o, done); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 there", "2 there", "sub_1 there", "torn no run"}, got); diff != "" {
		t.Errorf("once more (-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*importer.Options){
		"two arms": func(o *importer.Options) {
			o.Sources = append(o.Sources, importer.Source{Arm: "b", From: []string{dir}})
		},
		"standard input": func(o *importer.Options) { o.Sources[0].From = []string{"-"} },
		"one name": func(o *importer.Options) {
			o.Sources[0].From = []string{filepath.Join(dir, "n", "1.txt"), filepath.Join(dir, "n", "sub", "1.txt")}
		},
	} {
		wrong := o
		wrong.Sources = []importer.Source{{Arm: "a", From: o.Sources[0].From}}
		change(&wrong)
		var misused *importer.UsageError
		if err := importer.Each(t.Context(), filepath.Join(t.TempDir(), "other"), wrong, func(importer.FileImport) {}); !errors.As(err, &misused) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
