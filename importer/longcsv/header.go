package longcsv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/experiment/strictyaml"
)

// style is how a table is written.
type style struct {
	comma rune // what separates the fields
	line  int  // of the header
}

// separators are what spreadsheets put between fields. Where it is a semicolon,
// the comma is the decimal point.
var separators = []rune{',', ';', '\t'}

// layout finds out how the table is written, and leaves the reader at its header.
func layout(in *bufio.Reader) (style, error) {
	if head, _ := in.Peek(3); bytes.HasPrefix(head, []byte("\ufeff")) {
		_, _ = in.Discard(3) // it is in the buffer
	} else if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return style{}, errors.New("the file is in UTF-16: save it as CSV UTF-8")
	}
	s := style{line: 1}
	for ; ; s.line++ {
		head, err := in.Peek(in.Size())
		if err != nil && !errors.Is(err, io.EOF) {
			return s, err
		}
		line, _, whole := bytes.Cut(head, []byte("\n"))
		text := strings.TrimSpace(string(line))
		switch {
		case text == "" && !whole:
			return s, orEmpty(err)
		case text != "" && !strings.HasPrefix(strings.ToLower(text), "sep="): // Excel's own first line
			s.comma, err = separator(string(line))
			return s, err
		}
		_, _ = in.Discard(len(line) + 1) // they are in the buffer
	}
}

// orEmpty is the error that ended a file without a header.
func orEmpty(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

// separator finds what separates the columns of a header: what makes one of them
// "metric".
func separator(header string) (rune, error) {
	for _, c := range separators {
		r := csv.NewReader(strings.NewReader(header))
		r.Comma = c
		fields, err := r.Read()
		if err != nil {
			continue
		}
		if slices.ContainsFunc(fields, func(f string) bool { return column(f) == "metric" }) {
			return c, nil
		}
	}
	return 0, fmt.Errorf("line 1 must be a header with columns separated by commas, semicolons or tabs, one of them metric, as in %q; it is %.60q",
		"arm,round,metric,unit,better,value", header)
}

// The columns that are read. Others are passed over.
const (
	colArm = iota
	colRound
	colAttempt
	colCell
	colWorkload
	colMetric
	colUnit
	colBetter
	colScale
	colHeadline
	colValue
	colStart
	colErrors
	colValid
	colPaired
	columns
)

var names = [columns]string{
	"arm", "round", "attempt", "cell", "workload", "metric", "unit", "better", "scale", "headline", "value", "start", "errors", "valid", "paired",
}

// required are the columns without which no row can be understood. Which way is
// better is among them: guessed wrong, it turns every verdict around.
var required = []int{colMetric, colBetter, colValue}

// header says which field of a row is which column.
type header struct {
	width int
	place [columns]int // of its field; -1: not there
}

func (h *header) has(column int) bool { return h.place[column] >= 0 }

func newHeader(record []string) (*header, error) {
	h := &header{width: len(record)}
	for i := range h.place {
		h.place[i] = -1
	}
	for i, text := range record {
		name := column(text)
		c := slices.Index(names[:], name)
		if c < 0 {
			// A column of the user's own is welcome, a misspelt one is not.
			if near := strictyaml.Nearest(name, names[:]); near != "" && !slices.ContainsFunc(record, func(f string) bool { return column(f) == near }) {
				return nil, fmt.Errorf("unknown column %q: did you mean %s?", name, near)
			}
			continue
		}
		if h.has(c) {
			return nil, fmt.Errorf("the column %s is there twice", name)
		}
		h.place[c] = i
	}
	for _, c := range required {
		if !h.has(c) {
			return nil, fmt.Errorf("the column %s is missing", names[c])
		}
	}
	return h, nil
}

// column is the name of a column as written by people.
func column(text string) string { return strings.ToLower(strings.TrimSpace(text)) }
