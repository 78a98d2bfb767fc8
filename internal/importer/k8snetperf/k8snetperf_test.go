package k8snetperf

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tare/internal/importer"
	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format, header+row1, strings.Replace(header, "Burst,", "", 1)+row1,
		`[{"driver":"a","profile":"b","throughput":1,"tputMetric":"OP/s","serverCPU":{"idleCPU":1e308,"userCPU":1e308,"softCPU":1e308},"udpLossPercent":-1}]`)
}

func BenchmarkRead(b *testing.B) {
	for _, f := range []string{"result-1795302000.csv", "printed.json"} {
		b.Run(f, func(b *testing.B) { importertest.Benchmark(b, Format, f) })
	}
}

const (
	header = "Driver,Profile,Same node,Host Network,Service,Duration,Parallelism,# of Samples,Message Size,Burst,Avg Throughput,Throughput Metric,99%tile Observed Latency,Latency Metric\n"
	row1   = "netperf,TCP_RR,false,false,true,10,1,3,64,4,100.5,OP/s,20,usec\n"
)

func TestRefused(t *testing.T) {
	change := func(old, to string) string { return header + strings.Replace(row1, old, to, 1) }
	importertest.Refused(t, Format, [][3]string{
		{"empty", "", "the file is empty"},
		{"no JSON", "hello\n", "no result of k8s-netperf"},
		{"other CSV", "a,b\n1,2\n", `the first line has no column "Driver"`},
		{"no rows", header, "the table has no rows"},
		{"truncated", header + row1 + row1[:40], "line 3: 9 fields where the header has 14: wrong number of fields: is the file truncated?"},
		{"a flag", change("true", "perhaps"), `line 2, column 28: Service: "perhaps" is neither true nor false`},
		{"a count", change(",10,", ",-10,"), `line 2, column 33: Duration: "-10" is not a number of seconds, which are whole and begin at 0`},
		{"a number", change("100.5", "many"), `line 2, column 45: Avg Throughput: "many" is not a number`},
		{"infinite", change("100.5", "+Inf"), `line 2, column 45: Avg Throughput: "+Inf" is not a finite number`},
		{"a unit", change("OP/s", "furlongs"), `line 2: the unit of the throughput is "furlongs"`},
		{"no driver", change("netperf", ""), "line 2: the driver or the profile is missing"},
		{"a quote", change("TCP_RR", `T"`), "line 2, column 10: a quote inside a field that is not quoted"},
		{"twice", strings.Replace(header, "Burst", "Service", 1) + row1, "line 1: the column Service is there twice"},
		{"JSON without throughput", `[{"driver":"a","profile":"b","throughput":null}]`, "result 1: throughput is missing"},
		{"other JSON", `[{"a":1}]`, "no result of k8s-netperf: it writes result-N.csv, and prints JSON with --json"},
	})
	importertest.Truncated(t, Format, "printed.json", 1500, "truncated")
}

func TestBeside(t *testing.T) {
	if _, err := importertest.Read(Format, "f", importertest.Fixture(t, "cpu-result-1795302000.csv")); !errors.Is(err, importer.ErrNoResult) {
		t.Errorf("the error is %v", err)
	}
}

// TestNoSample reads a row without a successful sample. The row's throughput is 0. The import rejects the row, since
// metrics on a ratio scale are never 0.
func TestNoSample(t *testing.T) {
	trials, err := importertest.Read(Format, "f", header+strings.Replace(row1, "100.5", "NaN", 1))
	if err != nil || len(trials) != 1 || trials[0].Values[0].Value != 0 {
		t.Errorf("trials %+v, error %v", trials, err)
	}
}

// A version of 2024 writes a burst without a title after the message size.
func TestBurstWithoutTitle(t *testing.T) {
	trials, err := importertest.Read(Format, "f", strings.Replace(header, "Burst,", "", 1)+row1+row1)
	if err != nil || len(trials) != 2 || !strings.Contains(trials[1].Cell, "message=64.parallelism=1.burst=4") {
		t.Errorf("trials %+v, error %v", trials, err)
	}
}

func TestLarge(t *testing.T) {
	importertest.Large(t, Format, header, "", row1, ",", "\"", "\n")
	importertest.Large(t, Format, "", "", "a,", `[{"driver":1},`)
}

// The name of a table contains the time when it was written.
func TestWritten(t *testing.T) {
	for name, want := range map[string]string{
		"runs/1/result-1795302000.csv": "2026-11-21T23:00:00Z", "result-2023.csv": "", "result-1795302000.csv.gz": "", "my-result-1795302000.csv": "",
	} {
		trials, err := importertest.Read(Format, name, header+row1)
		if err != nil || len(trials) != 1 {
			t.Fatalf("%s: %+v, error %v", name, trials, err)
		}
		got := ""
		if at := trials[0].Start; !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s was written at %q, want %q", name, got, want)
		}
	}
}
