package importer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/fortio"
	"tare/internal/run/journal"
)

// TestVerifyImport checks that Verify reports every raw file of an imported run that was changed or removed:
// copies, series and histograms.
func TestVerifyImport(t *testing.T) {
	for _, noRaw := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		_, err := importer.Run(t.Context(), dir, importer.Options{
			Format: fortio.Format, NoRaw: noRaw, Sources: []importer.Source{{Arm: "a", From: []string{filepath.Join("fortio", "testdata", "http-200qps.json")}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		files, err := fs.Glob(os.DirFS(dir), "raw/*")
		if err != nil || len(files) < 1 || noRaw == strings.HasSuffix(files[0], "http-200qps.json") {
			t.Fatalf("no raw: %v, raw files %q, %v", noRaw, files, err)
		}
		if _, v, err := journal.Verify(dir); err != nil || v.Files != len(files) || len(v.Unchecked) != 0 {
			t.Errorf("no raw: %v: %+v, %v, of %d files", noRaw, v, err, len(files))
		}
		for _, name := range files {
			path := filepath.Join(dir, name)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := func(how string) {
				_, _, err := journal.Verify(dir)
				var damage *journal.DamageError
				if !errors.As(err, &damage) || damage.Where != "files.jsonl:1" || !strings.Contains(damage.What, name) && how == "changed" {
					t.Errorf("%s %s: %v", name, how, err)
				}
			}
			content[len(content)/2] ^= 1
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			damaged("changed")
			content[len(content)/2] ^= 1
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			damaged("taken away")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "raw", "more"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, v, err := journal.Verify(dir); err != nil || len(v.Unchecked) != 1 {
			t.Errorf("with a file more: %+v, %v", v, err)
		}
	}
}
