package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tare/machine/owned"
	"tare/mask"
)

// Raw is the directory of one trial's raw output. It implements workload.Raw.
type Raw struct {
	journal *Journal
	dir     string

	mu      sync.Mutex
	open    map[*rawFile]bool
	digests map[string]string // SHA-256, of the files that are closed
	err     error             // the first error in writing
}

// Raw makes the directory for the raw output of one trial:
// raw/ROUND-ARM-CELL, and -ATTEMPT from the second attempt. What an interrupted
// trial left there, which is on no record, is removed.
func (j *Journal) Raw(round, attempt int, arm, cell string) (*Raw, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name := fmt.Sprintf("%03d-%s-%s", round, plain(arm), plain(cell))
	if attempt > 1 {
		name += fmt.Sprintf("-%d", attempt)
	}
	dir := path.Join(RawDir, name)
	for n := 2; j.rawTaken(dir); n++ {
		dir = path.Join(RawDir, fmt.Sprintf("%s+%d", name, n))
	}
	err := j.removeRaw(dir)
	if err == nil {
		err = j.root.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return nil, &WriteError{Dir: j.run.Dir, File: dir, Err: err}
	}
	r := &Raw{journal: j, dir: dir, open: map[*rawFile]bool{}, digests: map[string]string{}}
	j.raw[dir] = r
	return r, nil
}

// removeRaw removes a directory in RawDir.
func (j *Journal) removeRaw(dir string) error {
	all, err := j.root.Open(RawDir) // and follows no link out of the run
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = all.Close() }()
	return owned.RemoveIn(all, path.Base(dir))
}

// rawTaken says whether a directory belongs to a trial on record or to one that
// is running: names of arms and cells may be alike once they are made plain, or
// on a file system that does not tell capitals apart.
func (j *Journal) rawTaken(dir string) bool {
	for other := range j.raw {
		if strings.EqualFold(other, dir) {
			return true
		}
	}
	for i := range j.run.Trials {
		if strings.EqualFold(j.run.Trials[i].Raw, dir) {
			return true
		}
	}
	return false
}

// Dir is the directory relative to the run's: what Trial.Raw is to be.
func (r *Raw) Dir() string { return r.dir }

// Create opens a file to be kept. What is not fit for a file name is replaced,
// so that a name never leads out of the directory; a name that was used before
// is an error. The file is on the disk when its Close returns.
func (r *Raw) Create(name string) (io.WriteCloser, error) {
	name = plain(name)
	file := path.Join(r.dir, name)
	f, err := r.journal.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("raw output %s is there already: a trial writes each file once", file)
	}
	if err != nil {
		return nil, r.failed(file, err)
	}
	w := &rawFile{raw: r, name: file, file: f, digest: sha256.New()}
	r.mu.Lock()
	w.masked = r.journal.mask.Writer(io.MultiWriter(f, w.digest))
	r.open[w] = true
	r.mu.Unlock()
	return w, nil
}

// failed wraps an error in writing and remembers the first: raw output that is
// not whole must not be recorded as if it were.
func (r *Raw) failed(file string, err error) error {
	err = &WriteError{Dir: r.journal.run.Dir, File: file, Err: err}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return err
}

// finish closes what is still open and makes the directory itself durable.
func (r *Raw) finish() error {
	r.mu.Lock()
	open := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, w := range open {
		_ = w.Close() // its error is kept
	}
	r.mu.Lock()
	err := r.err
	r.mu.Unlock()
	if err != nil {
		return err
	}
	for _, dir := range []string{r.dir, RawDir} {
		if err := syncDir(r.journal.root, dir); err != nil {
			return r.failed(dir, err)
		}
	}
	return nil
}

type rawFile struct {
	raw    *Raw
	name   string
	file   *os.File
	digest hash.Hash    // of what is in the file
	masked *mask.Writer // to both
	once   sync.Once
	err    error
}

// Write writes to the file, without the secrets that the journal's mask knows.
func (w *rawFile) Write(p []byte) (int, error) {
	n, err := w.masked.Write(p)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		err = w.raw.failed(w.name, err)
	}
	return n, err
}

// Close makes the file durable and closes it. Closing again gives the same
// result.
func (w *rawFile) Close() error {
	w.once.Do(func() {
		if err := errors.Join(w.masked.Close(), w.file.Sync(), w.file.Close()); err != nil {
			w.err = w.raw.failed(w.name, err)
		}
		w.raw.mu.Lock()
		delete(w.raw.open, w)
		w.raw.digests[path.Base(w.name)] = hex.EncodeToString(w.digest.Sum(nil))
		w.raw.mu.Unlock()
	})
	return w.err
}

// maxName bounds a part of a file name; file systems take 255 bytes for the whole.
const maxName = 100

// plain makes a name fit to be a file name everywhere and easy in a shell:
// letters, digits and "._=-" stay, runs of anything else become "_", and it
// begins with a letter or digit.
func plain(name string) string {
	name = unfit.ReplaceAllString(unfitBefore.ReplaceAllString(name, ""), "_")
	name = strings.TrimRight(name[:min(len(name), maxName)], "_.")
	return device.ReplaceAllString(cmp.Or(name, "unnamed"), "${1}_$2")
}

var (
	unfitBefore = regexp.MustCompile(`^[^A-Za-z0-9]+`)
	unfit       = regexp.MustCompile(`_?[^A-Za-z0-9._=-]+`)
)

// device matches the names that Windows keeps for devices, whatever follows a dot.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)
