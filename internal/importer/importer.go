// Package importer turns result files of other tools into runs.
//
// A file holds one trial of an arm in each cell of its results: a fio file with four jobs gives four trials. Each
// format has a package below this one, and its Format stands in the table of package catalog. A format reads a file and
// returns its trials. This package finds the files, assigns them to arms, records broken files, and writes the run.
//
// Files come from other people, and may be truncated, empty, of another version, or hostile. A format returns an error
// that names the problem in the user's terms, and never panics. No format reads more than Limit bytes into memory.
package importer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
)

// Limit is the largest size, in bytes, of a document that must be in memory completely, and of an archive's content.
const Limit = 64 << 20

// MostTrials is the largest number of trials in one file, or of values if each row has one value. Each trial takes many
// times the memory of its text.
const MostTrials = 500_000

// Format reads the files of one tool.
type Format struct {
	Name       string   // the name on the command line: "vault-benchmark"
	Doc        string   // the files that the format reads, in a sentence without a full stop
	Extensions []string // file name extensions, with their dots; from a directory, an import takes only files with these; nil: all files
	// Serial is set if the tool runs the trials of one file one after the other. Trials with equal numbers in two files
	// then ran at different times and are no pair.
	Serial bool
	// OneName tells users how to make the tool give a benchmark one name in the files of all arms. "": there is no
	// special way.
	OneName string
	// Settings lists the facts that describe the work of a file's trials. Arms are not compared in a cell in which
	// their settings differ.
	Settings []Setting
	// Read reads one file and returns its trials, in order. An error is about the file as a whole. A faulty trial comes
	// without the faulty value, or with Broken set. Read may run for several files at once.
	Read func(f File) ([]Trial, error)
	// Mapped returns the format that a mapping file describes. The argument name is the path of the mapping file. A
	// format has either Read or Mapped.
	Mapped func(name string, mapping []byte) (Format, error)
}

// Setting names a fact about the requested work, such as a rate. A file without the fact counts as having Default
// ("default": the tool's value depends on the system or version).
type Setting struct{ Name, Default string }

// ErrNoResult is the error of Read for a file that is no result, such as a log that the tool writes. Such a file does
// not count as broken. Read may wrap the error.
var ErrNoResult = errors.New("not a result, but written beside one")

// File is one file to be read.
type File struct {
	Name string // path as the user knows it; messages show it, and formats may recognise files by it
	io.Reader
	Size int64 // the size of a regular file, in bytes; 0 if unknown, as of a pipe
	// Alone is set if there are several arms, each with a single file. The results of these single files then get one
	// cell, so that the arms are compared.
	Alone bool
}

// Trial is a file's record of one trial in one cell.
type Trial struct {
	Arm   string // name of the arm, if the file has it (as the long CSV); "": it is on the command line
	Round int    // the trial's round; 0 if the file contains no rounds
	// Unpaired is set if the file says that its trials are independent samples. Rounds then only number the trials.
	Unpaired bool
	// Cell names the measured benchmark, such as "randread-4k". The name is short, unique within the file, and equal in
	// every file of a benchmark.
	Cell   string
	Kind   string // the kind of workload: "storage", "network", "http", "vault", "cpu", "command", …
	Levels []factor.Level
	Start  time.Time        // the start of the trial; zero: unknown
	Wall   time.Duration    // the duration of the measured part; 0: unknown
	Values []Value          // the values, in the order in which reports show them
	Errors ErrorRate        // the share of failed operations
	Loop   *experiment.Loop // the latency and throughput of a closed loop; nil: no closed loop
	// Facts describe the system: kernel, versions, sizes, options. A fact without text counts as missing.
	Facts map[string]string
	// Series and Histograms show how values changed and spread within the trial. The analysis never takes them for
	// independent values.
	Series     []Series
	Histograms []Histogram
	// Broken is the reason why a trial in a well-formed file is invalid, such as a failure that the tool reports.
	// Broken is empty for a valid trial.
	Broken string
}

// Value is one metric of one trial, in base units ("s", "bit/s", "B", "B/s", "1/s", "" for a count) or in a unit of the
// tool's own. Every file describes a metric alike.
type Value struct {
	Metric experiment.Metric
	Value  float64
}

// ErrorRate is a share of failed operations, 0 to 1. Known is set if the file contains the share.
type ErrorRate struct {
	Share float64
	Known bool
}

// Series is a quantity over time within a trial, with one value for each interval of the tool.
type Series struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Seconds []float64 `json:"seconds"` // the end of each interval, in seconds from the start of the trial
	Values  []float64 `json:"values"`
}

// Histogram is a distribution within a trial. Bin i counts the values from Lower[i] to Upper[i].
type Histogram struct {
	Name  string    `json:"name"`
	Unit  string    `json:"unit"`
	Lower []float64 `json:"lower"`
	Upper []float64 `json:"upper"`
	Count []int64   `json:"count"`
}

// Add adds a bin.
func (h *Histogram) Add(lower, upper float64, count int64) {
	h.Lower, h.Upper, h.Count = append(h.Lower, lower), append(h.Upper, upper), append(h.Count, count)
}

// Ratio returns a metric whose values are positive, and are compared by ratios. If it is no headline, trials may lack
// it.
func Ratio(name, unit string, better experiment.Better, headline bool) experiment.Metric {
	return experiment.Metric{Name: name, Unit: unit, Better: better, Headline: headline, Scale: experiment.Ratio, Optional: !headline}
}

// Difference returns a metric for a count or share that may be zero. Its values are compared by differences, and lower
// is better.
func Difference(name string) experiment.Metric {
	return experiment.Metric{Name: name, Better: experiment.Lower, Scale: experiment.Difference, Optional: true}
}

// Add adds a value to the trial.
func (t *Trial) Add(m experiment.Metric, v float64) {
	t.Values = append(t.Values, Value{Metric: m, Value: v})
}

// AddFit adds a value unless it does not fit the metric's scale, such as zero on a ratio scale. The result reports
// whether the value was added.
func (t *Trial) AddFit(m experiment.Metric, v float64) bool {
	fits := !unfit(Value{Metric: m, Value: v})
	if fits {
		t.Add(m, v)
	}
	return fits
}

// Seconds returns a duration of s seconds; 0 (unknown) if s is not positive, or too large for a duration.
func Seconds(s float64) time.Duration {
	if ns := s * 1e9; ns > 0 && ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return 0
}

// TooLargeError is the error of a document, or of an unpacked archive, that is larger than the limit.
type TooLargeError struct {
	What string // the text that is too large: "the document", "knb.tcp.txt in the archive"
	Max  int64  // the limit, in bytes
}

// Error says what is too large, and gives the limit in megabytes (in bytes if it is below 1 MB).
func (e *TooLargeError) Error() string {
	if e.Max < 1<<20 {
		return fmt.Sprintf("%s is larger than %d bytes, the most that is read", e.What, e.Max)
	}
	return fmt.Sprintf("%s is larger than %d MB, the most that is read", e.What, e.Max>>20)
}

// Bound returns a reader that fails with a TooLargeError if r holds more than the given number of bytes, as a
// decompression bomb does. If r is a File known to be larger, the first read fails.
func Bound(r io.Reader, most int64, what string) io.Reader {
	b := &bounded{r: r, left: most, err: &TooLargeError{What: what, Max: most}}
	if f, ok := r.(File); ok && f.Size > most {
		b.left = -1
	}
	return b
}

// CheckCount returns an error if n, a format's count so far, exceeds the limit on trials or values of one file.
func CheckCount(n int) error {
	if n <= MostTrials {
		return nil
	}
	return fmt.Errorf("the file holds more than %d trials or values, the most that is read of one: give it in parts", MostTrials)
}

type bounded struct {
	r    io.Reader
	left int64 // the number of bytes that may still be read
	err  error
}

// Read returns an error as soon as the source has one byte more than the limit.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.err
	}
	return n, err
}

// ReadAll returns the whole content of a document. An empty document, or one of more than Limit bytes, is an error.
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(Bound(r, Limit, "the file"))
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	return data, nil
}

// Whole makes the function Read of a format from a function that needs the file's content as a whole.
func Whole(read func(f File, data []byte) ([]Trial, error)) func(File) ([]Trial, error) {
	return func(f File) ([]Trial, error) {
		data, err := ReadAll(f)
		if err != nil {
			return nil, err
		}
		return read(f, data)
	}
}

// Number reads a decimal number as tools print it. Infinity, NaN, hexadecimal numbers and underscores are
// errors. Blanks around the number are allowed.
func Number(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, errors.New("a number is missing")
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is not a finite number: %w", quoted(text), strconv.ErrRange)
	case err == nil && (math.IsInf(v, 0) || math.IsNaN(v)):
		return 0, fmt.Errorf("%s is not a finite number", quoted(text))
	case err != nil || strings.ContainsAny(text, "_xXpP"):
		return 0, fmt.Errorf("%s is not a number", quoted(text))
	}
	return v, nil
}

// Time reads a time in one of two forms: 2026-01-02T15:04:05Z, or seconds since 1970.
func Time(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	seconds, err := Number(text)
	if err != nil || !(seconds >= 0 && seconds < 1<<33) {
		return time.Time{}, fmt.Errorf("%.40q is neither a time as 2026-01-02T15:04:05Z nor seconds since 1970", text)
	}
	return time.Unix(0, int64(seconds*1e9)), nil
}

func quoted(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}
