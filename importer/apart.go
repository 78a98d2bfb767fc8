package importer

import (
	"fmt"
	"strings"
)

// ApartError says that the files of the arms measured different things.
type ApartError struct {
	Err  error
	Hint string
}

func (e *ApartError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ApartError) Unwrap() error { return e.Err }

// comparable refuses arms of which none has a cell in common with the baseline: a
// run of them holds no comparison. It is not known of an arm of which no file could
// be read.
func (r *run) comparable(arms []*arm) error {
	if len(arms) < 2 {
		return nil
	}
	base := arms[0]
	for _, a := range arms[1:] {
		if len(a.cells) == 0 || len(base.cells) == 0 || shareCell(a, base) {
			return nil
		}
	}
	hint := "a cell is compared that has the same name in the files of two arms"
	if r.Format.OneName != "" {
		hint += ": " + r.Format.OneName
	}
	return &ApartError{Hint: hint, Err: fmt.Errorf("nothing to compare: %s has no cell in common with another arm (%s has %s, %s has %s)",
		base.name, base.name, r.cellsOf(base), arms[1].name, r.cellsOf(arms[1]))}
}

func shareCell(a, b *arm) bool {
	for cell := range a.cells {
		if b.cells[cell] {
			return true
		}
	}
	return false
}

// cellsOf names the first few cells that an arm was measured in.
func (r *run) cellsOf(a *arm) string {
	const most = 3
	var names []string
	for i, c := range r.cells.list {
		if a.cells[i] {
			names = append(names, c.ID)
		}
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// eachAlone says whether there are several arms, and each is one file.
func eachAlone(files []found, sources []Source) bool {
	seen := map[string]bool{}
	for _, f := range files {
		arm := sources[f.from.source].Arm
		if arm == "" || seen[arm] {
			return false
		}
		seen[arm] = true
	}
	return len(seen) > 1
}
