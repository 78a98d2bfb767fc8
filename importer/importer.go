// Package importer turns result files of other tools into runs.
//
// One file is one trial of an arm, in every cell that the file tells of: a fio
// file with four jobs gives four. A format is a package of its own below this
// one, and a Format in the table of package catalog. It reads one file at a time
// from a stream and gives what it finds; where files come from, which arm they
// belong to, what becomes of broken ones and how a run is made of it all is the
// business of this package.
//
// Files are foreign: they may be truncated, empty, made by another version, or
// hostile. A format answers with an error that says what is wrong in the user's
// terms, never with a panic, and never reads more than Limit bytes into memory.
package importer

import (
	"errors"
	"io"
	"time"

	"tare/experiment"
	"tare/experiment/factor"
)

// Limit is the largest size, in bytes, of a document that has to be in memory as
// a whole, and of what an archive may unpack to.
const Limit = 64 << 20

// MostTrials is the largest number of trials that one file may hold, and of values where
// these stand one by one. Each takes many times the memory of its text.
const MostTrials = 500_000

// Format reads the files of one tool.
type Format struct {
	Name string // as on the command line: "vault-benchmark"
	Doc  string // what it reads, in a sentence without a full stop
	// Extensions are those of the files that are looked for in a directory, with
	// their dots; none: every file.
	Extensions []string
	// Serial says that a tool makes the trials of a cell in a file one after the
	// other, and those of another arm at another time: the n-th of two files have
	// nothing in common.
	Serial bool
	// OneName says how one makes the tool give the same benchmark one name in the
	// files of all arms; empty: there is no more to say than that it has to.
	OneName string
	// Settings are the facts that say what work a file's trials did. Arms whose settings differ in a cell are not
	// compared there.
	Settings []Setting
	// Read reads one file and gives its trials, in order. An error is about the
	// whole file: trials beside it do not count. A trial of which only some value is
	// missing or useless is given without it, or with Broken set. Several files may
	// be read at the same time.
	Read func(f File) ([]Trial, error)
	// Mapped gives the format that reads files as a mapping file of a name says, for a
	// format that has no Read without one.
	Mapped func(name string, mapping []byte) (Format, error)
}

// Setting is a fact that says what work was asked for, with what it is where a file does not tell it: the tool's
// default, or "default" where that depends on the system or the version.
type Setting struct{ Name, Default string }

// ErrBeside is the error, or within the error, of Read for a file that the tool
// writes beside its results, such as a log: it holds no trial, and none is lost.
var ErrBeside = errors.New("not a result, but written beside one")

// File is one file to be read.
type File struct {
	Name string // path as the user knows it; for messages, and for formats whose files are told apart by name
	io.Reader
	// Size is that of a regular file, in bytes; 0: not known, as with a pipe.
	Size int64
	// Alone says that each of several arms is one file: what is in them is to be
	// compared, whatever it is called.
	Alone bool
}

// Trial is what a file says of one trial in one cell.
type Trial struct {
	// Arm is the arm's name where the file itself tells it, as the long CSV does;
	// otherwise it is empty and the command line tells.
	Arm string
	// Round is where the file tells which trials belong together; 0: it does not.
	Round int
	// Unpaired says that, as the file itself has it, trials of a round do not belong
	// together: its rounds only count.
	Unpaired bool
	// Cell names what was measured: unique within the file, short, and the same in
	// every file of the same benchmark: "randread-4k", "transit_sign".
	Cell   string
	Kind   string // of workload: "storage", "network", "http", "vault", "cpu", "command", …
	Levels []factor.Level
	Start  time.Time     // zero: not told
	Wall   time.Duration // of the measured part; 0: not told
	Values []Value       // in the order in which they are to be shown
	// Errors is the share of failed operations, 0 to 1; Known says that the file
	// tells it.
	Errors ErrorRate
	Loop   *experiment.Loop // metrics that a closed loop ties together; nil: none
	// Facts are what the file tells of the system: kernel, versions, sizes, options.
	// An empty one is not told.
	Facts map[string]string
	// Series and Histograms are what happened within the trial. They are kept
	// beside the raw file and are never taken for independent values.
	Series     []Series
	Histograms []Histogram
	// Broken says why the trial is no data although the file is well-formed: the
	// tool reports that it failed, for instance.
	Broken string
}

// Value is one metric of one trial. The unit is a base unit ("s", "bit/s", "B",
// "B/s", "1/s", "" for a count) or the tool's own; formats convert. A metric has
// the same description in every file.
type Value struct {
	Metric experiment.Metric
	Value  float64
}

// ErrorRate is a share of failed operations.
type ErrorRate struct {
	Share float64
	Known bool
}

// Series is a value over time within a trial, as the tool gave it.
type Series struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Seconds []float64 `json:"seconds"` // end of each interval, from the start of the trial
	Values  []float64 `json:"values"`
}

// Histogram is a distribution within a trial. Bin i counts the values from
// Lower[i] to Upper[i].
type Histogram struct {
	Name  string    `json:"name"`
	Unit  string    `json:"unit"`
	Lower []float64 `json:"lower"`
	Upper []float64 `json:"upper"`
	Count []int64   `json:"count"`
}
