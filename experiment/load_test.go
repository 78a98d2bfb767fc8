package experiment_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/experiment"
)

var update = flag.Bool("update", false, "write the golden files")

// load loads a document and fails the test when it has problems.
func load(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	x, err := experiment.Load("test.yaml", []byte(text), kinds())
	if err != nil {
		t.Fatalf("unexpected problems:\n%v", err)
	}
	return x
}

// TestProblems holds the messages of broken files against testdata/*.err.
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
			got := problems.Error() + "\n"
			golden := strings.TrimSuffix(file, ".yaml") + ".err"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("messages differ (-want +got):\n%s", diff)
			}
		})
	}
}
