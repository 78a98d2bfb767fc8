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

	"tare/internal/run/machine/owned"
	"tare/internal/text/mask"
	"tare/internal/text/safetext"
)

// raw is the directory of one trial's raw output. It implements workload.Raw.
type raw struct {
	journal *Journal
	dir     string

	mu      sync.Mutex
	open    map[*rawFile]bool
	digests map[string]string // SHA-256 digests of the closed files, by name
	err     error             // the first write error
}

// Raw makes the directory for the raw output of one trial: raw/ROUND-ARM-CELL, from the second attempt on with
// -ATTEMPT. It replaces a directory that an interrupted trial left.
func (j *Journal) Raw(round, attempt int, arm, cell string) (*raw, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name := fmt.Sprintf("%03d-%s-%s", round, safeName(arm), safeName(cell))
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
	r := &raw{journal: j, dir: dir, open: map[*rawFile]bool{}, digests: map[string]string{}}
	j.raw[dir] = r
	return r, nil
}

func (j *Journal) removeRaw(dir string) error {
	all, err := j.root.Open(RawDir) // j.root refuses a link that leads out of the run
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = all.Close() }()
	return owned.RemoveIn(all, path.Base(dir))
}

// rawTaken reports whether a recorded or running trial uses the directory. It ignores case, as some file systems do.
func (j *Journal) rawTaken(dir string) bool {
	for other := range j.raw {
		if strings.EqualFold(other, dir) {
			return true
		}
	}
	return slices.ContainsFunc(j.run.Trials, func(t Trial) bool { return strings.EqualFold(t.Raw, dir) })
}

// Dir returns the directory relative to the run directory, for Trial.Raw.
func (r *raw) Dir() string { return r.dir }

// Create makes a raw file, whose name can be used only once. Characters unsafe in a file name are replaced. When the
// file's Close returns, the file is on the disk.
func (r *raw) Create(name string) (io.WriteCloser, error) {
	name = safeName(name)
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

// failed turns err into a WriteError. It keeps the first error for finish, since incomplete raw output must not be
// recorded.
func (r *raw) failed(file string, err error) error {
	err = &WriteError{Dir: r.journal.run.Dir, File: file, Err: err}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	return err
}

// finish closes all open files and makes the directory itself durable.
func (r *raw) finish() error {
	r.mu.Lock()
	open := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, w := range open {
		_ = w.Close() // the error is kept in r.err
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
	raw    *raw
	name   string
	file   *os.File
	digest hash.Hash    // digest of the file's content
	masked *mask.Writer // writes to file and digest
	once   sync.Once
	err    error
}

// Write writes to the file and masks secrets.
func (w *rawFile) Write(p []byte) (int, error) {
	n, err := w.masked.Write(p)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		err = w.raw.failed(w.name, err)
	}
	return n, err
}

// Close makes the file durable and closes it. A second Close returns the same result.
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

// maxName is the maximum length of a part of a file name in bytes. File systems allow 255 bytes for the name.
const maxName = 100

// safeName turns a name into a file name that works on every system, and in shells without quotes. It replaces unsafe
// characters by "_".
func safeName(name string) string {
	name = unsafeChars.ReplaceAllString(unsafeStart.ReplaceAllString(name, ""), "_")
	name = strings.TrimRight(name[:min(len(name), maxName)], "_.")
	return windowsDevice.ReplaceAllString(cmp.Or(name, "unnamed"), "${1}_$2")
}

var (
	unsafeStart = regexp.MustCompile(`^[^A-Za-z0-9]+`)
	unsafeChars = regexp.MustCompile(`_?[^A-Za-z0-9._=-]+`)
)

// windowsDevice matches the names that Windows reserves for devices, with any extension.
var windowsDevice = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// Mask sets the secrets to remove from raw output, trials and notes before digests are made. It must be called before
// the first trial.
func (j *Journal) Mask(m *mask.Mask) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mask = m
}

// shownLength is the length, in characters, to which a trial shortens a line printed by a program.
const shownLength = 200

// mask masks secrets in the trial's texts: proofs, reasons and command lines.
func (t *Trial) mask(m *mask.Mask) {
	for i := range t.Invalid {
		t.Invalid[i].Detail = m.Text(t.Invalid[i].Detail)
	}
	t.Checks = slices.Clone(t.Checks)
	for i := range t.Checks {
		c := &t.Checks[i]
		c.Name, c.Expected, c.Observed, c.Caveat = m.Text(c.Name), m.Text(c.Expected), m.Text(c.Observed), m.Text(c.Caveat)
	}
	for a, seen := range t.Behaviour {
		seen.Marks = slices.Clone(seen.Marks)
		for i := range seen.Marks {
			seen.Marks[i] = safetext.Head(m.Text(seen.Marks[i]), shownLength)
		}
		t.Behaviour[a] = seen
	}
	for part, used := range t.Used {
		used.Left = slices.Clone(used.Left)
		for i := range used.Left {
			used.Left[i] = m.Text(used.Left[i])
		}
		t.Used[part] = used
	}
}
