package journal

import (
	"errors"
	"fmt"
	"os"
)

// lineLog is a file of lines that only grows. Its state is the length of its whole lines. Bytes beyond
// this length belong to a line that was never acknowledged.
type lineLog struct {
	file *os.File
	dir  string // the run directory, for error messages
	name string
	size int64 // length of the whole lines, in bytes
	err  error // the first error; the log takes no lines after it
}

// openLog opens a log for writing after its first end bytes.
func openLog(root *os.Root, dir, name string, end int64) (*lineLog, error) {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot write to run %s: %w", dir, err)
	}
	return &lineLog{file: f, dir: dir, name: name, size: end}, nil
}

// append adds the chain to a line and writes the line to the log.
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

// append writes one line, given without its newline, and makes it durable. After an error, append cuts
// the file back to its last whole line, and every later call returns the same error. The reason: after a
// failed sync the kernel may have dropped the data, and it reports the failure only once.
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

// cut removes all bytes beyond the last whole line.
func (l *lineLog) cut() error {
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	return l.file.Sync()
}

// repair corrects a log whose writer was killed. It removes a torn last line and describes the removal
// in dropped. If the last line only lacks its newline, repair adds it.
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

// WriteError reports that a file of the run could not be written, mostly because the disk is full.
// Earlier records are intact.
type WriteError struct {
	Dir    string // the run directory
	File   string // name of the file in Dir
	Fresh  bool   // the run had not begun
	Unmade bool   // a Bulk was to make the run, and nothing of it is left
	Err    error
}

// Error names the file and the cause, states that no record is lost, and advises how to continue.
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

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }
