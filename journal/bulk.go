package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tare/experiment"
	"tare/machine/owned"
)

// Bulk writes a whole run that is made in one go, from trials that were measured
// before. Nothing of it stands under the run's name before Finish: a program that
// fails or is killed half-way leaves no half run, only a directory as named by
// unfinished that Unfinished finds. Hence nothing needs to be durable on its own,
// and the logs are synced once, at the end.
//
// Raw output is not synced: it is a copy of files that still exist. Raw files may
// be written by several goroutines, each a file of its own; everything else is for
// one.
type Bulk struct {
	dir       string // what the run is to be called
	temporary string // what it is called until it is finished
	root      *os.Root
	lock      *os.File
	trials    *os.File
	buffer    *bufio.Writer
	size      int64 // of trials.jsonl
	count     int
	top       []string // files of the run's own directory
	head      string   // chain of the last trial
	// making is held while a file is made. The kernel makes one at a time in a
	// directory, and who waits for its turn there keeps a processor busy.
	making sync.Mutex
}

// unfinished is between the name of the run and a random number in the name of
// the directory beside it in which it is being made. The leading dot is hidden.
const unfinished = ".unfinished-"

// NewBulk begins a run directory. Like with Create, dir must not exist or be
// empty.
func NewBulk(dir string) (b *Bulk, err error) {
	temporary, err := makeBeside(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot make the run directory: %w", err)
	}
	b = &Bulk{dir: dir, temporary: temporary}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Discard())
		}
	}()
	if b.root, b.lock, err = hold(temporary); err != nil {
		return b, err
	}
	if err := b.root.Mkdir(RawDir, 0o777); err != nil {
		return b, b.failed(RawDir, err)
	}
	// Made with the lock held: abandoned relies on that.
	if b.trials, err = b.root.Create(TrialsFile); err != nil {
		return b, b.failed(TrialsFile, err)
	}
	b.buffer = bufio.NewWriterSize(b.trials, 256<<10)
	return b, nil
}

func makeBeside(dir string) (temporary string, err error) {
	if err := checkEmpty(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	// Made with dirMode.
	return os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+unfinished)
}

// Add writes one trial. It sets the trial's Seq and Session, and gives its Start
// in UTC.
func (b *Bulk) Add(t *Trial) error {
	t.Seq = b.count + 1
	t.Session = 1
	t.Start = t.Start.UTC().Round(0)
	line, err := t.line()
	if err != nil {
		return err
	}
	line, b.head = seal(line, b.head)
	if len(line) >= maxLine {
		return fmt.Errorf("trial of arm %q in cell %q, round %d, takes %d bytes, more than the %d of a line", t.Arm, t.Cell, t.Round, len(line), maxLine)
	}
	if b.size += int64(len(line)) + 1; b.size > maxLog {
		return fmt.Errorf("%d trials take more than the %d bytes that %s may have: import them in parts", b.count, int64(maxLog), TrialsFile)
	}
	if _, err := b.buffer.Write(append(line, '\n')); err != nil {
		return b.failed(TrialsFile, err)
	}
	b.count++
	return nil
}

// Trials is the number of trials written so far.
func (b *Bulk) Trials() int { return b.count }

// RawName gives the path below the run of a raw file: what Trial.Raw is to be. The
// parts of its name are joined by "-". What is not fit for a file name is replaced;
// the caller sees to it that names stay different.
func (b *Bulk) RawName(parts ...string) string {
	for i, part := range parts {
		parts[i] = plain(part)
	}
	return RawDir + "/" + strings.Join(parts, "-")
}

// Create opens a new file of the run: a path that RawName gave, perhaps with
// something behind it, or the name of a file at the top.
func (b *Bulk) Create(name string) (*BulkFile, error) {
	b.making.Lock()
	if !strings.Contains(name, "/") {
		b.top = append(b.top, name)
	}
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	b.making.Unlock()
	if err != nil {
		return nil, b.failed(name, err)
	}
	return &BulkFile{file: f, bulk: b, name: name}, nil
}

// Remove removes a file of the run.
func (b *Bulk) Remove(name string) error { return b.root.Remove(name) }

// BulkFile is a file of a run that is being made. Errors in writing it say which
// file of which run it was.
type BulkFile struct {
	file *os.File
	bulk *Bulk
	name string
}

// Write writes to the file.
func (f *BulkFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if err != nil {
		err = f.bulk.failed(f.name, err)
	}
	return n, err
}

// Close closes the file.
func (f *BulkFile) Close() error {
	if err := f.file.Close(); err != nil {
		return f.bulk.failed(f.name, err)
	}
	return nil
}

// Finish writes what is missing, marks the run as finished, makes it durable and
// gives it its name. The remarks become notes.
func (b *Bulk) Finish(plan *experiment.Plan, remarks []string) error {
	if err := b.buffer.Flush(); err != nil {
		return b.failed(TrialsFile, err)
	}
	if err := b.trials.Sync(); err != nil {
		return b.failed(TrialsFile, err)
	}
	text, err := planText(plan)
	if err == nil {
		err = writeFile(b.root, PlanFile, text)
	}
	if err != nil {
		return b.failed(PlanFile, err)
	}
	files, err := digests(b.root, append(b.top, PlanFile)...)
	if err != nil {
		return err
	}
	notes, err := b.notes(remarks, files)
	if err != nil {
		return err
	}
	if err := writeFile(b.root, NotesFile, notes); err != nil {
		return b.failed(NotesFile, err)
	}
	if err := os.Rename(b.temporary, b.dir); err != nil {
		return fmt.Errorf("cannot name the run directory, which may have been made by another process meanwhile: %w", err)
	}
	b.temporary = "" // nothing to discard any more
	return errors.Join(syncPath(filepath.Dir(filepath.Clean(b.dir))), b.close())
}

func (b *Bulk) notes(remarks []string, files map[string]string) ([]byte, error) {
	list := []Note{{Kind: NoteSession, Text: "imported", Files: files}}
	for _, text := range remarks {
		list = append(list, Note{Kind: NoteRemark, Text: text})
	}
	list = append(list, Note{Kind: NoteFinished, Text: "finished", Trials: b.count, Head: b.head})
	for i := range list {
		list[i].Session = 1
	}
	return noteLines(list)
}

// Discard removes everything that was written, unless the run is finished.
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

func (b *Bulk) failed(file string, err error) error {
	return &WriteError{Dir: b.dir, File: file, Unmade: true, Err: err}
}
