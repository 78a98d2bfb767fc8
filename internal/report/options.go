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
	if rest.Groups != nil {
		blocks = append(blocks, exploratorySection(all, rest))
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

// exploratorySection shows exploratory metrics. A terminal shows them only if all is set.
func exploratorySection(all bool, table doc.Table) doc.Block {
	in := doc.Markdown | doc.Page
	if all {
		in |= doc.Terminal
	}
	return doc.On(in, doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page,
		Blocks: []doc.Block{table}})
}
