package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/layer"
)

// TestUndos: a change stays on record until it is undone, also if the run was killed. No other process may undo it
// while the run is alive.
func TestUndos(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "run")
	j, err := Create(dir, nil, nil, plan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	one := func(key, to string) layer.Undo {
		return layer.Undo{Layer: "switch", Key: key, To: to, Commands: [][]string{{"off"}}, How: json.RawMessage("{}")}
	}
	for _, u := range []layer.Undo{one("a", "off"), one("b", "off"), one("a", "on")} {
		must(t, j.NoteUndo(u))
	}
	var locked *LockedError
	if _, err := OpenUndos(dir); !errors.As(err, &locked) {
		t.Errorf("of a living run: %v", err)
	}
	must(t, errors.Join(j.Undone("none"), j.Close()))
	if found, err := WithUndos(parent); err != nil || !slices.Equal(found, []string{dir}) {
		t.Errorf("found %q, %v", found, err)
	}
	u, err := OpenUndos(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range u.List() {
		got = append(got, one.Key+" "+one.To)
	}
	if want := []string{"b off", "a on"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	must(t, errors.Join(u.Undone("a"), u.Undone("b"), u.Undone("b"), u.Close()))
	if _, err := os.Stat(filepath.Join(dir, UndoFile)); !os.IsNotExist(err) {
		t.Errorf("the empty list: %v", err)
	}
	if found, err := WithUndos(parent); err != nil || len(found) > 0 {
		t.Errorf("then found %q, %v", found, err)
	}
	if u, err := OpenUndos(dir); u != nil || err != nil {
		t.Errorf("then %v, %v", u, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, UndoFile), []byte(`{"schema":"tare.undo/v2"}`), 0o600))
	_, err = OpenUndos(dir)
	wantError(t, err, "written by a newer Tare")
}
