package journal

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"tare/layer"
)

// UndoFile lists what a run has changed for everyone and not yet turned back. It is
// there only while there is something. It is no part of what the run found out.
const UndoFile = "undo.json"

// UndoSchema is the format of UndoFile.
const UndoSchema = "tare.undo/v1"

type undoDocument struct {
	Schema string       `json:"schema"`
	Undo   []layer.Undo `json:"undo"`
}

// Undos are what a killed run has to undo. They hold its directory, so that nobody else
// goes on with the run meanwhile.
type Undos struct {
	dir  string
	root *os.Root
	lock *os.File // nil: held by the Journal
	list []layer.Undo
}

// OpenUndos opens the list of a run directory; nil if there is none. It is a
// *LockedError while a process works on the run.
func OpenUndos(dir string) (u *Undos, err error) {
	if !isFile(dir, UndoFile) {
		return nil, nil
	}
	root, lock, err := hold(dir)
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

// List is what is to be undone, the oldest first.
func (u *Undos) List() []layer.Undo { return slices.Clone(u.list) }

// read reads the list; a run without one has nothing to undo.
func (u *Undos) read() error {
	var d undoDocument
	err := readJSON(u.root, UndoFile, UndoSchema, &d)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return damaged(u.dir, err)
	}
	u.list = d.Undo
	return nil
}

// Owe puts an entry on the list, durably.
func (u *Undos) Owe(one layer.Undo) error {
	return u.write(append(u.without(one.Key), one))
}

// Paid takes an entry off the list.
func (u *Undos) Paid(key string) error {
	if rest := u.without(key); len(rest) < len(u.list) {
		return u.write(rest)
	}
	return nil
}

func (u *Undos) without(key string) []layer.Undo {
	return slices.DeleteFunc(slices.Clone(u.list), func(one layer.Undo) bool { return one.Key == key })
}

func (u *Undos) write(list []layer.Undo) error {
	var err error
	if len(list) > 0 {
		err = writeJSON(u.root, UndoFile, undoDocument{UndoSchema, list})
	} else if err = u.root.Remove(UndoFile); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = syncDir(u.root, ".")
	}
	if err != nil {
		return &WriteError{Dir: u.dir, File: UndoFile, Err: err}
	}
	u.list = list
	return nil
}

// Close gives the run directory free.
func (u *Undos) Close() error { return errors.Join(u.lock.Close(), u.root.Close()) }

// Owe notes what the run has to undo, should it be killed.
func (j *Journal) Owe(one layer.Undo) error {
	return j.undos(func(u *Undos) error { return u.Owe(one) })
}

// Paid notes that it is undone.
func (j *Journal) Paid(key string) error {
	return j.undos(func(u *Undos) error { return u.Paid(key) })
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

// WithUndos lists the run directories below root that have something to undo, like Find.
// Living runs are among them.
func WithUndos(root string) ([]string, error) {
	runs, err := Find(root)
	return slices.DeleteFunc(runs, func(dir string) bool { return !isFile(dir, UndoFile) }), err
}
