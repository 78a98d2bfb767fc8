// Package delimited reads tables of a header and rows, whose fields are separated by commas, semicolons or
// tabs, as spreadsheets and scripts write them.
package delimited

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"tare/internal/importer"
)

// Text returns the text of a file without its byte order mark. A binary file is an error: here, if its first
// buffer shows it, and otherwise when the text is read.
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
		_, _ = in.Discard(3) // the three bytes are in the buffer, so this cannot fail
	}
	return in, nil
}

// text is a reader that fails on binary data, before a field of such a file grows as long as the file. Once it
// has failed, every read returns the same error.
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

// Table reads a table row by row.
type Table struct {
	Titles []string // the titles of the columns, without blanks around them
	Comma  rune     // the separator of the fields
	in     *csv.Reader
	before int // the number of lines before the header
}

// Open reads the header of a table. The separator is the one that yields the most titles known to the caller.
// If the caller knows no title, the error contains the text wanted.
func Open(in *bufio.Reader, known func(title string) bool, wanted string) (*Table, error) {
	for before := 0; ; before++ {
		line, err := in.ReadSlice('\n') // a line longer than the buffer is cut
		text := strings.ToLower(strings.TrimSpace(string(line)))
		switch {
		case text != "" && !strings.HasPrefix(text, "sep="): // Excel begins a file with a line like "sep=;"
			t := &Table{before: before}
			return t, t.header(string(line), in, known, wanted)
		case errors.Is(err, io.EOF):
			return nil, errors.New("the file is empty")
		case err != nil:
			return nil, err
		}
	}
}

// header reads the titles from a line. The rest of the file follows in rest.
func (t *Table) header(line string, rest io.Reader, known func(title string) bool, wanted string) error {
	most := 0
	for _, comma := range []rune{',', ';', '\t'} {
		if comma != ',' && !strings.ContainsRune(line, comma) {
			continue // this separator makes one title of the whole line
		}
		in := csv.NewReader(strings.NewReader(line))
		in.Comma, in.LazyQuotes = comma, true
		titles, _ := in.Read() // reading cannot fail with lazy quotes
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

// Each calls take with the fields of each row. The slice is valid only during the call.
func (t *Table) Each(take func(fields []string) error) error {
	for n := 1; ; n++ {
		fields, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = importer.CheckCount(n)
		}
		if err == nil {
			err = take(fields)
		}
		if err != nil {
			return t.explain(err, fields)
		}
	}
}

// position is the place of a field in the file: its line and its column in bytes, both counted from 1.
type position struct{ Line, Column int }

// String returns text such as "line 2, column 7".
func (p position) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// At returns the position of a field of the current row, or of the header before the first row.
func (t *Table) At(field int) position {
	line, column := t.in.FieldPos(field)
	return position{t.before + line, column}
}

// explain rewords an error of package csv in the form of Tare's own errors. It returns other errors unchanged.
func (t *Table) explain(err error, fields []string) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	at := position{t.before + parse.Line, parse.Column}
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
