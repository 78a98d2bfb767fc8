package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
)

// finishedRun is a finished run of 2 rounds.
func finishedRun(t *testing.T) *Journal {
	t.Helper()
	p := plan()
	p.Rounds, p.Precision, p.Import = 2, 0, nil
	j, err := Create(filepath.Join(t.TempDir(), "run"), []byte("x"), nil, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	appendRounds(t, j, 1, 2)
	must(t, j.Finish())
	return j
}

func appendRounds(t *testing.T, j *Journal, first, last int) {
	t.Helper()
	for round := first; round <= last; round++ {
		if err := j.Append(&Trial{Round: round, Attempt: 1, Position: 1, Cell: "network.tcp", Arm: "plain", Values: map[string]float64{"m": 1}}); err != nil {
			t.Fatal(err)
		}
	}
}

// A finished run is extended by a second stage. Every reader of the run learns this, and the first stage's record
// still counts.
func TestExtend(t *testing.T) {
	j := finishedRun(t)
	dir := j.Dir()
	must(t, j.Extend(3, "after a look"))
	if j.Finished() || j.Rounds() != 3 || j.Session() != 2 {
		t.Errorf("finished %v, %d rounds, session %d", j.Finished(), j.Rounds(), j.Session())
	}
	must(t, j.Close())
	for _, again := range []bool{false, true} {
		j, err := Resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			appendRounds(t, j, 3, 3)
			err = j.Finish()
		}
		must(t, errors.Join(err, j.Close()))
		r, _, err := Verify(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Finished || r.Rounds != 3 || r.Plan.Fixed != 3 || !slices.Equal(r.Plan.Looks, []int{2}) || len(r.Trials) != 3 {
			t.Errorf("finished %v, %d rounds, plan %d after %v, %d trials", r.Finished, r.Rounds, r.Plan.Fixed, r.Plan.Looks, len(r.Trials))
		}
	}
	// The record of the first stage is still checked.
	file := filepath.Join(dir, TrialsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	must(t, os.WriteFile(file, []byte(lines[0]), 0o666))
	var damage *DamageError
	if _, err := Open(dir); !errors.As(err, &damage) || !strings.Contains(damage.What, "1 whole trials where line 2 of notes.jsonl counts 2") {
		t.Errorf("cut short: %v", err)
	}
}

func TestExtendRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Run)
		rounds int
		want   string
	}{
		{"as many", func(*Run) {}, 2, "it has 2 rounds already"},
		{"fewer than were made up for", func(r *Run) { r.Trials[1].Round = 4 }, 4, "it has 4 rounds already"},
		{"unfinished", func(r *Run) { r.Finished = false }, 3, "it is not finished"},
		{"imported", func(r *Run) { r.Plan.Import = &experiment.Import{} }, 3, "it was imported, and Tare cannot run its trials"},
		{"precision", func(r *Run) { r.Plan.Precision = 0.02 }, 3, "its pilot has set the number of rounds for a precision of ±2%, and the interval allows for that alone"},
	} {
		j := finishedRun(t)
		c.change(j.run)
		if err := j.Extend(c.rounds, "x"); err == nil || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		must(t, j.Close())
	}
}
