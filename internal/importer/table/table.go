// Package table reads files that no other format reads: tables with a column for each metric, lines KEY=VALUE
// and JSON documents. A mapping file describes them.
//
// All three forms are rows of named fields. In a table, each line is a row and the columns are its fields.
// Lines KEY=VALUE are one row. In a JSON document, the fields are the leaves by their paths
// ("knb.pod2pod.tcp_bw_mbit"), and each element of a list is a row. The mapping names the fields that are
// metrics, and the fields with arm, cell, round, start, levels and facts (docs/import.md explains it). The form
// of a file is recognised by its content.
//
// A row is a trial in each cell that has one of its metrics. If a headline has no value (empty, null, NaN, a
// dash), the trial is invalid. A text instead of a number is an error for the whole file, since such a mistake
// affects every row.
package table

import (
	"errors"
	"fmt"

	"tare/internal/importer"
	"tare/internal/importer/delimited"
)

// Format reads files that a mapping file describes.
var Format = importer.Format{
	Name:   name,
	Doc:    doc,
	Mapped: mapped,
}

const (
	name = "table"
	doc  = "tables with a column for each metric, KEY=VALUE lines and JSON documents, as a mapping file says (--map)"
)

// extensions are those of the files that are read in a directory.
var extensions = []string{".csv", ".tsv", ".json", ".jsonl", ".env", ".results", ".txt", ".out"}

// mapped returns the format that reads by a mapping file.
func mapped(file string, text []byte) (importer.Format, error) {
	m, err := load(file, text)
	if err != nil {
		return importer.Format{}, err
	}
	return importer.Format{Name: name, Doc: doc, Extensions: extensions, Read: m.read}, nil
}

func (m *mapping) read(f importer.File) ([]importer.Trial, error) {
	in, err := delimited.Text(f)
	if err != nil {
		return nil, err
	}
	r := newAssembler(m)
	switch err := eachRow(in, m.Rows, r.add); {
	case err != nil:
		return nil, err
	case r.rows == 0:
		return nil, errors.New("the file has no rows")
	case len(r.list) == 0:
		return nil, fmt.Errorf("no field is one of the metrics: there are %s", r.first)
	}
	return r.all()
}
