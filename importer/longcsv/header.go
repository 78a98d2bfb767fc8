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
			if errors.Is(err, io.EOF) {
				err = errors.New("the file is empty")
			}
			return s, err
		case text != "" && !strings.HasPrefix(strings.ToLower(text), "sep="): // Excel's own first line
			s.comma, err = separator(string(line))
			return s, err
		}
		_, _ = in.Discard(len(line) + 1) // they are in the buffer
	}
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

// names are those of the columns that are read. Others are passed over.
var names = []string{
	"arm", "round", "attempt", "cell", "workload", "metric", "unit", "better", "scale", "headline", "value", "start", "errors", "valid", "paired",
}

// required are the columns without which no row can be understood. Which way is
// better is among them: guessed wrong, it turns every verdict around.
var required = []string{"metric", "better", "value"}

// header says which field of a row is which column.
type header struct {
	width   int
	place   map[string]int // of its field, by the column's name
	factors []factorColumn
}

// factorColumn is a column of the levels of a factor: "factor:qps".
type factorColumn struct {
	name, column string
}

// Columns that tell levels: those of one factor, and all of them as tare export writes them.
const (
	factorPrefix = "factor:"
	levelsColumn = "levels"
)

func (h *header) has(column string) bool {
	_, ok := h.place[column]
	return ok
}

func newHeader(record []string) (header, error) {
	h := header{width: len(record), place: map[string]int{}}
	for i, text := range record {
		name := column(text)
		if factor, ok := strings.CutPrefix(name, factorPrefix); ok {
			factor = strings.TrimSpace(strings.TrimSpace(text)[len(name)-len(factor):]) // as written
			if factor == "" {
				return h, fmt.Errorf("the column %s names no factor: it is as in factor:qps", name)
			}
			name = factorPrefix + factor
			h.factors = append(h.factors, factorColumn{factor, name})
		} else if name != levelsColumn && !slices.Contains(names, name) {
			// A column of the user's own is welcome, a misspelt one is not.
			if near := strictyaml.Nearest(name, names); near != "" && !slices.ContainsFunc(record, func(f string) bool { return column(f) == near }) {
				return h, fmt.Errorf("unknown column %q: did you mean %s?", name, near)
			}
			continue
		}
		if h.has(name) {
			return h, fmt.Errorf("the column %s is there twice", name)
		}
		h.place[name] = i
	}
	for _, name := range required {
		if !h.has(name) {
			return h, fmt.Errorf("the column %s is missing", name)
		}
	}
	return h, nil
}

// column is the name of a column as written by people.
func column(text string) string { return strings.ToLower(strings.TrimSpace(text)) }
