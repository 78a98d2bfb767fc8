// Package longcsv reads the plain table that a spreadsheet or any script can
// write: one value a row.
//
//	arm,round,metric,unit,better,value
//	plain,1,latency,ms,lower,12.3
//	mtls,1,latency,ms,lower,14.1
//
// The header names the columns, in any order and in either case. Only metric,
// better and value must be there. A trial is what stands in rows with the same
// arm, cell and round, wherever they are in the file; without rounds, the n-th
// values of all metrics of an arm and cell are its n-th trial. Where a round has
// several attempts, as tare export writes them, the last one is the trial.
//
// Where the column paired says false, as tare export has it for independent
// samples, rounds only number the trials, and nothing can be paired by them. Its
// column observational is passed over: every import is.
//
// A row that cannot be understood ends the file with an error that names line
// and column: what follows it cannot be trusted either. So does a malformed number: mostly
// the large values have thousands separators, and to drop just these would make the rest
// look good. A value that is missing, "NaN" or "-" only breaks its trial.
package longcsv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"tare/importer"
)

// Format reads the long CSV.
var Format = importer.Format{
	Name:       "csv",
	Doc:        "a table with a header and one value a row: arm, round, metric, unit, better, value",
	Extensions: []string{".csv", ".tsv"},
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	in := bufio.NewReaderSize(&text{r: importer.Bound(f, importer.Limit, "the file")}, 64<<10)
	s, err := layout(in)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(in)
	r.Comma = s.comma
	r.ReuseRecord = true
	r.FieldsPerRecord = -1 // counted here, for a better message
	record, err := r.Read()
	if err != nil {
		return nil, describe(err, s.line-1)
	}
	h, err := newHeader(record)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", s.line, err)
	}
	t := newTrials()
	row := row{header: h, source: r, before: s.line - 1, comma: s.comma}
	for rows := 0; ; rows++ {
		row.fields, err = r.Read()
		if errors.Is(err, io.EOF) {
			return t.all()
		}
		if err == nil {
			err = importer.Room(rows + 1)
		}
		if err == nil && len(row.fields) != h.width {
			err = fmt.Errorf("line %d: %d fields where the header has %d", row.line(), len(row.fields), h.width)
		}
		if err == nil {
			t.add(&row)
			err = row.err
		}
		if err != nil {
			return nil, describe(err, row.before)
		}
	}
}

// place is where a field stands in the file, both counted from 1; the column in
// bytes.
type place struct{ line, column int }

func (p place) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column) }

// describe puts an error of package csv into words with the same shape as ours.
func describe(err error, before int) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	at := place{before + parse.Line, parse.Column}
	switch {
	case errors.Is(parse.Err, csv.ErrBareQuote):
		return fmt.Errorf("%s: a quote inside a field that is not quoted: quote the field, and double the quote", at)
	case errors.Is(parse.Err, csv.ErrQuote):
		return fmt.Errorf("%s: a quoted field that does not end where it should: a quote inside it is written twice", at)
	}
	return fmt.Errorf("%s: %w", at, parse.Err)
}

// text is a reader that refuses what is no text, before a field of it grows as
// long as the file.
type text struct {
	r   io.Reader
	err error
}

func (t *text) Read(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.r.Read(p)
	if at := bytes.IndexByte(p[:n], 0); at >= 0 {
		t.err = errors.New("the file holds NUL bytes: it is no text, or not in UTF-8")
		return at, t.err
	}
	return n, err
}
