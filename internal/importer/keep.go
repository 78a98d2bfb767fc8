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

	"tare/internal/run/journal"
)

// withinDocument is the content of a stored file. It holds what one imported file has from inside its trials: time
// series, or histograms.
type withinDocument struct {
	Schema string        `json:"schema"`
	Trials []trialWithin `json:"trials"`
}

type trialWithin struct {
	Cell       string      `json:"cell"`
	Round      int         `json:"round"`
	Series     []Series    `json:"series,omitempty"`
	Histograms []Histogram `json:"histograms,omitempty"`
}

// storedFile is an imported file that is being copied into the run. Reading from it also writes the copy and computes
// the checksum.
type storedFile struct {
	bulk   *journal.Bulk
	in     io.Reader
	name   string // name of the file's copy below the run's directory, set even if Tare keeps no copy
	hasRaw bool   // the run holds the copy of the file, or series or histograms from it
	copied bool   // set if the run holds the copy
	hash   hash.Hash
	buffer *bufio.Reader // the reader of the file; nil after the file was read
	copy   *journal.BulkFile
	bytes  int64
	whole  bool  // set if the file was read to its end
	err    error // error while writing the copy; it ends the import, since the file itself may be fine
	sum    [sha256.Size]byte
	// digests maps each series or histogram file to its SHA-256 digest, by the file's path below the run directory.
	digests map[string]string
}

// begin starts to read a file. The argument number is the file's place in the list of files, from 1, and a part of its
// copy's name.
func (r *run) begin(in io.Reader, number int, from *inputFile) (f *storedFile, err error) {
	parts := []string{fmt.Sprintf("%0*d", len(fmt.Sprint(len(r.files))), number)}
	if from.arm != "" {
		parts = append(parts, from.arm)
	}
	name := filepath.Base(from.path)
	if from.path == stdin {
		name = "stdin"
	}
	f = &storedFile{bulk: r.bulk, in: in, name: r.bulk.RawName(append(parts, name)...), hash: sha256.New()}
	f.buffer = bufio.NewReaderSize(f, 16<<10)
	if !r.NoRaw {
		f.hasRaw, f.copied = true, true
		f.copy, err = r.bulk.Create(f.name)
	}
	return f, err
}

// Read reads from the file and writes the same bytes to the copy.
func (f *storedFile) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	f.whole = errors.Is(err, io.EOF)
	f.bytes += int64(n)
	f.hash.Write(p[:n]) // writing to a hash never fails
	if f.copy != nil && f.err == nil && n > 0 {
		if _, f.err = f.copy.Write(p[:n]); f.err != nil {
			return 0, f.err
		}
	}
	return n, err
}

// finish reads the rest of the file, to complete its copy. Of a broken file it reads at most Limit bytes; a larger
// broken file gets no copy.
func (f *storedFile) finish(broken bool, size int64) error {
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
		return nil // the file ended with an error, which the format has already reported
	}
	if closeErr := f.copy.Close(); closeErr != nil {
		return closeErr
	}
	f.copy = nil
	if f.whole && err == nil {
		return nil
	}
	f.hasRaw, f.copied = false, false // a file that was not read to its end has no copy
	return f.bulk.Remove(f.name)
}

// raw returns the name under which trials refer to the file's copy, series and histograms; "" if the run holds none of
// them.
func (f *storedFile) raw() string {
	if f == nil || !f.hasRaw {
		return ""
	}
	return f.name
}

// within writes the series or histograms of a file's trials beside the file's copy. kind is "series" or "histograms", a
// part of the name and schema.
func (f *storedFile) within(kind string, trials []trialWithin) error {
	if len(trials) == 0 {
		return nil
	}
	name := f.name + "." + kind + ".json"
	w, err := f.bulk.Create(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	document := withinDocument{"tare." + kind + "/v1", trials}
	if err := errors.Join(json.NewEncoder(io.MultiWriter(w, sum)).Encode(document), w.Close()); err != nil {
		return err
	}
	if f.digests == nil {
		f.digests = map[string]string{}
	}
	f.digests[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

func (r *run) list(line journal.ImportedFile, f *storedFile) error {
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
	return json.NewEncoder(r.lines).Encode(line)
}
