package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// parseTrials reads the lines of trials.jsonl. It returns the trials and the length of all whole lines
// in bytes. Trials are numbered from 1 without a gap. A missing or repeated line is an error.
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

// parseTrial reads one line of trials.jsonl. It parses a correct line only once, since a file may have
// very many lines.
func parseTrial(line []byte, where func() string) (Trial, error) {
	var t Trial
	whole := trialLine{Trial: &t}
	if err := json.Unmarshal(line, &whole); err == nil && whole.Schema == TrialSchema && strict(line) == nil {
		return t, nil
	}
	t = Trial{}
	err := decode(line, where(), TrialSchema, &t) // decode returns the reason why the line is wrong
	return t, err
}

// eachLine calls f with every line of a log and returns the length of all whole lines in bytes. f must
// not keep the line, and must refuse a line that is not JSON. Only the last line may be torn, and a torn
// line is ignored. A line is torn if it is not valid JSON, even if it ends with a newline: a crash may
// leave a hole in it. An earlier line that is not valid JSON is damage and always an error. A last line
// that only lacks its newline is whole.
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
			if _, err := r.Peek(1); errors.Is(err, io.EOF) { // Peek overwrites the line
				return end, nil
			}
			return 0, damaged
		}
		end += int64(len(line))
	}
}

// readLine returns the next line with its newline, or without if the file ends first. It returns an
// empty line at the end of the file. The line is valid until the next call.
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
