package experiment_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/test/golden"
)

// load loads a document and fails the test if it has problems.
func load(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	x, err := experiment.Load("test.yaml", []byte(text), kinds())
	if err != nil {
		t.Fatalf("unexpected problems:\n%v", err)
	}
	return x
}

// TestProblems compares the messages of wrong files with testdata/*.err.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no broken files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = experiment.Load(filepath.Base(file), text, kinds())
			var problems *experiment.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("Load gave %v; want problems", err)
			}
			golden.Check(t, strings.TrimSuffix(file, ".yaml")+".err", problems.Error()+"\n")
		})
	}
}
