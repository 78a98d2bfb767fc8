package golden

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rebuild = flag.Bool("rebuild", false, "compile again what is committed, and compare")

// Built checks that committed compiled files belong to their sources, by hashes in dir's file BUILT. With -rebuild,
// dir's program build compiles them again. target is the make target.
func Built(t *testing.T, dir, target string, files ...string) {
	t.Helper()
	record := read(t, dir, "BUILT")
	var seen []string
	for line := range strings.Lines(record) {
		sum, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || len(sum) != 64 {
			continue
		}
		seen = append(seen, file)
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, dir, file)))); got != sum {
			t.Errorf("%s has changed since it was compiled: run make %s", file, target)
		}
	}
	if !slices.Equal(seen, files) {
		t.Errorf("the record has the files %v, want %v", seen, files)
	}
	if !*rebuild {
		return
	}
	to := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "build"), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, to, "BUILT") != record {
		t.Fatal("BUILT is another one: by another compiler?")
	}
	for _, file := range made {
		if read(t, to, file.Name()) != read(t, dir, file.Name()) {
			t.Errorf("%s is another one", file.Name())
		}
	}
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
