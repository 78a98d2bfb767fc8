package journal

import (
	"errors"
	"fmt"
	"os"
)

// lineLog is a file of lines that only grows. Its state is the length of its
// whole lines: what stands beyond is a line that was never acknowledged.
type lineLog struct {
	file *os.File
	dir  string // the run directory, for errors
	name string
	size int64 // bytes of whole lines
	err  error // the first error; nothing is written after it
}

// openLog opens a log for writing after its first end bytes.
func openLog(root *os.Root, dir, name string, end int64) (*lineLog, error) {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot write to run %s: %w", dir, err)
	}
	return &lineLog{file: f, dir: dir, name: name, size: end}, nil
}

// append seals a line and writes it to the chain's log.
func (c *chain) append(to *lineLog, line []byte) error {
	head := ""
	if c.sealed {
		line, head = seal(line, c.head)
	}
	if err := to.append(line); err != nil {
		return err
	}
	c.head = head
	return nil
}

// append writes one line, given without its newline, and makes it durable.
// After an error the file ends with its last whole line again, and every later
// append gives the same error: once a sync has failed, the kernel may have
// dropped what it could not write and will not say so again.
func (l *lineLog) append(line []byte) error {
	if l.err != nil {
		return l.err
	}
	if len(line) >= maxLine {
		return fmt.Errorf("a line of %d bytes is too long for %s, which holds up to %d", len(line), l.name, maxLine)
	}
	if l.size+int64(len(line)) >= maxLog {
		return fmt.Errorf("%s of run %s is full: it holds up to %d bytes", l.name, l.dir, int64(maxLog))
	}
	line = append(line, '\n')
	_, err := l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.err = &WriteError{Dir: l.dir, File: l.name, Err: errors.Join(err, l.cut())}
		return l.err
	}
	l.size += int64(len(line))
	return nil
}

// cut removes what stands beyond the last whole line.
func (l *lineLog) cut() error {
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	return l.file.Sync()
}

// repair brings a log back into shape after its writer was killed: it drops a
// torn last line, says so, and ends a whole last line that lacks its newline.
func (l *lineLog) repair() (dropped string, err error) {
	info, err := l.file.Stat()
	if err != nil {
		return "", err
	}
	if torn := info.Size() - l.size; torn > 0 {
		if err := l.cut(); err != nil {
			return "", &WriteError{Dir: l.dir, File: l.name, Err: err}
		}
		dropped = fmt.Sprintf("dropped a torn last line of %s (%d bytes), which was being written when the run was killed", l.name, torn)
	}
	if l.size == 0 {
		return dropped, nil
	}
	var last [1]byte
	if _, err := l.file.ReadAt(last[:], l.size-1); err != nil {
		return "", err
	}
	if last[0] == '\n' {
		return dropped, nil
	}
	if _, err := l.file.WriteAt([]byte{'\n'}, l.size); err != nil {
		return "", &WriteError{Dir: l.dir, File: l.name, Err: err}
	}
	l.size++
	return dropped, l.file.Sync()
}

// WriteError is a record that could not be written, mostly for want of space.
// What was recorded before it is intact.
type WriteError struct {
	Dir    string // the run directory
	File   string // the file in it
	Fresh  bool   // the run had not begun
	Unmade bool   // the run was to be made in one go, and nothing of it stays
	Err    error
}

// Error says what happened, that nothing is lost, and how to go on.
func (e *WriteError) Error() string {
	hint := "put that right"
	switch {
	case errors.Is(e.Err, errNoSpace), errors.Is(e.Err, errQuota):
		hint = "free some disk space"
	case errors.Is(e.Err, errTooLarge):
		hint = "raise the limit on file sizes (ulimit -f)"
	case errors.Is(e.Err, errReadOnly):
		hint = "make the file system writable"
	}
	if e.Unmade {
		return fmt.Sprintf("cannot write %s of run %s: %v: no run was made; %s and start again", e.File, e.Dir, e.Err, hint)
	}
	if e.Fresh {
		return fmt.Sprintf("cannot write %s %s: %v: %s and start again", e.File, e.Dir, e.Err, hint)
	}
	return fmt.Sprintf("cannot write %s of run %s: %v: every trial recorded so far is intact; %s, then go on with: tare resume %s",
		e.File, e.Dir, e.Err, hint, e.Dir)
}

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }
