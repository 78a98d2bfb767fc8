// Package iperf3 reads the JSON of iperf3, versions 3.1 to 3.21: the output of -J of the client or the server,
// and the events of --json-stream.
//
// A test is a trial. Its cell is named by protocol, direction and number of streams. A file of a server may
// hold several tests; a number distinguishes those of the same cell. Bandwidth is the received payload, without
// the warm-up (-O). Package internal/toolformat/iperf3 finds the tests of a file and hides the differences between
// versions.
//
// ways.go computes the amounts sent and received. trial.go and series.go make trials of them.
package iperf3

import (
	"strconv"

	"tare/internal/importer"
	"tare/internal/toolformat/iperf3"
)

// Format reads iperf3's JSON.
var Format = importer.Format{
	Name:       "iperf3",
	Doc:        "iperf3's JSON (-J or --json-stream), of the client or the server",
	Extensions: []string{".json", ".jsonl", ".txt", ".log", ".out"},
	Settings: []importer.Setting{
		{Name: "bitrate", Default: "none"}, {Name: "duration", Default: "default"}, {Name: "bytes", Default: "none"}, {Name: "blocks", Default: "none"},
		{Name: "omit", Default: "0 s"}, {Name: "block", Default: "default"}, {Name: "buffer", Default: "default"}, {Name: "set-mss", Default: "none"},
	},
	Read: read,
}

type test struct{ *iperf3.Report }

func read(f importer.File) ([]importer.Trial, error) {
	cells := map[string]int{}
	reports, err := iperf3.Tests(importer.Bound(f, importer.Limit, "the file"))
	if err != nil {
		return nil, err
	}
	trials := make([]importer.Trial, len(reports))
	for i, r := range reports {
		t := test{r}
		trial, err := t.trial()
		if err != nil {
			return nil, err
		}
		cells[trial.Cell]++
		if n := cells[trial.Cell]; n > 1 {
			trial.Cell += "-" + strconv.Itoa(n) // no other cell's name ends with a dash and a number
		}
		trials[i] = trial
	}
	return trials, nil
}
