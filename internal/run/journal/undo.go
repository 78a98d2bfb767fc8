package journal

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"tare/internal/layer"
)

// UndoFile lists changes to the machine or cluster that must still be undone. It exists only while there are any, and
// is not part of the results.
const UndoFile = "undo.json"

const undoSchema = "tare.undo/v1"

type undoDocument struct {
	Schema string       `json:"schema"`
	Undo   []layer.Undo `json:"undo"`
}

// Undos lists the changes that a killed run left to be undone. Undos holds the run's lock, so that no process resumes
// the run meanwhile.
type Undos struct {
	dir  string
	root *os.Root
	lock *os.File // lock of the run directory; nil: the Journal holds the lock
	list []layer.Undo
}

// OpenUndos opens a run's list of changes to undo; nil: there are none. The error is a *LockedError if a process works
// on the run.
func OpenUndos(dir string) (u *Undos, err error) {
	if !isFile(dir, UndoFile) {
		return nil, nil
	}
	root, lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	u = &Undos{dir: dir, root: root, lock: lock}
	if err := u.read(); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	if len(u.list) == 0 {
		return nil, u.Close()
	}
	return u, nil
}

// List returns the changes to undo, the oldest first.
func (u *Undos) List() []layer.Undo { return slices.Clone(u.list) }

// read reads the list. A missing file is an empty list.
func (u *Undos) read() error {
	var d undoDocument
	err := readJSON(u.root, UndoFile, undoSchema, &d)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return asDamage(u.dir, err)
	}
	u.list = d.Undo
	return nil
}

// Undone removes a change from the list.
func (u *Undos) Undone(key string) error {
	if rest := u.without(key); len(rest) < len(u.list) {
		return u.write(rest)
	}
	return nil
}

func (u *Undos) without(key string) []layer.Undo {
	return slices.DeleteFunc(slices.Clone(u.list), func(one layer.Undo) bool { return one.Key == key })
}

func (u *Undos) write(list []layer.Undo) error {
	text, err := jsonText(UndoFile, undoDocument{undoSchema, list})
	if err == nil && len(list) > 0 {
		err = writeFile(u.root, UndoFile, text)
	} else if err == nil {
		if err = u.root.Remove(UndoFile); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = syncDir(u.root, ".")
		}
	}
	if err != nil {
		return &WriteError{Dir: u.dir, File: UndoFile, Err: err}
	}
	u.list = list
	return nil
}

// Close releases the run directory.
func (u *Undos) Close() error { return errors.Join(u.lock.Close(), u.root.Close()) }

// NoteUndo records a change that must be undone if the run is killed.
func (j *Journal) NoteUndo(one layer.Undo) error {
	return j.undos(func(u *Undos) error { return u.write(append(u.without(one.Key), one)) })
}

// Undone records that a change is undone.
func (j *Journal) Undone(key string) error {
	return j.undos(func(u *Undos) error { return u.Undone(key) })
}

func (j *Journal) undos(do func(*Undos) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	u := &Undos{dir: j.run.Dir, root: j.root}
	if err := u.read(); err != nil {
		return err
	}
	return do(u)
}

// WithUndos lists the run directories below root that have changes to undo. It searches as Find does, and includes runs
// in progress.
func WithUndos(root string) ([]string, error) {
	runs, err := Find(root)
	return slices.DeleteFunc(runs, func(dir string) bool { return !isFile(dir, UndoFile) }), err
}
