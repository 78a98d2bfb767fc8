// Package table reads what no other format does: tables with a column for each
// metric, lines KEY=VALUE and JSON documents, as a mapping file says.
//
// All three are rows of named fields. The columns of a table are the fields of
// each line; lines KEY=VALUE are one row; the fields of a JSON document are its
// leaves by their paths ("knb.pod2pod.tcp_bw_mbit"), and a list is a row for each element. The
// mapping names the fields that are metrics, and those that tell arm, cell, round,
// start, levels and facts (docs/import.md explains it). Which of the three a file is,
// it tells itself.
//
// A row is a trial in each cell that a metric of it is in. Where a field says that
// there is no value (empty, null, NaN, a dash) and it is a headline, the trial is invalid. Text where a number should be is an error for
// the whole file, since what was misread once is misread everywhere.
package table

import (
	"errors"
	"fmt"

	"tare/importer"
	"tare/importer/delimited"
)

// Format stands for the files that a mapping describes.
var Format = importer.Format{
	Name:   name,
	Doc:    doc,
	Mapped: mapped,
}

const (
	name = "table"
	doc  = "tables with a column for each metric, KEY=VALUE lines and JSON documents, as a mapping file says (--map)"
)

// extensions are those of the files of a directory that are read.
var extensions = []string{".csv", ".tsv", ".json", ".jsonl", ".env", ".results", ".txt", ".out"}

// mapped gives the format that reads by a mapping file.
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
