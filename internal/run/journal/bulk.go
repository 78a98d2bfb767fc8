package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tare/internal/experiment"
	"tare/internal/run/machine/owned"
)

// Bulk writes a complete run at once, from trials measured before. Until Finish, only a temporary directory exists,
// which Unfinished finds after a kill. Finish syncs all files, many at the same time, and renames the directory.
//
// Several goroutines may create and write files, each its own files. All other methods are for one goroutine.
type Bulk struct {
	dir       string // directory of the finished run
	temporary string // directory of the unfinished run
	root      *os.Root
	lock      *os.File
	trials    *os.File // trials.jsonl; Finish adds the chains of its lines, starting from the plan
	buffer    *bufio.Writer
	size      int64 // length of trials.jsonl so far, in bytes
	count     int
	parents   []string // parent directories that get a new entry, and must therefore be synced
	files     []string // names of the files made so far
	sync      func(file *os.File) error
	syncDir   func(path string) error
	// creating is held while a file is made, since the kernel makes a directory's files one at a time. Waiting for the
	// kernel keeps a CPU busy; waiting for this lock does not.
	creating sync.Mutex
}

// syncsAtOnce is the number of files synced at the same time. A file system combines simultaneous syncs.
const syncsAtOnce = 64

// unfinished is a part of the temporary directory's name, between the run's name and a random number.
// The name starts with a dot to hide the directory.
const unfinished = ".unfinished-"

// NewBulk begins a run directory. As with Create, the directory must be missing or empty.
func NewBulk(dir string) (b *Bulk, err error) {
	temporary, above, err := makeTemporary(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot make the run directory: %w", err)
	}
	b = &Bulk{dir: dir, temporary: temporary, parents: above, sync: (*os.File).Sync, syncDir: SyncDir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Discard())
		}
	}()
	if b.root, b.lock, err = lockDir(temporary); err != nil {
		return b, err
	}
	if err := b.root.Mkdir(RawDir, 0o777); err != nil {
		return b, b.failed(RawDir, err)
	}
	// The lock must be taken before TrialsFile is made: the function abandoned takes TrialsFile with a lock that nobody
	// holds for a leftover.
	if b.trials, err = b.root.Create(TrialsFile); err != nil {
		return b, b.failed(TrialsFile, err)
	}
	b.buffer = bufio.NewWriterSize(b.trials, 256<<10)
	return b, nil
}

func makeTemporary(dir string) (temporary string, above []string, err error) {
	if err := checkEmpty(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	if above, err = makeParents(dir); err != nil {
		return "", nil, err
	}
	// os.MkdirTemp always makes a directory with the mode dirMode.
	temporary, err = os.MkdirTemp(above[0], "."+filepath.Base(dir)+unfinished)
	return temporary, above, err
}

// Add writes one trial. It sets the trial's Seq and Session, and converts its Start to UTC.
func (b *Bulk) Add(t *Trial) error {
	t.Seq = b.count + 1
	t.Session = 1
	t.Start = t.Start.UTC().Round(0)
	line, err := t.Line()
	if err != nil {
		return err
	}
	if len(line)+chainSize >= maxLine {
		return fmt.Errorf("trial of arm %q in cell %q, round %d, takes %d bytes, more than the %d of a line", t.Arm, t.Cell, t.Round, len(line), maxLine)
	}
	if b.size += int64(len(line) + chainSize); b.size > maxLog {
		return fmt.Errorf("%d trials take more than the %d bytes that %s may have: import them in parts", b.count, int64(maxLog), TrialsFile)
	}
	if _, err := b.buffer.Write(append(line, '\n')); err != nil {
		return b.failed(TrialsFile, err)
	}
	b.count++
	return nil
}

// Trials returns the number of trials written so far.
func (b *Bulk) Trials() int { return b.count }

// RawName returns a raw file's path relative to the run directory, for Trial.Raw. It joins parts by "-" and replaces
// unfit characters. The caller keeps the names distinct.
func (b *Bulk) RawName(parts ...string) string {
	for i, part := range parts {
		parts[i] = safeName(part)
	}
	return RawDir + "/" + strings.Join(parts, "-")
}

// Create opens a new file: at the top of the run directory, or at a path from RawName, perhaps with a suffix.
func (b *Bulk) Create(name string) (*BulkFile, error) {
	b.creating.Lock()
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		b.files = append(b.files, name)
	}
	b.creating.Unlock()
	if err != nil {
		return nil, b.failed(name, err)
	}
	return &BulkFile{file: f, bulk: b, name: name}, nil
}

// Remove deletes a file of the run.
func (b *Bulk) Remove(name string) error { return b.root.Remove(name) }

// BulkFile is an open file of a Bulk. Errors of its methods name the file and the run.
type BulkFile struct {
	file *os.File
	bulk *Bulk
	name string
}

// Write writes to the file.
func (f *BulkFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	return n, f.bulk.failed(f.name, err)
}

// Close closes the file.
func (f *BulkFile) Close() error { return f.bulk.failed(f.name, f.file.Close()) }

// Finish writes the remaining files, marks the run as finished, makes all files durable and renames the
// directory. The remarks become notes.
func (b *Bulk) Finish(plan *experiment.Plan, remarks []string) error {
	if err := b.buffer.Flush(); err != nil {
		return b.failed(TrialsFile, err)
	}
	text, err := planText(plan)
	if err == nil {
		err = writeFile(b.root, PlanFile, text)
	}
	if err != nil {
		return b.failed(PlanFile, err)
	}
	files := map[string]string{}
	for _, name := range append(slices.Clone(b.files), PlanFile) {
		if strings.Contains(name, "/") { // raw files are left out: their trials hold the digests
			continue
		}
		if d, err := digest(b.root, name); err == nil {
			files[name] = d
		} else if !errors.Is(err, fs.ErrNotExist) { // a file is missing if the method Remove has deleted it
			return err
		}
	}
	begin, head, err := noteLines("", Note{Kind: NoteSession, Session: 1, Text: "imported", Files: files})
	if err != nil {
		return err
	}
	last, err := b.seal(trialsStart(files[PlanFile], head))
	if err != nil {
		return b.failed(TrialsFile, err)
	}
	var list []Note
	for _, text := range remarks {
		list = append(list, Note{Kind: NoteRemark, Session: 1, Text: text, Trials: b.count, Head: last})
	}
	rest, _, err := noteLines(head, append(list, Note{Kind: NoteFinished, Session: 1, Text: "finished", Trials: b.count, Head: last})...)
	if err != nil {
		return err
	}
	if err := b.settle(); err != nil {
		return err
	}
	if err := writeFile(b.root, NotesFile, append(begin, rest...)); err != nil { // writeFile also syncs the directory
		return b.failed(NotesFile, err)
	}
	if err := os.Rename(b.temporary, b.dir); err != nil {
		return fmt.Errorf("cannot name the run directory, which may have been made by another process meanwhile: %w", err)
	}
	b.temporary = "" // now Discard removes nothing
	for _, dir := range b.parents {
		err = errors.Join(err, b.syncDir(dir))
	}
	return errors.Join(err, b.close())
}

// seal writes the trials again with their chains. The first trial continues the chain head, and the result is the chain
// of the last trial.
func (b *Bulk) seal(head string) (last string, err error) {
	sealed, err := b.root.Create(TrialsFile + ".new")
	if err != nil {
		return "", err
	}
	b.buffer.Reset(sealed)
	_, err = eachLine(io.NewSectionReader(b.trials, 0, math.MaxInt64), TrialsFile, func(line []byte, _ func() string) error {
		body, chain := seal(bytes.TrimSuffix(line, []byte("\n")), head)
		head = chain
		_, err := b.buffer.Write(append(body, '\n'))
		return err
	})
	if err == nil {
		err = b.buffer.Flush()
	}
	if err = errors.Join(err, sealed.Close(), b.trials.Close()); err == nil {
		err = b.root.Rename(TrialsFile+".new", TrialsFile)
	}
	b.trials, b.files = nil, append(b.files, TrialsFile)
	return head, err
}

// settle makes all files and the directory of raw output durable.
func (b *Bulk) settle() error {
	var group errgroup.Group
	group.SetLimit(syncsAtOnce)
	for _, name := range b.files {
		group.Go(func() error {
			f, err := b.root.OpenFile(name, os.O_RDWR, 0)
			if errors.Is(err, fs.ErrNotExist) { // Remove has deleted the file
				return nil
			}
			if err == nil {
				err = errors.Join(b.sync(f), f.Close())
			}
			return b.failed(name, err)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.syncDir(filepath.Join(b.temporary, RawDir))
}

// Discard removes everything that was written. After Finish it does nothing.
func (b *Bulk) Discard() error {
	if b.temporary == "" {
		return nil
	}
	err := errors.Join(b.close(), owned.Remove(b.temporary))
	b.temporary = ""
	return err
}

func (b *Bulk) close() error {
	var errs []error
	if b.trials != nil {
		errs = append(errs, b.trials.Close())
	}
	if b.lock != nil {
		errs = append(errs, b.lock.Close(), b.root.Close())
	}
	return errors.Join(errs...)
}

// failed returns a WriteError that names the file; nil if err is nil.
func (b *Bulk) failed(file string, err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{Dir: b.dir, File: file, Unmade: true, Err: err}
}
