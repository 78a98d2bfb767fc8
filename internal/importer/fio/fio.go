// Package fio reads the JSON reports of fio 3.x: --output-format=json and json+.
//
// Each job is a cell. Its metrics are the bandwidth and IOPS of each kind of I/O, latencies and their
// percentiles, and CPU time. Bandwidth or IOPS is the headline, by the size of the blocks. Jobs that no
// stonewall separates ran at the same time, on the same disk; a fact records this.
//
// fio measures three latencies: submission (slat), completion (clat) and their sum (lat). A metric's name
// without a prefix means completion, which fio's percentiles describe by default; "total" means the sum.
//
// Package internal/toolformat/fio reads the report. This package makes trials of it.
package fio

import (
	"tare/internal/importer"
	"tare/internal/toolformat/fio"
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
