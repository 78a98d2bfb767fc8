// Package vaultbenchtest makes vault-benchmark files for tests from the numbers of a published study.
package vaultbenchtest

import (
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Run holds the statistics of all requests in one result file of the study.
type Run struct {
	Replicas, Platform, File string
	Statistics
}

// Statistics are the statistics of all requests, or of one test, with times in ns.
type Statistics struct {
	Latencies struct {
		Total float64 `json:"total"`
		Mean  int64   `json:"mean"`
		P50   int64   `json:"50th"`
		P90   int64   `json:"90th"`
		P95   int64   `json:"95th"`
		P99   int64   `json:"99th"`
		Max   int64   `json:"max"`
		Min   int64   `json:"min"`
	} `json:"latencies"`
	BytesIn     map[string]any   `json:"bytes_in"`
	BytesOut    map[string]any   `json:"bytes_out"`
	Earliest    time.Time        `json:"earliest"`
	Latest      time.Time        `json:"latest"`
	End         time.Time        `json:"end"`
	Duration    int64            `json:"duration"`
	Wait        int64            `json:"wait"`
	Requests    int64            `json:"requests"`
	Rate        float64          `json:"rate"`
	Throughput  float64          `json:"throughput"`
	Success     float64          `json:"success"`
	StatusCodes map[string]int64 `json:"status_codes"`
	Errors      []string         `json:"errors"`
}

// study is the table of the runs. testdata/README.md of package vaultbench names its source.
//
//go:embed runs.csv
var study string

// Study returns the runs of the study in the order of the table.
func Study(t testing.TB) []Run {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(study)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var runs []Run
	for _, l := range lines[1:] {
		runs = append(runs, parse(t, l))
	}
	return runs
}

func parse(t testing.TB, l []string) Run {
	t.Helper()
	r := Run{Replicas: l[0], Platform: l[1], File: l[2]}
	var earliest string
	_, err := fmt.Sscan(strings.Join(l[3:], " "), &r.Requests, &r.Success, &r.Duration, &r.Wait, &r.Rate, &r.Throughput,
		&r.Latencies.Mean, &r.Latencies.P50, &r.Latencies.P90, &r.Latencies.P95, &r.Latencies.P99, &r.Latencies.Max, &r.Latencies.Min, &earliest)
	if err == nil {
		r.Earliest, err = time.Parse(time.RFC3339Nano, earliest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The log lines that vault-benchmark may write before its result, in its logger's two formats. Both contain braces.
const (
	PlainLog = "2023-08-15T08:25:18.412Z [INFO]  vault-benchmark: setting up targets\n" +
		"2023-08-15T08:25:19.103Z [WARN]  vault-benchmark: using mount path: config={mount: transit}\n"
	JSONLog = `{"@level":"info","@message":"setting up targets","@module":"vault-benchmark","@timestamp":"2023-08-15T08:25:18.412Z"}` + "\n"
)

// JSON returns the file that vault-benchmark would have written for the run, without log lines. Each of the four
// tests has a quarter of all requests.
func (r Run) JSON() string {
	metrics := map[string]Statistics{"total": r.part(1)}
	for _, test := range []string{"decrypt", "encrypt", "sign", "verify"} {
		metrics["transit_"+test+"_test_1"] = r.part(0.25)
	}
	data, err := json.Marshal(map[string]any{"metrics": metrics, "target_addr": "https://vault.vault:8200"})
	if err != nil {
		panic(err) // numbers and times can always be written as JSON, so no error occurs
	}
	return string(data) + "\n"
}

func (r Run) part(share float64) Statistics {
	s := r.Statistics
	s.Requests = int64(float64(r.Requests) * share)
	s.Rate, s.Throughput = r.Rate*share, r.Throughput*share
	s.Latencies.Total = float64(r.Latencies.Mean) * float64(s.Requests)
	s.BytesIn = map[string]any{"total": 480 * s.Requests, "mean": 480.25}
	s.BytesOut = map[string]any{"total": 295 * s.Requests, "mean": 295.5}
	s.Latest = r.Earliest.Add(time.Duration(r.Duration))
	s.End = s.Latest.Add(time.Duration(r.Wait))
	s.StatusCodes, s.Errors = map[string]int64{"200": int64(float64(s.Requests) * r.Success)}, []string{}
	if r.Success < 1 {
		s.StatusCodes["500"] = s.Requests - s.StatusCodes["200"]
		s.Errors = append(s.Errors, "500 Internal Server Error")
	}
	return s
}

// Write writes the runs as files below dir: REPLICASreplicas/PLATFORM/results-FILE.json. Every tenth file
// begins with log lines.
func Write(t testing.TB, dir string, runs []Run) {
	t.Helper()
	for i, r := range runs {
		to := filepath.Join(dir, r.Replicas+"replicas", r.Platform)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		text := r.JSON()
		switch i % 20 {
		case 9:
			text = PlainLog + text
		case 19:
			text = JSONLog + text
		}
		if err := os.WriteFile(filepath.Join(to, "results-"+r.File+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
