package importer

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"path/filepath"
	"strings"

	"tare/journal"
)

// The files of an imported run besides those of every run.
const (
	FilesFile      = "files.jsonl"     // one line for every file that was read
	SeriesFile     = "series.json"     // beside a file's copy: what happened within its trials
	HistogramsFile = "histograms.json" // beside a file's copy: distributions within its trials
)

// Schemas of these files.
const (
	FileSchema       = "tare.file/v1"
	SeriesSchema     = "tare.series/v1"
	HistogramsSchema = "tare.histograms/v1"
)

// KeptFile is one line of FilesFile: where trials came from.
type KeptFile struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`             // as given; "-" is standard input
	Arm    string `json:"arm,omitempty"`    // as given; "": the file tells
	Bytes  int64  `json:"bytes"`            // read
	SHA256 string `json:"sha256,omitempty"` // "": the file was not read to its end
	Raw    string `json:"raw,omitempty"`    // its copy's directory below the run's
	Trials int    `json:"trials"`
	Broken string `json:"broken,omitempty"` // why it gave no trials
}

// SeriesDocument is SeriesFile.
type SeriesDocument struct {
	Schema string        `json:"schema"`
	Trials []TrialSeries `json:"trials"`
}

// TrialSeries are the series of one trial.
type TrialSeries struct {
	Cell   string   `json:"cell"`
	Round  int      `json:"round"`
	Series []Series `json:"series"`
}

// HistogramsDocument is HistogramsFile.
type HistogramsDocument struct {
	Schema string            `json:"schema"`
	Trials []TrialHistograms `json:"trials"`
}

// TrialHistograms are the distributions of one trial.
type TrialHistograms struct {
	Cell       string      `json:"cell"`
	Round      int         `json:"round"`
	Histograms []Histogram `json:"histograms"`
}

// keeper keeps what trials came from: each file's copy, size and checksum.
type keeper struct {
	run      *journal.Bulk
	copies   bool // whether files are copied into the run
	manifest *journal.BulkFile
	lines    *bufio.Writer
	digits   int // of the largest number of a file
	hash     hash.Hash
	buffer   *bufio.Reader
}

// newKeeper begins the list of files.
func newKeeper(run *journal.Bulk, copies bool, files int) (*keeper, error) {
	manifest, err := run.Create(FilesFile)
	if err != nil {
		return nil, err
	}
	return &keeper{
		run: run, copies: copies, manifest: manifest, lines: bufio.NewWriter(manifest),
		digits: len(fmt.Sprint(files)), hash: sha256.New(), buffer: bufio.NewReaderSize(nil, 64<<10),
	}, nil
}

// kept is a file while it is read.
type kept struct {
	keeper *keeper
	in     io.Reader
	dir    string // raw directory, once there is one
	label  string // of that directory
	copy   *journal.BulkFile
	bytes  int64
	whole  bool  // read to its end
	err    error // in writing the copy: the run's fault, not the file's
}

// begin begins to read a file, the number-th of all.
func (k *keeper) begin(in io.Reader, number int, arm, name string) (*kept, io.Reader, error) {
	f := &kept{keeper: k, in: in, label: fmt.Sprintf("%0*d", k.digits, number)}
	if arm != "" {
		f.label += "-" + arm
	}
	k.hash.Reset()
	k.buffer.Reset(f)
	if !k.copies {
		return f, k.buffer, nil
	}
	dir, err := f.directory()
	if err != nil {
		return nil, nil, err
	}
	name = filepath.Base(name)
	if name == SeriesFile || name == HistogramsFile || name == stdin {
		name = "file-" + strings.TrimLeft(name, "-")
	}
	f.copy, err = k.run.Create(path.Join(dir, name))
	return f, k.buffer, err
}

// Read reads from the file and copies what was read.
func (f *kept) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	f.whole = errors.Is(err, io.EOF)
	f.bytes += int64(n)
	f.keeper.hash.Write(p[:n]) // never fails
	if f.copy != nil && f.err == nil {
		if _, f.err = f.copy.Write(p[:n]); f.err != nil {
			return 0, f.err
		}
	}
	return n, err
}

// directory gives the file's raw directory, which it makes when first asked.
func (f *kept) directory() (string, error) {
	var err error
	if f.dir == "" {
		f.dir, err = f.keeper.run.RawDir(f.label)
	}
	return f.dir, err
}

// finish reads what the format left over. Of a broken file nothing beyond Limit
// is of interest: it is then given up, together with its copy.
func (f *kept) finish(broken bool) error {
	rest := io.Reader(f.keeper.buffer)
	if broken {
		rest = io.LimitReader(rest, max(Limit-f.bytes, 0))
	}
	_, err := io.Copy(io.Discard, rest)
	if f.err != nil {
		return f.err
	}
	if f.copy == nil {
		return nil // an error in reading is the format's to tell; it ended the file there
	}
	if closeErr := f.copy.Close(); closeErr != nil {
		return closeErr
	}
	if f.whole && err == nil {
		return nil
	}
	return f.forget()
}

// forget removes the copy of a file that was not read to its end.
func (f *kept) forget() error {
	err := f.keeper.run.Remove(f.copy.Name())
	if err == nil {
		err = f.keeper.run.Remove(f.dir)
	}
	f.copy, f.dir = nil, ""
	return err
}

// within keeps what happened within the trials of the file.
func (f *kept) within(series []TrialSeries, histograms []TrialHistograms) error {
	if len(series) > 0 {
		if err := f.document(SeriesFile, SeriesDocument{SeriesSchema, series}); err != nil {
			return err
		}
	}
	if len(histograms) > 0 {
		return f.document(HistogramsFile, HistogramsDocument{HistogramsSchema, histograms})
	}
	return nil
}

func (f *kept) document(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	dir, err := f.directory()
	if err != nil {
		return err
	}
	w, err := f.keeper.run.Create(path.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return errors.Join(err, w.Close())
}

// record adds the file's line to the list.
func (k *keeper) record(line KeptFile, f *kept) error {
	line.Schema = FileSchema
	if f != nil {
		line.Bytes, line.Raw = f.bytes, f.dir
		if f.whole {
			line.SHA256 = hex.EncodeToString(k.hash.Sum(nil))
		}
	}
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("%s: %w", FilesFile, err)
	}
	_, err = k.lines.Write(append(data, '\n'))
	return err
}

// close ends the list of files.
func (k *keeper) close() error {
	return errors.Join(k.lines.Flush(), k.manifest.Close())
}
