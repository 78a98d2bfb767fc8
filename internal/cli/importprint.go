package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/importer"
	"tare/internal/text/safetext"
)

// importProgress shows the progress of an import: a live line on a terminal, a plain line now and then on a
// pipe. Most imports end before the first line.
type importProgress struct {
	*progress
	next  time.Time // the time of the next line
	every time.Duration
	files int // the number of files done
}

func newImportProgress(s State, quiet bool) *importProgress {
	p := &importProgress{progress: newProgress(s, "", quiet), every: 10 * time.Second}
	if p.live {
		p.every = 200 * time.Millisecond
	}
	p.next = time.Now().Add(p.every)
	return p
}

// update takes the number of files done and the number of all files.
func (p *importProgress) update(done, files int) {
	p.files = done
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(p.every)
		p.wait(fmt.Sprintf("%d/%d files", done, files))
	}
}

// printImported prints on stderr a summary of the import.
func printImported(s State, r *importer.Result) {
	read := counted(r.Files, "file")
	if r.Broken > 0 {
		read = fmt.Sprintf("%d of %s", r.Files-r.Broken, read)
	}
	fmt.Fprintf(s.Stderr, "imported %s: %s\n", read, trialCounts(r))
	printProblems(s, r, "; trials.jsonl has them all")
}

// printUnimported prints on stderr how far an import without a run got. After a usage error it prints nothing,
// unless a file was broken: the data that the user named may have been in that file.
func printUnimported(s State, r *importer.Result, done int, misused bool) {
	if misused && len(r.Problems) == 0 {
		return
	}
	whole := done
	if done == r.Files { // otherwise the import ended at or before the first broken file
		whole -= r.Broken
	}
	fmt.Fprintf(s.Stderr, "read %d of %s: %s\n", whole, counted(r.Files, "file"), trialCounts(r))
	printProblems(s, r, "")
}

// trialCounts summarises the trials.
func trialCounts(r *importer.Result) string {
	text := counted(r.Valid, "trial") + " valid"
	between := ", invalid by rule: "
	for _, rule := range slices.Sorted(maps.Keys(r.ByRule)) {
		text += fmt.Sprintf("%s%s %d", between, rule, r.ByRule[rule])
		between = ", "
	}
	return text
}

// printProblems lists the broken files and trials, and the remarks. If there are more, it prints their number,
// followed by the text others, which names the place of the full list.
func printProblems(s State, r *importer.Result, others string) {
	for _, text := range problems(r.Problems) {
		fmt.Fprintf(s.Stderr, "  %s\n", safetext.Name(text))
	}
	if r.More > 0 {
		fmt.Fprintf(s.Stderr, "  and %d more%s\n", r.More, others)
	}
	for _, text := range r.Remarks {
		fmt.Fprintf(s.Stderr, "note: %s\n", safetext.Name(text))
	}
}

// problems returns a line for each problem. Three or more problems with the same reason share a line. The order
// is that in which the reasons first appear.
func problems(list []importer.Problem) []string {
	type kind struct{ cell, reason string }
	var order []kind
	of := map[kind][]importer.Problem{}
	for _, p := range list {
		k := kind{p.Cell, p.Reason}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], p)
	}
	var lines []string
	for _, k := range order {
		first, n := of[k][0], len(of[k])
		switch {
		case n < 3:
			for _, p := range of[k] {
				lines = append(lines, p.String())
			}
		case k.cell == "":
			lines = append(lines, fmt.Sprintf("%s: %s; the first is %s", counted(n, "file"), k.reason, first.File))
		default:
			lines = append(lines, fmt.Sprintf("%s of %s: %s; the first is in %s", counted(n, "trial"), k.cell, k.reason, first.File))
		}
	}
	return lines
}
