// Package iperf3 reads the JSON of iperf3, versions 3.1 to 3.21: -J of the client
// or the server, and the events of --json-stream.
//
// A test is a trial in a cell that protocol, direction and number of streams
// name. A file may hold several tests, as that of a server does; of the same cell they are
// told apart by a number. Bandwidth is what was received, of payload, without the
// warm-up (-O). What differs between versions is in package toolformat/iperf3, which finds the tests
// of a file.
//
// ways.go says what was sent and received in them, and trial.go and series.go make
// trials of them.
package iperf3

import (
	"strconv"

	"tare/importer"
	"tare/toolformat/iperf3"
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
			trial.Cell += "-" + strconv.Itoa(n) // no cell of another shape ends like this
		}
		trials[i] = trial
	}
	return trials, nil
}
