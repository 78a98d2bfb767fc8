// Package export writes a run in the formats of other programs: trials as CSV
// for spreadsheets, notebooks and databases, trials as Go benchmark results for
// benchstat, estimates as OpenMetrics for Prometheus and its kin, and the analysis
// as JSON.
//
// An exporter decides nothing: which trials count, what an arm costs and how sure
// that is have been decided in package analysis. The formats of trials therefore
// hold all of them, valid or not, or say what they leave out; estimates leave the
// house only together with their bounds and their verdict.
//
// A bundle is the run itself, to publish.
//
// tables.go lays trials out as a table; gobench.go, openmetrics.go and JSON stand on their own.
package export

import (
	"io"

	"tare/analysis"
	"tare/journal"
	"tare/report"
)

// Run is what is exported: a run as recorded, and what the analysis makes of it.
type Run struct {
	Record   *journal.Run
	Analysis *analysis.Run
}

// Format is one way of writing a run.
type Format struct {
	Name   string // as on the command line
	Doc    string // what it holds, in a sentence without a full stop
	Binary string // name of a file for what is not fit for a terminal; "": it is text
	Write  func(w io.Writer, r Run) error
}

// Formats are all formats, in the order in which they are listed.
var Formats = []Format{
	{Name: "csv", Doc: "one line for each trial and metric", Write: CSV},
	{Name: "gobench", Doc: "valid trials as Go benchmark results, for benchstat", Write: GoBench},
	{Name: "openmetrics", Doc: "verdicts, overheads and medians, for Prometheus", Write: OpenMetrics},
	{Name: "json", Doc: "the whole analysis", Write: JSON},
	{Name: "bundle", Doc: "the run itself as one archive to publish (tar.gz): what tare verify checks, and nothing else", Binary: "run.tar.gz", Write: Bundle},
}

// JSON writes the analysis; docs/analysis.schema.json describes it.
func JSON(w io.Writer, r Run) error { return report.JSON(w, r.Analysis) }
