package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// trialLine and noteLine are the JSON of a line of a log: a record with its schema and chain.
type (
	trialLine struct {
		Schema string `json:"schema"`
		*Trial
		Chain string `json:"chain,omitempty"`
	}
	noteLine struct {
		Schema string `json:"schema"`
		*Note
		Chain string `json:"chain,omitempty"`
	}
)

// Line returns the trial as a line of trials.jsonl, without its chain and newline.
func (t *Trial) Line() ([]byte, error) {
	line, err := json.Marshal(trialLine{Schema: TrialSchema, Trial: t})
	if err != nil {
		return nil, fmt.Errorf("trial of arm %q in cell %q, round %d, cannot be recorded: %w", t.Arm, t.Cell, t.Round, err)
	}
	return line, nil
}

// Line returns the note as a line of notes.jsonl, without its chain and newline.
func (n *Note) Line() ([]byte, error) {
	line, err := json.Marshal(noteLine{Schema: NoteSchema, Note: n})
	if err != nil {
		return nil, fmt.Errorf("note cannot be recorded: %w", err)
	}
	return line, nil
}

// parseTrials reads trials.jsonl, whose trials are numbered from 1 without a gap. end is the length of all whole lines
// in bytes.
func parseTrials(file io.Reader, c *chain) (trials []Trial, end int64, err error) {
	end, err = eachLine(file, TrialsFile, func(line []byte, where func() string) error {
		t, err := parseTrial(line, where)
		if err != nil {
			return err
		}
		if t.Seq != len(trials)+1 {
			return fmt.Errorf("%s: trial number %d where %d is expected: lines are missing or doubled", where(), t.Seq, len(trials)+1)
		}
		if err := c.check(line); err != nil {
			return &DamageError{Where: where(), What: err.Error()}
		}
		trials = append(trials, t)
		return nil
	})
	return trials, end, err
}

// parseTrial reads one line of trials.jsonl. It is fast for correct lines, since a file may have very many.
func parseTrial(line []byte, where func() string) (Trial, error) {
	var t Trial
	whole := trialLine{Trial: &t}
	if err := json.Unmarshal(line, &whole); err == nil && whole.Schema == TrialSchema && strict(line) == nil {
		return t, nil
	}
	t = Trial{}
	err := decode(line, where(), TrialSchema, &t) // the slow function decode returns an error that says why the line is wrong
	return t, err
}

// eachLine calls f with every line of a log. f must fail if a line is not JSON, and must not keep any line. A torn last
// line is ignored. end is the length of all whole lines in bytes.
func eachLine(file io.Reader, name string, f func(line []byte, where func() string) error) (end int64, err error) {
	r := bufio.NewReaderSize(file, 64<<10)
	number := 0
	where := func() string { return fmt.Sprintf("%s:%d", name, number) }
	for {
		number++
		line, err := readLine(r)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", where(), err)
		}
		if len(line) == 0 {
			return end, nil
		}
		if err := f(line, where); err != nil {
			if json.Valid(line) {
				return 0, err
			}
			damaged := fmt.Errorf("%s: damaged: not JSON: %.60q", where(), line)
			if _, err := r.Peek(1); errors.Is(err, io.EOF) { // the message is made first, since Peek overwrites the line
				return end, nil
			}
			return 0, damaged
		}
		end += int64(len(line))
	}
}

// readLine returns the next line with its newline, which the last line may lack. The line is valid until the next call,
// and empty at the end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line == nil && err == nil {
			return part, nil
		}
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("the line is longer than %d bytes", maxLine)
		case err == nil, errors.Is(err, io.EOF):
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// lineLog is a file to which only lines are added. The length of its whole lines is known. Bytes behind the whole lines
// belong to a line whose writing failed.
type lineLog struct {
	file *os.File
	dir  string // the run directory, for error messages
	name string
	size int64 // length of the whole lines, in bytes
	err  error // the first error; the log takes no lines after it
}

// openLog opens a log for writing. New lines begin behind the whole lines, whose length in bytes is end.
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

// append writes a line, given without its newline, to the disk. After an error it always fails: the kernel reports lost
// data only once.
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

// repair corrects a log whose writer was killed. It removes a torn last line, as the result dropped says, or adds a
// missing last newline.
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
	Fresh  bool   // set if the run had not begun when the error occurred
	Unmade bool   // set if a Bulk failed to make a run; it has then removed all its files
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
