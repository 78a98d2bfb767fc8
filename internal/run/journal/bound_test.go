package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
)

// rewrite writes the record of a run anew, as anybody who can write all files can: all digests and chains fit again.
// Schema is the plan's schema.
func rewrite(t *testing.T, dir, schema string, change func(r *Run)) {
	t.Helper()
	r := reopen(t, dir)
	change(r)
	if schema != r.Plan.Schema {
		edit(t, dir, PlanFile, func(s string) string { return strings.Replace(s, r.Plan.Schema, schema, 1) })
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	r.Plan.Schema = schema
	r.Notes[0].Files[PlanFile], err = digest(root, PlanFile)
	must(t, err)
	var trials, notes bytes.Buffer
	heads := map[int]string{}
	sealed := func(to *bytes.Buffer, line []byte, err error, head string) string {
		must(t, err)
		line, head = seal(line, head)
		to.Write(append(line, '\n'))
		return head
	}
	line, err := r.Notes[0].Line()
	last := sealed(&notes, line, err, "")
	if r.mustChain() {
		heads[0] = trialsStart(r.Notes[0].Files[PlanFile], last)
	}
	for i := range r.Trials {
		r.Trials[i].Seq = i + 1
		line, err := r.Trials[i].Line()
		heads[i+1] = sealed(&trials, line, err, heads[i])
	}
	for _, n := range r.Notes[1:] {
		if n.Head != "" {
			n.Trials = min(n.Trials, len(r.Trials))
			n.Head = heads[n.Trials]
		}
		line, err := n.Line()
		last = sealed(&notes, line, err, last)
	}
	write(t, filepath.Join(dir, TrialsFile), trials.Bytes())
	write(t, filepath.Join(dir, NotesFile), notes.Bytes())
}

// wantDamage checks that an error is a damage whose message contains all of the given texts.
func wantDamage(t *testing.T, err error, texts ...string) {
	t.Helper()
	var damage *DamageError
	if !errors.As(err, &damage) {
		t.Errorf("got %v, want damage", err)
	}
	wantError(t, err, texts...)
}

// TestNoChains: if a Tare that writes chains made the run, a record without chains is damage.
func TestNoChains(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string)
		want   string // "": whole
	}{
		{"of an older Tare", func(string) {}, ""},
		{"of the format that always has them", func(dir string) {
			edit(t, dir, PlanFile, func(s string) string {
				return strings.Replace(s, experiment.PlanSchemaV1, experiment.PlanSchema, 1)
			})
		}, "notes.jsonl: its lines have no chains, or not the digest of the plan, which the Tare that made the run always writes"},
		{"of this version", func(dir string) {
			edit(t, dir, EnvironmentFile, func(s string) string { return strings.Replace(s, `"0.1.0"`, `"devel"`, 1) })
		}, "notes.jsonl: its lines have no chains"},
		{"no note", func(dir string) { write(t, filepath.Join(dir, NotesFile), nil) }, "notes.jsonl: its first line is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := create(t)
			record(t, j, 1)
			must(t, errors.Join(j.Finish(), j.Close()))
			older(t, j.Dir())
			tt.change(j.Dir())
			if _, err := Open(j.Dir()); tt.want != "" {
				wantDamage(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChainsOfVersion1: a run whose trials' chain starts empty can be read, verified and resumed, and changes of its
// files are found.
func TestChainsOfVersion1(t *testing.T) {
	j := create(t)
	record(t, j, 1)
	record(t, j, 2)
	must(t, errors.Join(j.Finish(), j.Close()))
	dir := j.Dir()
	rewrite(t, dir, experiment.PlanSchemaV1, func(*Run) {})
	r, v, err := Verify(dir)
	if err != nil || v.Trials != 2 || v.Chain == "" || r.trials.head == "" || r.Plan.Schema != experiment.PlanSchemaV1 {
		t.Errorf("%+v, %v", v, err)
	}
	rewrite(t, dir, experiment.PlanSchemaV1, func(r *Run) { r.Notes = r.Notes[:1] }) // the run is not finished
	j, err = Resume(dir)
	must(t, err)
	record(t, j, 3)
	must(t, errors.Join(j.Note("a remark"), j.Finish(), j.Close()))
	r, v, err = Verify(dir)
	if err != nil || v.Trials != 3 || !r.Finished {
		t.Errorf("after it went on: %+v, %v", v, err)
	}
	if n := r.Notes[len(r.Notes)-2]; n.Head != "" || n.Trials != 0 {
		t.Errorf("a note like those of version 2: %+v", n)
	}
	edit(t, dir, TrialsFile, func(s string) string { return strings.Replace(s, `"load":0.5`, `"load":0.6`, 1) })
	_, err = Open(dir)
	wantDamage(t, err, "trials.jsonl:1: this line or the one before was changed")
}

// TestTransplant: trials of another run of the same plan are damage, also before the run's end.
func TestTransplant(t *testing.T) {
	one, other := create(t), create(t)
	for _, j := range []*Journal{one, other} {
		record(t, j, 1)
		must(t, j.Close())
	}
	text, err := os.ReadFile(filepath.Join(other.Dir(), TrialsFile))
	must(t, err)
	edit(t, one.Dir(), TrialsFile, func(string) string { return string(text) })
	_, err = Open(one.Dir())
	wantDamage(t, err, "trials.jsonl:1: this line or the one before was changed, or lines are missing")
}

// TestCutTail: missing whole lines at the end are found once a note has counted them.
func TestCutTail(t *testing.T) {
	for name, end := range map[string]func(j *Journal) error{
		"finished": (*Journal).Finish,
		"ended":    func(j *Journal) error { return j.End(0, "interrupted") },
		"noted":    func(j *Journal) error { return j.Note("a remark") },
	} {
		for kept := range 3 {
			t.Run(fmt.Sprintf("%s, %d of 3", name, kept), func(t *testing.T) {
				j := create(t)
				for n := range 3 {
					record(t, j, n+1)
				}
				must(t, errors.Join(end(j), j.Close()))
				edit(t, j.Dir(), TrialsFile, func(s string) string {
					return strings.Join(strings.SplitAfter(s, "\n")[:kept], "")
				})
				_, err := Open(j.Dir())
				wantDamage(t, err, fmt.Sprintf("trials.jsonl: it has %d whole trials where line 2 of notes.jsonl counts 3", kept))
			})
		}
	}
	// The record has one trial more than its last note counts, and all chains are made anew.
	j := create(t)
	record(t, j, 1)
	record(t, j, 2)
	must(t, errors.Join(j.Finish(), j.Close()))
	rewrite(t, j.Dir(), experiment.PlanSchema, func(r *Run) { r.Notes[1].Trials = 1 })
	_, err := Open(j.Dir())
	wantDamage(t, err, "it has 2 whole trials where line 2 of notes.jsonl counts 1")
}

// TestOrder: trials in another order than the seed's are found, although all chains fit.
func TestOrder(t *testing.T) {
	p := plan()
	p.Arms = slices.Insert(p.Arms, 1, experiment.PlannedArm{Name: "control", Role: experiment.Control, Layers: []experiment.PlannedLayer{}})
	second := p.Cells[0]
	second.ID = "network.udp"
	p.Cells = append(p.Cells, second)
	tests := []struct {
		name   string
		change func(r *Run)
		want   string // "": whole
	}{
		{"as planned", func(*Run) {}, ""},
		{"two arms for each other", func(r *Run) {
			r.Trials[0].Arm, r.Trials[1].Arm = r.Trials[1].Arm, r.Trials[0].Arm
		}, "does not follow here in round 1"},
		{"two cells for each other", func(r *Run) {
			for i := range 3 {
				r.Trials[i].Cell, r.Trials[i+3].Cell = r.Trials[i+3].Cell, r.Trials[i].Cell
			}
		}, "does not follow here in round 1"},
		{"two rounds for each other", func(r *Run) { r.Trials[0].Round, r.Trials[6].Round = 2, 1 }, "does not follow here in round"},
		{"a trial twice", func(r *Run) { r.Trials = slices.Insert(r.Trials, 1, r.Trials[0]) }, "does not follow here in round 1"},
		{"another arm", func(r *Run) { r.Trials[0].Arm = "another" }, "trials.jsonl:1: by the seed of plan.json, another in cell"},
		{"no round", func(r *Run) { r.Trials[0].Round = -3 }, "does not follow here in round -3"},
		// In this record a trial is repeated after the others, an arm is left out, and a session is resumed.
		{"an attempt more", func(r *Run) {
			again := r.Trials[0]
			again.Attempt = 2
			r.Trials = slices.Insert(r.Trials, 3, again)
		}, ""},
		{"an arm less", func(r *Run) { r.Trials = slices.Delete(r.Trials, 7, 8) }, ""},
		{"a session more", func(r *Run) {
			late := r.Trials[0] // the arm was left out, and takes part from here on
			r.Trials = append(r.Trials[1:3:3], r.Trials[0:]...)
			r.Trials[2] = late
			for i := range r.Trials[2:] {
				r.Trials[2+i].Session = 2
			}
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, err := Create(filepath.Join(t.TempDir(), "run"), []byte(file), nil, p, environment())
			must(t, err)
			for round := 1; round <= 2; round++ {
				for _, s := range p.Order(round) {
					must(t, j.Append(&Trial{Round: round, Attempt: 1, Cell: p.Cells[s.Cell].ID, Arm: p.Arms[s.Arm].Name, Values: map[string]float64{"m": 1}}))
				}
			}
			must(t, errors.Join(j.Finish(), j.Close()))
			rewrite(t, j.Dir(), experiment.PlanSchema, func(r *Run) {
				tt.change(r)
				r.Notes[1].Trials = len(r.Trials)
			})
			if _, err := Open(j.Dir()); err != nil {
				t.Fatalf("the record is not whole: %v", err)
			}
			if _, _, err = Verify(j.Dir()); tt.want != "" {
				wantDamage(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnchecked: Verify names the raw files that no digest covers.
func TestUnchecked(t *testing.T) {
	dir := finished(t)
	var want []string
	for _, name := range []string{"raw/001-seccomp_rules=8-network.tcp/more.txt", "raw/009-x/out.json", "raw/stray"} {
		path := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)))
		want = append(want, name)
	}
	if _, v, err := Verify(dir); err != nil || !slices.Equal(v.Unchecked, want) {
		t.Errorf("%q, %v; want %q", v.Unchecked, err, want)
	}
}

// TestEveryDamage: a file that is cut off, missing, doubled or replaced is damage and no other error.
func TestEveryDamage(t *testing.T) {
	dir := finished(t)
	for _, path := range regular(t, dir) {
		content, err := os.ReadFile(path)
		must(t, err)
		half := len(content) / 2
		for name, change := range map[string]func() error{
			"cut":       func() error { return os.Truncate(path, int64(half)) },
			"empty":     func() error { return os.Truncate(path, 0) },
			"gone":      func() error { return os.Remove(path) },
			"longer":    func() error { return os.WriteFile(path, append(slices.Clone(content), "{}\n"...), 0o644) },
			"swapped":   func() error { return os.WriteFile(path, slices.Concat(content[half:], content[:half]), 0o644) },
			"directory": func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
			"link":      func() error { return errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path)) },
		} {
			must(t, change())
			_, _, err := Verify(dir)
			var damage *DamageError
			if !errors.As(err, &damage) {
				t.Errorf("%s %s: %v", filepath.Base(path), name, err)
			}
			must(t, errors.Join(os.RemoveAll(path), os.WriteFile(path, content, 0o644)))
		}
	}
	if _, _, err := Verify(dir); err != nil {
		t.Fatal(err)
	}
}
