// Package vaultbenchtest makes vault-benchmark files for tests: from the numbers
// of a published study, and as many as one likes.
package vaultbenchtest

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Run is what one file of the study says of all its requests. Times are in ns.
type Run struct {
	Replicas, Platform, File string
	Requests                 int64
	Success                  float64
	Duration, Wait           int64
	Rate, Throughput         float64
	Latencies                Latencies
	Earliest                 time.Time
}

// Latencies are statistics of the latency, in ns.
type Latencies struct {
	Total float64 `json:"total"`
	Mean  int64   `json:"mean"`
	P50   int64   `json:"50th"`
	P90   int64   `json:"90th"`
	P95   int64   `json:"95th"`
	P99   int64   `json:"99th"`
	Max   int64   `json:"max"`
	Min   int64   `json:"min"`
}

// Study gives the runs of the study (testdata/study/runs.csv of package
// vaultbench) in the order of the table.
func Study(t testing.TB) []Run {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	f, err := os.Open(filepath.Join(filepath.Dir(here), "..", "testdata", "study", "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
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
	whole := func(i int) int64 {
		v, err := strconv.ParseInt(l[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	real := func(i int) float64 {
		v, err := strconv.ParseFloat(l[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	r := Run{
		Replicas: l[0], Platform: l[1], File: l[2], Requests: whole(3), Success: real(4),
		Duration: whole(5), Wait: whole(6), Rate: real(7), Throughput: real(8),
		Latencies: Latencies{Mean: whole(9), P50: whole(10), P90: whole(11), P95: whole(12), P99: whole(13), Max: whole(14), Min: whole(15)},
	}
	var err error
	if r.Earliest, err = time.Parse(time.RFC3339Nano, l[16]); err != nil {
		t.Fatal(err)
	}
	return r
}

// Synthetic makes n runs that look like those of the study and mean nothing: the
// mean latency is that of a log-normal distribution around 1.6 s, 3 % wide.
func Synthetic(n int, seed uint64) []Run {
	rng := rand.New(rand.NewPCG(seed, 1))
	runs := make([]Run, n)
	for i := range runs {
		mean := int64(1.6e9 * (1 + 0.03*rng.NormFloat64()))
		r := Run{Replicas: "5", Platform: "synthetic", File: fmt.Sprint(i + 1), Success: 1, Duration: 10e9, Wait: mean / 2}
		r.Earliest = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * 20 * time.Second)
		r.Throughput = 1300 / (float64(mean) / 1e9)
		r.Requests = int64(r.Throughput * 10)
		r.Rate = float64(r.Requests) / 10
		r.Latencies = Latencies{Mean: mean, P50: mean * 6 / 10, P90: mean * 22 / 10, P95: mean * 3, P99: mean * 34 / 10, Max: mean * 4, Min: mean / 150}
		runs[i] = r
	}
	return runs
}

// The logs that vault-benchmark may write before its result, by its logger's two
// forms. Both hold braces.
const (
	PlainLog = "2023-08-15T08:25:18.412Z [INFO]  vault-benchmark: setting up targets\n" +
		"2023-08-15T08:25:19.103Z [WARN]  vault-benchmark: using mount path: config={mount: transit}\n"
	JSONLog = `{"@level":"info","@message":"setting up targets","@module":"vault-benchmark","@timestamp":"2023-08-15T08:25:18.412Z"}` + "\n"
)

// statistics are those of all requests, or of one test.
type statistics struct {
	Latencies   Latencies        `json:"latencies"`
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

// JSON gives the run as the file that vault-benchmark would have written, without
// log lines. The study's table has the statistics of all requests; those of the
// four tests, a quarter of the requests each, are made up from them.
func (r Run) JSON() string {
	metrics := map[string]statistics{"total": r.statistics(1)}
	for _, test := range []string{"decrypt", "encrypt", "sign", "verify"} {
		metrics["transit_"+test+"_test_1"] = r.statistics(0.25)
	}
	data, err := json.Marshal(map[string]any{"metrics": metrics, "target_addr": "https://vault.vault:8200"})
	if err != nil {
		panic(err) // numbers and times from a table
	}
	return string(data) + "\n"
}

func (r Run) statistics(share float64) statistics {
	requests := int64(float64(r.Requests) * share)
	latest := r.Earliest.Add(time.Duration(r.Duration))
	s := statistics{
		Latencies: r.Latencies,
		BytesIn:   map[string]any{"total": 480 * requests, "mean": 480.25},
		BytesOut:  map[string]any{"total": 295 * requests, "mean": 295.5},
		Earliest:  r.Earliest, Latest: latest, End: latest.Add(time.Duration(r.Wait)),
		Duration: r.Duration, Wait: r.Wait, Requests: requests, Rate: r.Rate * share, Throughput: r.Throughput * share, Success: r.Success,
		StatusCodes: map[string]int64{"200": int64(float64(requests) * r.Success)}, Errors: []string{},
	}
	s.Latencies.Total = float64(r.Latencies.Mean) * float64(requests)
	if r.Success < 1 {
		s.StatusCodes["500"] = requests - s.StatusCodes["200"]
		s.Errors = append(s.Errors, "500 Internal Server Error")
	}
	return s
}

// Write writes the runs as files below dir: REPLICASreplicas/PLATFORM/results-FILE.json.
// Every tenth begins with log lines.
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
