package journal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// killedCreate leaves a directory like a Create that was killed after this many steps.
func killedCreate(t *testing.T, steps int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	for _, name := range []string{"", lockFile, TrialsFile + ".new", TrialsFile, "raw/", ExperimentFile, EnvironmentFile, "files/", "files/a%2Fb.yaml.new", "files/a%2Fb.yaml", NotesFile, PlanFile + ".new"}[:steps] {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") || name == "" {
			must(t, os.Mkdir(path, 0o755))
			continue
		}
		text := "half"
		if strings.HasPrefix(name, TrialsFile) {
			text = ""
		}
		must(t, os.WriteFile(path, []byte(text), 0o644))
		if strings.HasSuffix(name, ".new") && strings.HasPrefix(name, "trials") {
			_ = os.Remove(path)
		}
	}
	return dir
}

// The remains of a killed Create are no run, do not prevent another Create, and are found.
func TestKilledCreate(t *testing.T) {
	files := map[string][]byte{"a/b.yaml": []byte("kind: Thing\n")}
	for steps := 1; steps <= 12; steps++ {
		dir := killedCreate(t, steps)
		if IsRun(dir) {
			t.Errorf("%d steps: it is a run", steps)
		}
		left, err := Unfinished(filepath.Dir(dir))
		if want := steps > 3; err != nil || slices.Contains(left, dir) != want {
			t.Errorf("%d steps: unfinished: %v (%v); want it to be among them: %t", steps, left, err, want)
		}
		j, err := Create(dir, []byte(file), files, plan(), environment())
		if err != nil {
			t.Fatalf("%d steps: %v", steps, err)
		}
		record(t, j, 1)
		must(t, j.Close())
		if r := reopen(t, dir); len(r.Trials) != 1 {
			t.Errorf("%d steps: %d trials", steps, len(r.Trials))
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || left != nil {
			t.Errorf("%d steps: left: %v", steps, left)
		}
	}
}

// Create refuses a directory with other files than the remains of a Create, and removes none of them.
func TestCreateBesideOtherFiles(t *testing.T) {
	own := t.TempDir()
	must(t, os.WriteFile(filepath.Join(own, ExperimentFile), []byte(file), 0o644))
	shared := killedCreate(t, 11)
	must(t, os.WriteFile(filepath.Join(shared, "thesis.txt"), []byte("years"), 0o644))
	for dir, name := range map[string]string{own: ExperimentFile, shared: "thesis.txt"} {
		_, err := Create(dir, []byte(file), nil, plan(), nil)
		wantError(t, err, "is not empty: choose another directory")
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
