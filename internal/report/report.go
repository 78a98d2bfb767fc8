// Package report shows results to people: a run, a comparison of runs, a history, a gate, the published
// table. Each of these views builds one document. The writers in internal/report/text, internal/report/markdown,
// internal/report/html and internal/report/tex show any document, and internal/report/figure draws its pictures. For programs there
// are CSV, JSON and JUnit XML.
//
// A result passes through these steps: the judgement of analysis (or compare, gate, history, published) →
// the view → wording for its numbers and sentences → a document → a writer. Start reading at Run in
// run.go and at document/document.go. The other views follow the same pattern: compare.go, history.go,
// gate.go and published.go. sheet.go arranges a run's comparisons for reading.
//
// This package runs nothing, reads no file and decides nothing: all numbers and verdicts are given. It
// chooses order and emphasis, by these rules of the method:
//
//   - The answer comes first, in sentences, with the smallest effect that the run could have found.
//   - The control (a second copy of the baseline) stands next to every result, because it shows the size of
//     differences without a cause.
//   - Headline metrics are separate from exploratory ones, which are not corrected for their number.
//   - Verdicts never rely on colour alone. Every arm has its own shape.
//
// Strings in a result come from users, tools and the machine. Views make each of them safe before it
// becomes part of a sentence, so that it cannot change the rest. Writers do so again, and escape.
package report

import (
	"time"

	doc "tare/internal/report/document"
	"tare/internal/runs/history"
	"tare/internal/runs/published"
)

// RunOptions selects the content of a run's report, and adds content besides the analysis.
type RunOptions struct {
	All        bool             // shows exploratory metrics on a terminal too
	Experiment []byte           // the experiment file as given; may be empty
	RunDir     string           // the run directory
	Page       string           // file of the page, for links to the run directory; "": a file in that directory
	Command    string           // command that repeats the run; "": tare run with the run's own experiment file
	Generated  time.Time        // shown at the foot unless zero
	Published  *published.Table // published table, as a section; nil: none
	Decimals   int              // decimals of the published table; AsTheyVary: as many as the spread supports
}

// HistoryOptions selects the content of a history, and adds links.
type HistoryOptions struct {
	All       bool            // shows exploratory metrics on a terminal and in Markdown too
	Page      string          // file of the page, for links to runs
	Reports   map[string]bool // run directories that contain a report.html
	Generated time.Time       // shown at the foot unless zero
	// Compared returns the file of the comparison of two runs, below the page's directory; nil: there are
	// none.
	Compared func(before, after *history.Run) string
}

// CompareOptions selects the content of a comparison.
type CompareOptions struct {
	All       bool      // shows exploratory metrics on a terminal too
	Generated time.Time // shown at the foot unless zero
}

// Limits of a page's lists. The run directory has everything.
const (
	maxInvalids = 300
	maxWarnings = 40
	maxRows     = 48 // rows of one forest plot; larger plots are split by cell
	maxOpen     = 12 // charts that are open at first
)

// tables returns the table of headline metrics, then other blocks, then the table of exploratory metrics,
// which a terminal shows only if all is set.
func tables(all bool, headline, rest doc.Table, below ...doc.Block) (blocks []doc.Block) {
	if headline.Groups != nil {
		blocks = append(blocks, headline)
	}
	blocks = append(blocks, below...)
	in := doc.Markdown | doc.Page
	if all {
		in |= doc.Terminal
	}
	if rest.Groups != nil {
		blocks = append(blocks, doc.On(in, doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page,
			Blocks: []doc.Block{rest}}))
	}
	return blocks
}

// notedSection returns a section with a note above its blocks; nil without blocks.
func notedSection(id, title, note string, blocks []doc.Block) []doc.Block {
	if blocks == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: id, Title: title, Blocks: append([]doc.Block{doc.Say(note)}, blocks...)}}
}
