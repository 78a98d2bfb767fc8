package catalog_test

import (
	"encoding/json"
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/run/journal"
	"tare/internal/test/slow"
)

var codeBlock = regexp.MustCompile("(?ms)^```(go|yaml)\n(.*?)^```$")

const (
	mostLines  = 80 // the size of the layer
	rounds     = 8  // the number of rounds of the experiment
	noVerdicts = 5  // the exit status of a run without verdicts
)

// TestLayerOfThePage takes the layer, its test and its experiment from the page on how to add a layer, builds
// Tare with them, and runs all three. A build overlay adds the files, so that the tree does not contain them.
func TestLayerOfThePage(t *testing.T) {
	slow.Test(t)
	page, err := os.ReadFile("../../docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, b := range codeBlock.FindAllStringSubmatch(string(page), -1) {
		if formatted, err := format.Source([]byte(b[2])); b[1] == "go" && (err != nil || string(formatted) != b[2]) {
			t.Errorf("not gofmt-ed (%v): %.60q…", err, b[2])
		}
		blocks = append(blocks, b[2])
	}
	if len(blocks) != 3 {
		t.Fatalf("%d blocks; expected the layer, the experiment and the test", len(blocks))
	}
	if n := strings.Count(blocks[0], "\n"); n > mostLines {
		t.Errorf("the layer has %d lines; at most %d are a page", n, mostLines)
	}
	table, err := os.ReadFile("catalog.go")
	if err != nil {
		t.Fatal(err)
	}
	withLayer := strings.NewReplacer(
		"\t\"tare/internal/layer/pod\"\n", "\t\"tare/internal/layer/openfiles\"\n\t\"tare/internal/layer/pod\"\n",
		"\tpod.Kind,\n", "\topenfiles.Kind,\n\tpod.Kind,\n").Replace(string(table))
	dir := t.TempDir()
	overlay := over(t, dir, map[string]string{
		"internal/layer/openfiles/openfiles.go": blocks[0], "internal/layer/openfiles/openfiles_test.go": blocks[2], "internal/catalog/catalog.go": withLayer,
	})
	proofs, tare := filepath.Join(dir, "openfiles.test"), filepath.Join(dir, "tare")
	succeeds(t, "go", "test", "-c", "-trimpath", "-vet=off", overlay, "-o", proofs, "./internal/layer/openfiles")
	succeeds(t, proofs)
	succeeds(t, "go", "build", "-trimpath", "-buildvcs=false", overlay, "-o", tare, "./cmd/tare")

	file, run := filepath.Join(dir, "open-files.yaml"), filepath.Join(dir, "run")
	quiet := "limits: {foreignCPU: none, steal: none, throttling: none}\n"
	if err := os.WriteFile(file, []byte(blocks[1]+quiet), 0o600); err != nil {
		t.Fatal(err)
	}
	// In one run of twenty, the control fails by chance. The run then ends with the status noVerdicts.
	var exit *exec.ExitError
	if out, err := exec.Command(tare, "run", file, "--dir", run).CombinedOutput(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == noVerdicts) {
		t.Fatalf("tare run: %v\n%s", err, out)
	}
	done, err := journal.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{} // the number of proofs that passed, by arm and expectation
	for _, trial := range done.Trials {
		if !trial.Valid() {
			t.Errorf("%s: %v", trial.Arm, trial.Invalid)
		}
		for _, c := range trial.Checks {
			if c.OK {
				shown[trial.Arm+" "+c.Expected]++
			}
		}
	}
	for _, proof := range []string{"limited[limit=64] 64", "limited[limit=1024] 1024", "plain not 64", "plain not 1024", "control not 64", "control not 1024"} {
		if shown[proof] != rounds {
			t.Errorf("%q was shown in %d of %d rounds: %v", proof, shown[proof], rounds, shown)
		}
	}
}

// over writes files by their paths in the tree, and returns the flag that makes them an overlay of the build.
func over(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for path, text := range files {
		file := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, path)] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return "-overlay=" + overlay
}

// succeeds runs a program in the tree and checks that it exits with 0.
func succeeds(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
