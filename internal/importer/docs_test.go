package importer

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/journal"
)

// TestDocumentedFiles reads the examples in docs/run-directory.md of the files that this package writes, and
// checks that writing them again gives the same text.
func TestDocumentedFiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "run-directory.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]struct {
		schema string
		into   any
	}{
		journal.FilesFile: {journal.FileSchema, &journal.ImportedFile{}},
		"series.json":     {"tare.series/v1", &withinDocument{}},
		"histograms.json": {"tare.histograms/v1", &withinDocument{}},
	}
	seen := 0
	for _, e := range regexp.MustCompile("(?s)```json (\\S+)\n(.*?)```").FindAllSubmatch(page, -1) {
		kind, ok := kinds[string(e[1])]
		if !ok {
			continue // package journal tests this file
		}
		seen++
		d := json.NewDecoder(bytes.NewReader(e[2]))
		d.DisallowUnknownFields()
		if err := d.Decode(kind.into); err != nil {
			t.Errorf("%s: %v", e[1], err)
		}
		again, err := json.Marshal(kind.into)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value(t, e[2]), value(t, again)); diff != "" {
			t.Errorf("%s is documented otherwise than written (-docs +written):\n%s", e[1], diff)
		}
		if schema := value(t, again).(map[string]any)["schema"]; schema != kind.schema {
			t.Errorf("%s: schema %v", e[1], schema)
		}
	}
	if seen != len(kinds) {
		t.Errorf("%d examples for %d files", seen, len(kinds))
	}
}

func value(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
