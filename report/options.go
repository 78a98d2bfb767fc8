package report

import (
	"time"

	"tare/history"
	"tare/published"
	doc "tare/report/document"
)

// RunOptions is what is shown of a run, and besides its analysis.
type RunOptions struct {
	All        bool             // exploratory metrics on a terminal too
	Experiment []byte           // the experiment file as given; may be empty
	RunDir     string           // the run directory
	Page       string           // the file that the page is written to, for links to the run directory; "": a file in it
	Command    string           // how to repeat the run; "": tare run with the run's own experiment file
	Generated  time.Time        // shown at the foot unless zero
	Published  *published.Table // a section of its own; nil: none
	Decimals   int              // of the published table; AsTheyVary: as many as values vary by
}

// HistoryOptions is what is shown of a history, and besides it.
type HistoryOptions struct {
	All       bool            // exploratory metrics on a terminal and in Markdown too
	Page      string          // the file that the page is written to, for links to runs
	Reports   map[string]bool // run directories that hold a report.html
	Generated time.Time       // shown at the foot unless zero
	// Compared is the comparison of two runs, as a file below the page's directory; nil:
	// there are none.
	Compared func(before, after *history.Run) string
}

// CompareOptions is what is shown of a comparison, and besides it.
type CompareOptions struct {
	All       bool      // exploratory metrics on a terminal too
	Generated time.Time // shown at the foot unless zero
}

// Limits of a page's lists; the run directory has everything.
const (
	mostInvalids = 300
	mostWarnings = 40
	mostRows     = 48 // rows of one forest plot, beyond which it is split by cell
	mostOpen     = 12 // charts that are open from the start
)

// tables are the rows of headline metrics, below them other blocks, and then the rows of exploratory
// metrics, on a terminal if asked; nil where there is none of these.
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

// detail is a section with a note above what it shows; none where there is nothing to show.
func detail(id, title, note string, blocks []doc.Block) []doc.Block {
	if blocks == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: id, Title: title, Blocks: append([]doc.Block{doc.Say(note)}, blocks...)}}
}

// exploratorySection shows exploratory metrics, on a terminal if asked.
func exploratorySection(all bool, table doc.Table) doc.Block {
	in := doc.Markdown | doc.Page
	if all {
		in |= doc.Terminal
	}
	return doc.On(in, doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page,
		Blocks: []doc.Block{table}})
}
