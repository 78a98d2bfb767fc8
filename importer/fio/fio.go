// Package fio reads the JSON reports of fio 3.x: --output-format=json and json+.
//
// Each job is a cell: bandwidth and IOPS of each kind of I/O that it did, latency
// and its percentiles, and CPU time. One of bandwidth and IOPS is the headline, by the size
// of the blocks. Jobs between which no stonewall stands ran at the same time, on
// the same disk; a fact says so.
//
// fio's latencies are three: submission (slat), completion (clat) and both
// together (lat). Names without more are of completion, which is what fio's
// percentiles are of by default; "total" is both together.
//
// What the report holds is in package toolformat/fio; this one makes trials of it.
package fio

import (
	"tare/importer"
	"tare/toolformat/fio"
)

// Format reads reports of fio.
var Format = importer.Format{
	Name:       "fio",
	Doc:        "reports of fio 3.x in JSON (--output-format=json or json+)",
	Extensions: []string{".json", ".txt", ".log", ".out"},
	Settings:   Settings,
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	report, err := fio.Parse(importer.Bound(f, importer.Limit, "the file"))
	if err != nil {
		return nil, err
	}
	return Trials(report), nil
}
