// Package delimited reads rows of fields that commas, semicolons or tabs separate, below
// a header, as spreadsheets and scripts write them.
package delimited

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"tare/importer"
)

// Text gives the text of a file, without a byte order mark. What is no text is an error,
// here where the first buffer of it shows that.
func Text(f importer.File) (*bufio.Reader, error) {
	size := 64 << 10
	if f.Size > 0 {
		size = int(min(f.Size, int64(size)))
	}
	in := bufio.NewReaderSize(&text{r: importer.Bound(f, importer.Limit, "the file")}, size)
	switch head, err := in.Peek(in.Size()); {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return nil, errors.New("the file is in UTF-16: save it as CSV UTF-8")
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, _ = in.Discard(3) // they are in the buffer
	}
	return in, nil
}

// text is a reader that refuses what is no text, before a field of it grows as
// long as the file. An error of it stays.
type text struct {
	r   io.Reader
	err error
}

func (t *text) Read(p []byte) (n int, err error) {
	if t.err != nil {
		return 0, t.err
	}
	n, t.err = t.r.Read(p)
	if at := bytes.IndexByte(p[:n], 0); at >= 0 {
		n, t.err = at, errors.New("the file holds NUL bytes: it is no text, or not in UTF-8")
	}
	return n, t.err
}

// Table is a table that is read row by row.
type Table struct {
	Titles []string // of the columns, without blanks around them
	Comma  rune     // separates the fields
	in     *csv.Reader
	before int // lines before the header
}

// Open reads the header of a table. What separates the fields is what makes the most titles
// that the caller knows; where it knows none of them, the error says what is wanted.
func Open(in *bufio.Reader, known func(title string) bool, wanted string) (*Table, error) {
	for before := 0; ; before++ {
		line, err := in.ReadSlice('\n') // as much as the buffer holds
		text := strings.ToLower(strings.TrimSpace(string(line)))
		switch {
		case text != "" && !strings.HasPrefix(text, "sep="): // Excel's own first line
			t := &Table{before: before}
			return t, t.header(string(line), in, known, wanted)
		case errors.Is(err, io.EOF):
			return nil, errors.New("the file is empty")
		case err != nil:
			return nil, err
		}
	}
}

// header reads the titles in a line, which the rest follows.
func (t *Table) header(line string, rest io.Reader, known func(title string) bool, wanted string) error {
	most := 0
	for _, comma := range []rune{',', ';', '\t'} {
		if comma != ',' && !strings.ContainsRune(line, comma) {
			continue // it makes one title
		}
		in := csv.NewReader(strings.NewReader(line))
		in.Comma, in.LazyQuotes = comma, true
		titles, _ := in.Read() // with lazy quotes there is no error
		n := 0
		for _, title := range titles {
			if known(strings.TrimSpace(title)) {
				n++
			}
		}
		if n > most {
			t.Comma, most = comma, n
		}
	}
	if most == 0 {
		return fmt.Errorf("line %d must be a header with columns separated by commas, semicolons or tabs, %s; it is %.60q", t.before+1, wanted, strings.TrimSpace(line))
	}
	t.in = csv.NewReader(io.MultiReader(strings.NewReader(line), rest))
	t.in.Comma = t.Comma
	titles, err := t.in.Read()
	for _, title := range titles {
		t.Titles = append(t.Titles, strings.TrimSpace(title))
	}
	t.in.ReuseRecord = true
	return t.explain(err, titles)
}

// Each hands the fields of each row to take, which may keep them no longer than it runs.
func (t *Table) Each(take func(fields []string) error) error {
	for n := 1; ; n++ {
		fields, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = importer.Room(n)
		}
		if err == nil {
			err = take(fields)
		}
		if err != nil {
			return t.explain(err, fields)
		}
	}
}

// Position is where a field stands in the file, both counted from 1; the column in bytes.
type Position struct{ Line, Column int }

// String gives "line 2, column 7".
func (p Position) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// At is where a field of the row stands, or of the header before the first row.
func (t *Table) At(field int) Position {
	line, column := t.in.FieldPos(field)
	return Position{t.before + line, column}
}

// explain puts an error of package csv into words with the same shape as ours. Other
// errors stay what they are.
func (t *Table) explain(err error, fields []string) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	at := Position{t.before + parse.Line, parse.Column}
	switch {
	case errors.Is(err, csv.ErrFieldCount) && len(fields) < len(t.Titles):
		return fmt.Errorf("line %d: %d fields where the header has %d: %w: is the file truncated?", at.Line, len(fields), len(t.Titles), parse.Err)
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: %d fields where the header has %d: %w", at.Line, len(fields), len(t.Titles), parse.Err)
	case errors.Is(err, csv.ErrBareQuote):
		return fmt.Errorf("%s: a quote inside a field that is not quoted: quote the field, and double the quote", at)
	case errors.Is(err, csv.ErrQuote):
		return fmt.Errorf("%s: a quoted field that does not end where it should: a quote inside it is written twice", at)
	}
	return fmt.Errorf("%s: %w", at, parse.Err)
}
