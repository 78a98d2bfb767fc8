package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"tare/importer"
)

// importProgress tells how an import goes: a live line on a terminal, a plain one
// now and then on a pipe. Most imports are over before it says anything.
type importProgress struct {
	w     io.Writer
	live  bool
	next  time.Time // when to say something again
	every time.Duration
	shown bool
}

func newImportProgress(s State, quiet bool) *importProgress {
	p := &importProgress{w: s.Stderr, live: s.StderrTerminal, every: 10 * time.Second}
	if p.live {
		p.every = 200 * time.Millisecond
	}
	if quiet {
		p.w = io.Discard
	}
	p.next = time.Now().Add(p.every)
	return p
}

// update takes how many files of how many are done.
func (p *importProgress) update(done, files int) {
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(p.every)
		p.shown = true
		if p.live {
			fmt.Fprintf(p.w, "\r%d/%d files", done, files)
		} else {
			fmt.Fprintf(p.w, "%d/%d files\n", done, files)
		}
	}
}

// end takes the live line away.
func (p *importProgress) end() {
	if p.live && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// printImported says on stderr what was imported and what was not. Without a run,
// files were only read.
func printImported(s State, r *importer.Result, made bool) {
	verb, rest := "imported", "; trials.jsonl has them all"
	if !made {
		verb, rest = "read", ""
	}
	read := counted(r.Files, "file")
	if r.Broken > 0 {
		read = fmt.Sprintf("%d of %s", r.Files-r.Broken, read)
	}
	fmt.Fprintf(s.Stderr, "%s %s: %s valid", verb, read, counted(r.Valid, "trial"))
	for i, rule := range slices.Sorted(maps.Keys(r.ByRule)) {
		if i == 0 {
			fmt.Fprint(s.Stderr, ", invalid by rule: ")
		} else {
			fmt.Fprint(s.Stderr, ", ")
		}
		fmt.Fprintf(s.Stderr, "%s %d", rule, r.ByRule[rule])
	}
	fmt.Fprintln(s.Stderr)
	for _, p := range r.Problems {
		fmt.Fprintf(s.Stderr, "  %s\n", plainText(p.String()))
	}
	if more := r.More; more > 0 {
		fmt.Fprintf(s.Stderr, "  and %d more%s\n", more, rest)
	}
	for _, text := range r.Remarks {
		fmt.Fprintf(s.Stderr, "note: %s\n", plainText(text))
	}
}
