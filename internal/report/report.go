// Package report shows results to people: a run, a comparison of runs, a history, a gate, the published table. Each of
// these views builds one document. The packages text, markdown, html and tex write any document, and package figure
// draws its pictures. For programs there are CSV, JSON and JUnit XML.
//
// A result passes through these steps: the judgement of analysis (or compare, gate, history, published) → the view →
// wording for its numbers and sentences → a document → a writer. Start reading at Run in run.go and at
// document/document.go. The views other than Run have one file each, such as compare.go. sheet.go arranges a run's
// comparisons for reading.
//
// This package runs nothing, reads no file and decides nothing: callers pass all numbers and verdicts. The package
// chooses order and emphasis, by these rules of the method:
//
//   - The answer comes first, in sentences, with the smallest effect that the run could have found.
//   - The control (a second copy of the baseline) stands next to every result, because it shows the size of
//     differences without a cause.
//   - Headline metrics are separate from exploratory ones, which are not corrected for their number.
//   - Verdicts never rely on colour alone. Every arm has its own shape.
//
// Strings in a result come from users, tools and the machine. Views make each string safe before it becomes part of a
// sentence, so that it cannot change the rest of the sentence. Writers make texts safe again, and escape them for their
// form.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/report/columns"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
	"tare/internal/runs/published"
	"tare/internal/text/safetext"
)

// RunOptions selects the content of a run's report. Some fields add content that the analysis does not have, such as
// the experiment file.
type RunOptions struct {
	All        bool             // shows exploratory metrics on a terminal too
	Experiment []byte           // content of the experiment file; may be empty
	RunDir     string           // the run directory
	Page       string           // file of the page, for links to the run directory; "": a file in that directory
	Command    string           // command that repeats the run; "": tare run with the run's own experiment file
	Generated  time.Time        // time of writing, at the foot of a page; zero: none
	Published  *published.Table // published table, as a section; nil: none
	Decimals   int              // decimals of the published table; AsTheyVary: as many as the spread supports
}

// HistoryOptions selects the content of a history, and adds links.
type HistoryOptions struct {
	All       bool            // shows exploratory metrics on a terminal and in Markdown too
	Page      string          // file of the page; links to runs are relative to it
	Reports   map[string]bool // run directories that contain a report.html
	Generated time.Time       // time of writing, at the foot of a page; zero: none
	// Compared returns the file of the comparison of two runs, relative to the page's directory; nil: no
	// comparisons exist.
	Compared func(before, after *history.Run) string
}

// CompareOptions selects the content of a comparison.
type CompareOptions struct {
	All       bool      // shows exploratory metrics on a terminal too
	Generated time.Time // time of writing, at the foot of a page; zero: none
}

// Limits of the views. The run directory has the content beyond these limits.
const (
	maxInvalids      = 300 // invalid trials on a page
	maxWarnings      = 40  // further warnings below those at the top, and hints, on a page
	firstWarnings    = 3   // warnings at the top
	maxScopes        = 3   // most arms, metrics or cells that one warning names
	maxOpen          = 12  // charts that a page shows unfolded
	maxRows          = 48  // rows of one forest plot; a larger plot is split by cell
	maxSorted        = 36  // rows of one plot of sorted overheads, which fits a printed page
	maxBars          = 8   // bars at the top of a page with more than two groups
	maxOverheads     = 8   // overheads drawn at the top of a page
	maxBar           = 40  // width of a bar on a terminal
	minName          = 12  // least width of the names beside bars
	manyArms         = 6   // most treatments that get a sentence each; with more, a table ranks them
	manyCells        = 3   // cells that get a sentence each; verdicts in more cells are counted
	maxSigns         = 8   // verdicts of an arm that a terminal shows one by one; more verdicts are counted
	maxWhere         = 24  // width of a cell's name on a terminal
	maxSeries        = 60  // most metrics for which a page shows the diagnostics of each arm
	maxFiles         = 12  // invalid files on a terminal
	maxMarkdownFiles = 50  // invalid files in Markdown
	maxValues        = 4   // most values that are listed for one fact in imported files
	maxSame          = 12  // largest number of equal properties that a terminal names in one group
	longProperty     = 60  // width up to which the values of a property stand in one line; wider: one line each
	longestTitle     = 120 // characters of a title
	maxListed        = 3   // number of a run's results that a list of runs shows
	maxLive          = 15  // trials on a live page
	maxLeftOut       = 10  // most left-out runs of a history that a terminal lists
	maxRunRows       = 500 // latest runs of a history on a page
	maxRunEvents     = 8   // events listed with a run of a history
	maxEvents        = 3   // events listed with a change
	maxDecimals      = 6   // decimals of a mean in a published table
	collapseShare    = 0.8 // an overloaded arm with a lower share of its capacity than this counts as collapsed
)

// tables returns the table of headline metrics, the blocks below, and the table of exploratory metrics. Without all, a
// terminal omits the last table.
func tables(all bool, headline, rest doc.Table, below ...doc.Block) (blocks []doc.Block) {
	if headline.Groups != nil {
		blocks = append(blocks, headline)
	}
	blocks = append(blocks, below...)
	if rest.Groups != nil {
		blocks = append(blocks, doc.On(formsIf(all), doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true,
			Fold: doc.Page, Blocks: []doc.Block{rest}}))
	}
	return blocks
}

// formsIf returns all forms with all = true, and all forms except the terminal with all = false.
func formsIf(all bool) doc.Forms {
	if all {
		return doc.Terminal | doc.Markdown | doc.Page
	}
	return doc.Markdown | doc.Page
}

// notedSection returns a section with a note above its blocks; nil if there are no blocks.
func notedSection(id, title, note string, blocks []doc.Block) []doc.Block {
	if blocks == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: id, Title: title, Blocks: append([]doc.Block{doc.Say(note)}, blocks...)}}
}

// plain makes one line of safe text from any string. Writers escape the line for their form.
func plain(s string) string { return safetext.Line(s) }

// brief makes one line of safe text from a text of any length. It leaves out the middle of a very long text.
func brief(s string) string { return columns.Shorten(plain(s), 600, " … ") }

func plainAll(list []string) []string {
	return lists.Map(list, brief)
}

var when, join = wording.When, wording.Join

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
}

// enumerate joins names with commas and "and". If there are more names than limit, it returns their number
// with the noun.
func enumerate(names []string, limit int, noun string) string {
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n > limit && n > 1:
		return fmt.Sprintf("%d %s", n, noun)
	}
	return wording.List(names)
}

func firstFew(list []string, most int, separator, more string) string {
	if extra := len(list) - most; extra > 0 {
		return strings.Join(list[:most], separator) + fmt.Sprintf("%s%d more", more, extra)
	}
	return strings.Join(list, separator)
}

func number(n int) string { return wording.Number(float64(n), 9) }

// sentence adds a capital and a full stop.
func sentence(text string) string {
	return when(text != "", upperFirst(text)+".")
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

const (
	beforeTrusting   = "Before trusting these numbers"
	exploratoryTitle = "Exploratory metrics"
	exploratoryNote  = "not corrected for their number: hints, not findings"

	observedMark = "(obs.)"
	observedNote = observedMark + ": observational, no experiment; see above."
	ifNormalMark = "if normal"
	ifNormalNote = "if normal: a claim that holds if noise is normal, which so few values cannot show."
)

// better states the better direction of a metric, if known.
func better(m experiment.Metric) string {
	return when(m.Better != "", plain(string(m.Better))+" is better")
}

func notShown(n int) string {
	return wording.Count(n, "exploratory metric is", "exploratory metrics are") + " not shown (--all shows them)"
}

// generatedOn states when a page was made; "" for a zero time.
func generatedOn(t time.Time) string { return when(!t.IsZero(), " on "+minuteOf(t)) }

// minuteOf writes a time to the minute; "" for a zero time.
func minuteOf(t time.Time) string {
	return when(!t.IsZero(), t.UTC().Format("2 January 2006, 15:04 UTC"))
}

// verdict returns a verdict as a word in its style. An observational verdict has a badge.
func verdict(v analysis.Verdict, observed bool) doc.Text {
	word := plain(string(v))
	if v == "" {
		word = "mixed"
	}
	return badged(doc.In(verdictStyle(v), word), observed, "obs.")
}

// badged adds a remark to a text with ok = true. With ok = false, it returns the text alone.
func badged(text doc.Text, ok bool, remark string) doc.Text {
	if ok {
		text = append(text, doc.Span{Words: " "}, doc.Span{Words: remark, Style: doc.Badge})
	}
	return text
}

// gradedVerdict returns the verdict of a comparison as a word. A claim that assumes normal noise gets a
// badge.
func gradedVerdict(c *analysis.Comparison, observed bool) doc.Text {
	return badged(verdict(c.Verdict, observed), ifNormal(c), ifNormalMark)
}

// ifNormal reports whether a comparison makes a claim that assumes normal noise.
func ifNormal(c *analysis.Comparison) bool { return c.Grade == analysis.Normal && c.Verdict.Claims() }

// verdictStyles are the styles of verdicts; the key "" stands for several different verdicts.
var verdictStyles = map[analysis.Verdict]doc.Style{"": doc.Mixed, analysis.Costs: doc.Cost, analysis.Gains: doc.Gain,
	analysis.Equivalent: doc.Equal, analysis.Fails: doc.Cost, analysis.MoreTogether: doc.Cost, analysis.LessTogether: doc.Gain, analysis.AddsUp: doc.Equal, analysis.NotResolved: doc.Open, analysis.Interim: doc.Open, analysis.Restated: doc.Open}

func verdictStyle(v analysis.Verdict) doc.Style { return cmp.Or(verdictStyles[v], doc.Invalid) }

var shiftStyles = map[string]doc.Style{history.Worse: doc.Cost, history.Better: doc.Gain, history.Rose: doc.Rise,
	history.Fell: doc.Fall}

func changeVerdict(c history.Change) doc.Text {
	return doc.In(cmp.Or(shiftStyles[c.Direction], doc.Mixed), c.Direction)
}

var gateStyles = map[gate.Outcome]doc.Style{gate.Pass: doc.Passed, gate.Fail: doc.Failed, gate.Invalid: doc.Invalid}

func gateStyle(o gate.Outcome) doc.Style { return cmp.Or(gateStyles[o], doc.Open) }
