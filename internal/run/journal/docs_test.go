package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/machine"
)

// importers are the files that only imported runs have; package importer checks
// their examples.
var importers = map[string]bool{"files.jsonl": true, "series.json": true, "histograms.json": true}

// TestDocumentedFiles reads every example of docs/run-directory.md as the file that the example shows. Members must
// be known, and writing the file again must give the example.
func TestDocumentedFiles(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "run-directory.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]struct {
		schema string
		into   any
	}{
		PlanFile:        {experiment.PlanSchema, &experiment.Plan{}},
		EnvironmentFile: {machine.EnvironmentSchema, &machine.Environment{}},
		TrialsFile:      {TrialSchema, &trialLine{Trial: &Trial{}}},
		UndoFile:        {undoSchema, &undoDocument{}},
		NotesFile:       {NoteSchema, &noteLine{Note: &Note{}}},
	}
	examples := regexp.MustCompile("(?s)```json (\\S+)\n(.*?)```").FindAllSubmatch(page, -1)
	examples = slices.DeleteFunc(examples, func(e [][]byte) bool { return importers[string(e[1])] })
	if len(examples) != len(kinds) {
		t.Errorf("%d examples for %d files", len(examples), len(kinds))
	}
	for _, e := range examples {
		name, text := string(e[1]), e[2]
		kind, ok := kinds[name]
		if !ok {
			t.Errorf("an example of %s", name)
			continue
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(kind.into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := decode(text, name, kind.schema, kind.into); err != nil {
			t.Error(err)
		}
		again, err := json.Marshal(kind.into)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := sorted(t, text), sorted(t, again); want != got {
			t.Errorf("%s is documented as\n%s\nand written as\n%s", name, want, got)
		}
	}
}

// sorted returns a JSON document with its members in alphabetical order.
func sorted(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	must(t, json.Unmarshal(data, &v))
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
