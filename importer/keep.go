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
	"path/filepath"

	"tare/journal"
)

// The files of an imported run besides those of every run and journal.FilesFile.
const (
	seriesFile     = "series.json"     // behind a copy's name and a dot: what happened within its trials
	histogramsFile = "histograms.json" // behind a copy's name and a dot: distributions within its trials

	seriesSchema     = "tare.series/v1"
	histogramsSchema = "tare.histograms/v1"
)

// withinDocument is seriesFile or histogramsFile.
type withinDocument struct {
	Schema string        `json:"schema"`
	Trials []trialWithin `json:"trials"`
}

// trialWithin is what happened within one trial.
type trialWithin struct {
	Cell       string      `json:"cell"`
	Round      int         `json:"round"`
	Series     []Series    `json:"series,omitempty"`     // in seriesFile
	Histograms []Histogram `json:"histograms,omitempty"` // in histogramsFile
}

// keeper keeps what trials came from: each file's copy, size and checksum. Several
// files may be read at the same time; the list of them is for one goroutine.
type keeper struct {
	run      *journal.Bulk
	copies   bool // whether files are copied into the run
	manifest *journal.BulkFile
	lines    *bufio.Writer
	digits   int // of the largest number of a file
}

func newKeeper(run *journal.Bulk, copies bool, files int) (*keeper, error) {
	manifest, err := run.Create(journal.FilesFile)
	if err != nil {
		return nil, err
	}
	return &keeper{run: run, copies: copies, manifest: manifest, lines: bufio.NewWriter(manifest), digits: len(fmt.Sprint(files))}, nil
}

// kept is a file while it is read, and what is known of it thereafter.
type kept struct {
	keeper *keeper
	in     io.Reader
	name   string // of its copy below the run, also where there is none
	kept   bool   // something is kept under that name
	copied bool   // that is the copy
	hash   hash.Hash
	buffer *bufio.Reader // nil once it is read
	copy   *journal.BulkFile
	bytes  int64
	whole  bool  // read to its end
	err    error // in writing the copy: the run's fault, not the file's
	sum    [sha256.Size]byte
	// digests are those of what was found within its trials, by name below the run
	digests map[string]string
}

// begin begins to read a file, the number-th of all.
func (k *keeper) begin(in io.Reader, number int, from *found) (f *kept, err error) {
	parts := []string{fmt.Sprintf("%0*d", k.digits, number)}
	if from.arm != "" {
		parts = append(parts, from.arm)
	}
	name := filepath.Base(from.path)
	if from.path == stdin {
		name = "stdin"
	}
	f = &kept{keeper: k, in: in, name: k.run.RawName(append(parts, name)...), hash: sha256.New()}
	f.buffer = bufio.NewReaderSize(f, 16<<10)
	if k.copies {
		f.kept, f.copied = true, true
		f.copy, err = k.run.Create(f.name)
	}
	return f, err
}

// Read reads from the file and copies what was read.
func (f *kept) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	f.whole = errors.Is(err, io.EOF)
	f.bytes += int64(n)
	f.hash.Write(p[:n]) // never fails
	if f.copy != nil && f.err == nil && n > 0 {
		if _, f.err = f.copy.Write(p[:n]); f.err != nil {
			return 0, f.err
		}
	}
	return n, err
}

// finish reads what the format left over. Of a broken file nothing beyond Limit
// is of interest: it is then given up, together with its copy, and not read on where
// its size, 0 if not known, tells that it is larger.
func (f *kept) finish(broken bool, size int64) error {
	rest := io.Reader(f.buffer)
	switch {
	case broken && size > Limit:
		rest = io.LimitReader(rest, 0)
		f.bytes = size
	case broken:
		rest = io.LimitReader(rest, max(Limit-f.bytes, 0))
	}
	_, err := io.Copy(io.Discard, rest)
	f.hash.Sum(f.sum[:0])
	f.buffer, f.in = nil, nil
	if f.err != nil {
		return f.err
	}
	if f.copy == nil {
		return nil // an error in reading is the format's to tell; it ended the file there
	}
	if closeErr := f.copy.Close(); closeErr != nil {
		return closeErr
	}
	f.copy = nil
	if f.whole && err == nil {
		return nil
	}
	f.kept, f.copied = false, false // what was not read to its end is no copy
	return f.keeper.run.Remove(f.name)
}

// raw is the name below the run under which something is kept of the file; ""
// if there is nothing.
func (f *kept) raw() string {
	if !f.kept {
		return ""
	}
	return f.name
}

// within keeps what happened within the trials.
func (f *kept) within(trials []trialWithin) error {
	series, histograms := withinDocument{Schema: seriesSchema}, withinDocument{Schema: histogramsSchema}
	for _, t := range trials {
		if len(t.Series) > 0 {
			series.Trials = append(series.Trials, trialWithin{Cell: t.Cell, Round: t.Round, Series: t.Series})
		}
		if len(t.Histograms) > 0 {
			histograms.Trials = append(histograms.Trials, trialWithin{Cell: t.Cell, Round: t.Round, Histograms: t.Histograms})
		}
	}
	return errors.Join(f.document(seriesFile, series), f.document(histogramsFile, histograms))
}

func (f *kept) document(name string, d withinDocument) error {
	if len(d.Trials) == 0 {
		return nil
	}
	w, err := f.keeper.run.Create(f.name + "." + name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := errors.Join(json.NewEncoder(io.MultiWriter(w, sum)).Encode(d), w.Close()); err != nil {
		return err
	}
	if f.digests == nil {
		f.digests = map[string]string{}
	}
	f.digests[f.name+"."+name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

func (k *keeper) record(line journal.ImportedFile, f *kept) error {
	line.Schema = journal.FileSchema
	if f != nil {
		line.Bytes, line.Within = f.bytes, f.digests
		if f.copied {
			line.Raw = f.name
		}
		if f.whole {
			line.SHA256 = hex.EncodeToString(f.sum[:])
		}
	}
	return json.NewEncoder(k.lines).Encode(line)
}

func (k *keeper) close() error {
	return errors.Join(k.lines.Flush(), k.manifest.Close())
}
