package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	comparing "tare/compare"
	"tare/wording"
)

// CompareText writes a comparison of runs for a terminal: what differs between
// them, then the changes of overheads, then the levels.
func CompareText(w io.Writer, r *comparing.Result, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	buffered := bufio.NewWriter(w)
	t := &terminal{w: buffered, o: o}
	t.line(t.style(bold, "Comparison of "+wording.Count(len(r.Runs), "run", "runs")))
	for _, run := range r.Runs {
		indent := fmt.Sprintf("  %d  ", run.Number)
		for _, l := range wrap(shorten(plain(run.Name), o.Width, ellipsis)+": "+comparedRun(run), o.Width-len(indent)) {
			t.line(indent + l)
			indent = strings.Repeat(" ", len(indent))
		}
	}
	if r.Observational != "" {
		t.para("", "Observational, across runs: "+brief(r.Observational)+".")
	}
	if len(r.Warnings) > 0 {
		t.line("")
		t.line(t.style(bold, "Warnings"))
		for _, text := range r.Warnings {
			t.para("  - ", sentence(brief(text)))
		}
	}
	t.differences(r)
	t.compared("Overheads, each against the baseline of its own run", changeRows(r, true), r.Family.Changes)
	t.compared("Levels against "+comparedReference(r), levelRows(r, true), r.Family.Levels)
	if o.All {
		t.compared("Overheads, exploratory metrics", changeRows(r, false), 0)
		t.compared("Levels, exploratory metrics", levelRows(r, false), 0)
	} else if n := len(levelRows(r, false)); n > 0 {
		t.line("")
		t.para("", notShown(n))
	}
	if r.Observational != "" {
		t.para("", observedNote)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// differences writes what differs, what is the same, and what cannot be said.
func (t *terminal) differences(r *comparing.Result) {
	if len(r.Runs) < 2 {
		return
	}
	t.line("")
	t.line(t.style(bold, "What differs besides the numbers"))
	if len(r.Differences) == 0 {
		t.para("  ", "Nothing that is on record.")
	}
	path := 0
	for _, p := range r.Differences {
		path = max(path, cells(plain(p.Path)))
	}
	path = min(path, t.o.Width/3)
	group, minor := comparing.Group(""), false
	for _, p := range r.Differences {
		if p.Minor && !minor {
			t.line("  of less weight:")
			minor, group = true, ""
		}
		if p.Group != group {
			group = p.Group
			t.line("  " + t.style(faint, plain(string(group))))
		}
		t.property(p, path)
	}
	for _, a := range r.Apart {
		t.para("  - ", apartText(a))
	}
	for _, text := range r.Unknown {
		t.para("  - ", brief(text))
	}
	for _, e := range sameByGroup(r, mostSame) {
		t.para("  ", "The same, "+e.Key+": "+e.Value+".")
	}
}

// property writes what differs in a line, and what is too long for it in a
// paragraph for each run.
func (t *terminal) property(p comparing.Property, path int) {
	name, values := plain(p.Path), comparedValues(p)
	line := "    " + pad(name, path) + "  " + strings.Join(values, " → ")
	if cells(line) <= t.o.Width {
		t.line(line)
		return
	}
	t.para("    ", name)
	for i, v := range values {
		t.para("      - ", fmt.Sprintf("run %d: %s", i+1, brief(v)))
	}
}

// compared writes a table with a column for each run, or, where the terminal is
// too narrow for it, a line for each run.
func (t *terminal) compared(title string, metrics []*comparedMetric, family int) {
	if len(metrics) == 0 {
		return
	}
	t.line("")
	for _, l := range wrap(title, t.o.Width) {
		t.line(t.style(bold, l))
	}
	if note := familyNote(family); note != "" {
		t.para("", note)
	}
	cell := ""
	for _, m := range metrics {
		if m.Cell != cell {
			cell = m.Cell
			t.line(shorten(cell, t.o.Width, ellipsis))
		}
		t.line("  " + shorten(m.Metric, t.o.Width-2, ellipsis))
		arm, entry := cells(noiseFloor), 0
		for _, row := range m.Rows {
			arm = max(arm, cells(row.Name))
			for _, e := range row.Entries {
				entry = max(entry, cells(e.Value), cells(t.against(e)))
			}
		}
		if room := t.o.Width - 4 - len(m.Rows[0].Entries)*(entry+2); room >= min(arm, 12) {
			t.comparedColumns(m, min(arm, room), entry)
		} else {
			t.comparedLines(m)
		}
	}
}

// against writes what an entry is against what it is compared with.
func (t *terminal) against(e comparedEntry) string {
	if e.Reference {
		return "(compared with)"
	}
	return e.signed(t.o.ASCII)
}

// noiseFloor is what the rows of the control show.
const noiseFloor = "noise floor"

func (t *terminal) comparedColumns(m *comparedMetric, arm, entry int) {
	head := "    " + pad("", arm)
	for i := range m.Rows[0].Entries {
		head += "  " + padLeft(fmt.Sprintf("run %d", i+1), entry)
	}
	t.line(t.style(faint, head))
	for _, row := range m.Rows {
		values, against, any := "    "+pad(shorten(row.Name, arm, ellipsis), arm), "    "+pad("", arm), false
		kinds := against
		if row.Floor {
			against = "    " + pad(noiseFloor, arm)
		}
		for _, e := range row.Entries {
			text := t.against(e)
			any = any || text != ""
			values += "  " + padLeft(e.Value, entry)
			against += "  " + padLeft(text, entry)
			kinds += "  " + padLeft(e.kind(), entry)
		}
		t.line(values)
		if any {
			t.line(against)
		}
		if strings.TrimSpace(kinds) != "" {
			t.line(kinds)
		}
		t.rowNotes(row)
	}
}

func (t *terminal) comparedLines(m *comparedMetric) {
	for _, row := range m.Rows {
		name := row.Name
		if row.Floor {
			name += " (" + noiseFloor + ")"
		}
		t.line("    " + shorten(name, t.o.Width-4, ellipsis))
		for i, e := range row.Entries {
			if e.Value == "" {
				continue
			}
			t.para("      ", strings.TrimSpace(fmt.Sprintf("run %d  %s  %s %s", i+1, e.Value, t.against(e), e.kind())))
		}
		t.rowNotes(row)
	}
}

func (t *terminal) rowNotes(row comparedRow) {
	for _, note := range row.Notes {
		t.para("      ", note)
	}
}
