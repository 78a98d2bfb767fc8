// Package export writes a run in the formats of other programs: trials as CSV for spreadsheets, notebooks
// and databases, trials as Go benchmark results for benchstat, estimates as OpenMetrics for Prometheus,
// and the analysis as JSON. A bundle is the run itself, to publish.
//
// An exporter decides nothing. Package analysis decides which trials count, what an arm costs and how
// certain this is. Formats of trials hold all trials, valid or not, or state what they leave out.
// Estimates are exported only with their intervals and verdicts.
//
// tables.go writes trials as a table. The other formats have one file each.
package export

import (
	"io"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/run/journal"
)

// Run is a recorded run with its analysis.
type Run struct {
	Record   *journal.Run
	Analysis *analysis.Run
}

// Format is a format of exported runs.
type Format struct {
	Name   string // name on the command line
	Doc    string // content of the format, in a sentence without a full stop
	Binary string // default file name of a binary format; "": the format is text
	Write  func(w io.Writer, r Run) error
}

// Formats lists all formats in the order of the help text.
var Formats = []Format{
	{Name: "csv", Doc: "one line for each trial and metric", Write: CSV},
	{Name: "gobench", Doc: "valid trials as Go benchmark results, for benchstat", Write: goBench},
	{Name: "openmetrics", Doc: "verdicts, overheads and medians, for Prometheus", Write: openMetrics},
	{Name: "json", Doc: "the whole analysis", Write: JSON},
	{Name: "bundle", Doc: "the run itself as one archive to publish (tar.gz): the files that tare verify checks, and no others", Binary: "run.tar.gz", Write: bundle},
}

// JSON writes the analysis. docs/analysis.schema.json describes the format.
func JSON(w io.Writer, r Run) error { return report.JSON(w, r.Analysis) }
