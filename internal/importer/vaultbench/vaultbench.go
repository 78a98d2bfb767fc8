// Package vaultbench reads the results of hashicorp/vault-benchmark, written with report_mode=json.
//
// A file holds one run, with the statistics of the load generator vegeta for all requests ("total") and for each test
// in the mix ("transit_sign_test_1"). Each of these is a cell.
//
// vault-benchmark is a closed loop unless the user gave a rate: each of a fixed number of workers waits for its
// response before it sends again. Mean latency and throughput then restate each other, and count as one claim. The file
// has neither the number of workers nor the rate, so the analysis detects a loop from the values. Latency includes
// failed requests, which are often fast. Their share is therefore imported, and checked against the limit on errors.
package vaultbench

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/importer"
	"tare/internal/toolformat/jsondoc"
)

// Format reads vault-benchmark's JSON.
var Format = importer.Format{
	Name:       "vault-benchmark",
	Doc:        "vault-benchmark's JSON (report_mode=json), with or without log lines before it",
	Extensions: []string{".json"},
	Read:       read,
}

type document struct {
	Metrics map[string]*statistics `json:"metrics"`
}

// statistics are vegeta's statistics of all requests or of one test. Pointers distinguish a missing value from zero.
type statistics struct {
	Latencies  map[string]float64 `json:"latencies"` // the latencies by vegeta's names, in ns
	Earliest   time.Time          `json:"earliest"`
	Duration   int64              `json:"duration"` // the time from the first request to the last, in ns
	Wait       int64              `json:"wait"`     // the time from the last request to its response, in ns
	Requests   *int64             `json:"requests"`
	Throughput *float64           `json:"throughput"` // the rate of successful responses during Duration + Wait, in 1/s
	Success    *float64           `json:"success"`    // the share of successful requests
}

const total = "total"

const (
	meanLatency = "latency-mean"
	throughput  = "throughput"
)

// latencies lists the latencies, with vegeta's name and Tare's name, in the order of output.
var latencies = []struct{ theirs, ours string }{
	{"mean", meanLatency},
	{"50th", "latency-p50"},
	{"90th", "latency-p90"},
	{"95th", "latency-p95"},
	{"99th", "latency-p99"},
	{"max", "latency-max"},
	{"min", "latency-min"},
}

func read(f importer.File) ([]importer.Trial, error) {
	doc, err := jsondoc.First(importer.Bound(f, importer.Limit, "the file"), func(d *document) bool { return d.Metrics != nil },
		"no result of vault-benchmark: it writes one with report_mode=json")
	if err != nil {
		return nil, err
	}
	if len(doc.Metrics) == 0 {
		return nil, errors.New("the document has no metrics: is it vault-benchmark's?")
	}
	names := slices.Sorted(maps.Keys(doc.Metrics))
	if at := slices.Index(names, total); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, total)
	}
	trials := make([]importer.Trial, len(names))
	for i, name := range names {
		if trials[i], err = doc.Metrics[name].trial(name); err != nil {
			return nil, fmt.Errorf("metrics.%s: %w", name, err)
		}
	}
	return trials, nil
}

func (s *statistics) trial(name string) (importer.Trial, error) {
	if s == nil || s.Requests == nil || s.Throughput == nil || s.Success == nil || s.Latencies == nil {
		return importer.Trial{}, errors.New("latencies, requests, throughput or success is missing")
	}
	if *s.Success < 0 || *s.Success > 1 {
		return importer.Trial{}, fmt.Errorf("success is %g, which is no share", *s.Success)
	}
	t := importer.Trial{Cell: name, Kind: "vault", Start: s.Earliest, Errors: importer.ErrorRate{Share: 1 - *s.Success, Known: true}}
	if s.Duration >= 0 && s.Wait >= 0 && s.Wait <= math.MaxInt64-s.Duration { // durations that are negative or overflow are left out
		t.Wall = time.Duration(s.Duration + s.Wait)
	}
	if name == total { // only "total" is a closed loop: the number of workers of one test changes all the time
		t.Loop = &experiment.Loop{Latency: meanLatency, Throughput: throughput}
	}
	if *s.Requests <= 0 {
		t.Broken = "no request was made"
		return t, nil
	}
	for _, l := range latencies {
		ns, ok := s.Latencies[l.theirs]
		if !ok {
			continue // some versions of the tool do not write this quantile
		}
		headline := name == total && l.ours == meanLatency
		t.Add(experiment.Metric{Name: l.ours, Unit: "s", Better: experiment.Lower, Headline: headline, Scale: experiment.Ratio}, ns/1e9)
	}
	t.Add(experiment.Metric{Name: throughput, Unit: "1/s", Better: experiment.Higher, Headline: name == total, Scale: experiment.Ratio}, *s.Throughput)
	return t, nil
}
