// Package golden compares results of tests with files: in testdata, and generated pages and schemas. With -update,
// tests write these files.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files, and pages and schemas that are made")

// Update reports whether tests write the expected files anew.
func Update() bool { return *update }

// Check compares a text with a file.
func Check[Text string | []byte](t testing.TB, file string, got Text) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the test gets (-run '%s' -update writes it; -want +got):\n%s", file, t.Name(), diff)
	}
}
