package history_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/runs/history"
	"tare/internal/runs/history/historytest"
)

// A damaged run is named and skipped. A run found by two paths is read once.
func TestRead(t *testing.T) {
	root := t.TempDir()
	for i, name := range []string{"b", "a", "deep/er/c"} {
		r := base
		r.Number = i
		if err := r.Write(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"damaged/plan.json": "{", "damaged/trials.jsonl": "",
		"newer/plan.json": `{"schema": "tare.plan/v99"}`, "newer/trials.jsonl": "",
		"none/notes.txt": "nothing",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "a"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	runs, skipped, err := history.Read(context.Background(), root, filepath.Join(root, "a"), filepath.Join(root, "link"), filepath.Join(root, "none"))
	if err != nil {
		t.Fatal(err)
	}
	h := history.New(runs, skipped, history.Options{})
	var got []string
	for _, r := range h.Experiments[0].Runs {
		rel, _ := filepath.Rel(root, r.Directory)
		got = append(got, rel)
	}
	if want := "b a deep/er/c"; strings.Join(got, " ") != want {
		t.Errorf("runs %q, want %q in the order of time", got, want)
	}
	for i, want := range []struct{ dir, reason string }{
		{"none", "it is no run directory, and there is none below it"},
		{"damaged", "plan.json: unexpected end of JSON input"},
		{"newer", "written by a newer Tare: tare.plan/v99"},
	} {
		if i >= len(h.Skipped) || h.Skipped[i].Directory != filepath.Join(root, want.dir) || !strings.Contains(h.Skipped[i].Reason, want.reason) {
			t.Errorf("skipped %+v, want %s: %s at %d", h.Skipped, want.dir, want.reason, i)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := history.Read(cancelled, root); err == nil {
		t.Error("a cancelled reader returns runs")
	}
}

// Invalid values give points without a value, and no panic.
func TestOddRuns(t *testing.T) {
	odd := made(12, func(i int, r *historytest.Run) {
		r.Rounds = 1 + i%2*7
		switch i {
		case 3:
			r.Level = 1e300
		case 4:
			r.Level = 1e-300
		case 5:
			r.Cost = -0.999999
		case 6:
			r.Level = -1
		}
	})
	h := history.New(odd, nil, history.Options{Segment: 1})
	if h.Segment != history.LeastSegment {
		t.Errorf("segment %d", h.Segment)
	}
	s := only(t, h, "layered", "time", history.OfOverhead)
	if p := s.Points[6]; p.Value != nil || p.LeftOut == nil {
		t.Errorf("a run with negative values gives %+v", p)
	}
	if len(s.Points) != 12 {
		t.Errorf("%d points", len(s.Points))
	}
	if empty := history.New(nil, nil, history.Options{}); len(empty.Experiments) != 0 {
		t.Errorf("experiments of no run: %+v", empty.Experiments)
	}
}
