package journal

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func number(s string) json.Number { return json.Number(s) }

func TestDefaultDir(t *testing.T) {
	got := DefaultDir(DefaultRoot, "dns", time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC))
	if want := filepath.Join("runs", "dns-20260102-150405"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"b", "a/1", "a/2", "deep/1/2/3", "too/deep/1/2/3"} {
		j, err := Create(filepath.Join(root, dir), nil, nil, plan(), nil)
		if err != nil {
			t.Fatal(err)
		}
		j.Close()
	}
	must(t, os.MkdirAll(filepath.Join(root, "no-run", RawDir), 0o755))
	must(t, os.Symlink(filepath.Join(root, "b"), filepath.Join(root, "link")))
	got, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i], _ = filepath.Rel(root, got[i])
	}
	if d := cmp.Diff([]string{"a/1", "a/2", "b", "deep/1/2/3"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	itself, err := Find(filepath.Join(root, "b"))
	if err != nil || len(itself) != 1 {
		t.Errorf("a run directory itself: %v, %v", itself, err)
	}
	none, err := Find(filepath.Join(root, "missing"))
	if err != nil || none != nil {
		t.Errorf("a missing root: %v, %v", none, err)
	}
}

// TestDamage changes one file of a run and checks the reader's error.
func TestDamage(t *testing.T) {
	line := func(t *testing.T, s string) string {
		t.Helper()
		return strings.Replace(s, "tare.trial/v1", "tare.trial/v9", 1)
	}
	replace := func(old, new string) func(*testing.T, string) string {
		return func(t *testing.T, s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("%q is not in the file:\n%s", old, s)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	for _, c := range []struct {
		name, file string
		change     func(*testing.T, string) string
		texts      []string
	}{
		{"newer plan", PlanFile, replace("tare.plan/v2", "tare.plan/v3"),
			[]string{"plan.json: written by a newer Tare: tare.plan/v3, where this one reads up to tare.plan/v2: update Tare"}},
		{"other plan", PlanFile, replace("tare.plan/v2", "mare.plan/v1"), []string{`schema "mare.plan/v1" where tare.plan/v2 is expected`}},
		{"plan without schema", PlanFile, replace("schema", "chema"), []string{"names no schema where tare.plan/v2 is expected"}},
		{"plan cut off", PlanFile, func(t *testing.T, s string) string { return s[:len(s)/2] }, []string{"plan.json: unexpected end of JSON input"}},
		{"newer environment", EnvironmentFile, replace("environment/v1", "environment/v3"), []string{"environment.json: written by a newer Tare: tare.environment/v3"}},
		{"newer trial", TrialsFile, line, []string{"trials.jsonl:1: written by a newer Tare: tare.trial/v9"}},
		{"newer note", NotesFile, replace("tare.note/v1", "tare.note/v2"), []string{"notes.jsonl:1: written by a newer Tare: tare.note/v2"}},
		{"damage in the middle", TrialsFile, replace(`"seq":2`, `"seq:2`), []string{"trials.jsonl:2: damaged: not JSON"}},
		{"empty line", TrialsFile, replace("\n", "\n\n"), []string{"trials.jsonl:2: damaged"}},
		{"missing line", TrialsFile, func(t *testing.T, s string) string { return s[strings.Index(s, "\n")+1:] },
			[]string{"trials.jsonl:1: trial number 2 where 1 is expected: lines are missing or doubled"}},
		{"doubled line", TrialsFile, func(t *testing.T, s string) string { i := strings.Index(s, "\n") + 1; return s[:i] + s },
			[]string{"trials.jsonl:2: trial number 1 where 2 is expected"}},
		{"wrong type", TrialsFile, replace(`"seq":3`, `"seq":"3"`), []string{"trials.jsonl:3: json: cannot unmarshal string"}},
		{"no object", TrialsFile, func(t *testing.T, s string) string { return s + "4\n" }, []string{"trials.jsonl:4: json: cannot unmarshal number"}},
		{"endless line", TrialsFile, func(t *testing.T, s string) string { return s + strings.Repeat(" ", maxLine+1) },
			[]string{"trials.jsonl:4: the line is longer than 16777216 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := create(t)
			for n := range 3 {
				record(t, j, n+1)
			}
			j.Close()
			path := filepath.Join(j.Dir(), c.file)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			must(t, os.WriteFile(path, []byte(c.change(t, string(data))), 0o644))
			_, err = Open(j.Dir())
			wantError(t, err, append(c.texts, j.Dir())...)
			_, err = Resume(j.Dir())
			wantError(t, err, c.texts...)
		})
	}
}

func TestStrangeFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(path string) error
		expect string
	}{
		{"pipe", func(p string) error { return exec.Command("mkfifo", p).Run() }, "trials.jsonl is not a regular file"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o700) }, "trials.jsonl is not a regular file"},
		{"link out of the run", func(p string) error { return os.Symlink("/etc/passwd", p) }, "path escapes from parent"},
		{"huge", func(p string) error {
			if err := os.WriteFile(p, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(p, 1<<40)
		}, "trials.jsonl has 1099511627776 bytes, more than 1073741824"},
		{"missing", func(p string) error { return nil }, "trials.jsonl: it is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := create(t)
			j.Close()
			path := filepath.Join(j.Dir(), TrialsFile)
			must(t, os.Remove(path))
			must(t, c.make(path))
			_, err := Open(j.Dir())
			wantError(t, err, c.expect)
		})
	}
}
