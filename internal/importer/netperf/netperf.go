// Package netperf reads the output of netperf's omni tests, in each of its three forms: comma-separated (--
// -o), columns (-- -O) and KEY=value (-- -k). The super-netperf of k8s-netperf prints the last form, too.
//
// Each result is a trial. The cell is the test with the sizes in the output: "tcp-rr.request=1.response=1".
// Results of the same cell in one file come from netperfs that ran one after the other or at the same time, and
// are separate trials.
//
// The headline is the received bandwidth of a stream, or the transactions of a request/response test. Such a
// test is a closed loop, with as many transactions in flight as its burst, plus one. round-trip is calculated
// from the rate and restates it. netperf's quantiles and means of latency measure a transaction, or in a stream
// a call of send or receive; with a burst, they measure the time from a send to the next response. They are in
// whole microseconds. A quantile below 4 µs is left out, since its neighbours are further away than a quarter
// of it.
package netperf

import (
	"fmt"

	"tare/internal/importer"
)

// Format reads netperf's omni output.
var Format = importer.Format{
	Name:       "netperf",
	Doc:        "netperf's omni output (test-specific -o, -O or -k), with one or more results in a file",
	Extensions: []string{".txt", ".csv", ".log", ".out", ".keys"},
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	data, err := importer.ReadAll(f)
	if err != nil {
		return nil, err
	}
	var trials []importer.Trial
	p := parser{done: func(r *result) error {
		t, err := r.trial()
		if err != nil {
			return fmt.Errorf("result %d: %w", len(trials)+1, err)
		}
		trials = append(trials, t)
		return nil
	}}
	return trials, p.all(string(data))
}
