package netperf

import (
	"strings"
	"testing"

	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format, demo,
		"THROUGHPUT=1e308\nTHROUGHPUT_UNITS=GBytes/s\n",
		"THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\nMEAN_LATENCY=-nan\nRT_LATENCY=0\nELAPSED_TIME=1e300\n",
		"X TEST from \nThroughput Throughput\n           Units\n1          Trans/s\n",
		"Throughput,Throughput Units,Command Line\n1,Trans/s,\"a,\"b\n")
}

func BenchmarkRead(b *testing.B) {
	for _, f := range []string{"tcp-crr.keys", "tcp-rr-all.keys", "tcp-rr-all.txt"} {
		b.Run(f, func(b *testing.B) { importertest.Benchmark(b, Format, f) })
	}
}

// demo is the output of -D of a netperf configured with --enable-demo. It is made from netperf's source, since
// the installed netperf has no demo mode.
const demo = `MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo
Interim result: 9414.92 10^6bits/s over 1.000 seconds ending at 1795302375.120
Interim result: 9300.50 10^6bits/s over 1.250 seconds ending at 1795302376.370
THROUGHPUT=9351.35
THROUGHPUT_UNITS=10^6bits/s
`

func TestInterim(t *testing.T) {
	trials, err := importertest.Read(Format, "f", demo)
	if err != nil || len(trials) != 1 || len(trials[0].Series) != 1 {
		t.Fatalf("trials %+v, error %v", trials, err)
	}
	s := trials[0].Series[0]
	if s.Name != "bandwidth" || s.Unit != "bit/s" || s.Seconds[1] != 2.25 || s.Values[1] != 9300.50e6 {
		t.Errorf("the series is %+v", s)
	}
}

func TestUnits(t *testing.T) {
	for unit, want := range map[string]float64{"10^0bits/s": 2, "10^3bits/s": 2e3, "10^9bits/s": 2e9, "Bytes/s": 16, "KBytes/s": 16384, "MBytes/s": 16777216, "GBytes/s": 17179869184} {
		trials, err := importertest.Read(Format, "f", "PROTOCOL=SCTP\nDIRECTION=Send\nTHROUGHPUT=2\nTHROUGHPUT_UNITS="+unit+"\r\n")
		if err != nil || trials[0].Values[0].Value != want || trials[0].Cell != "sctp-stream" {
			t.Errorf("2 %s: trials %+v, error %v", unit, trials, err)
		}
	}
	trials, err := importertest.Read(Format, "f", "DIRECTION=Send|Recv\nPROTOCOL=TCP\nTHROUGHPUT=2\nTHROUGHPUT_UNITS=10^6bits/s\nTRANSACTION_RATE=700\n")
	if err != nil || trials[0].Cell != "tcp-rr" || trials[0].Values[0].Value != 700 || trials[0].Values[0].Metric.Unit != "1/s" {
		t.Errorf("transactions with -f m: trials %+v, error %v", trials, err)
	}
}

// TestBurst reads the number of transactions in flight, and the latency that belongs to it.
func TestBurst(t *testing.T) {
	const banner = "MIGRATED TCP REQUEST/RESPONSE TEST from x : first burst "
	for _, c := range []struct {
		text, latency string
		workers       float64
		cell          string
	}{
		{banner + "0\nMEAN_LATENCY=9\nRT_LATENCY=10\n", "latency-mean", 1, "tcp-rr"},
		{banner + "4\nMEAN_LATENCY=9\nRT_LATENCY=50\n", "round-trip", 5, "tcp-rr.burst=4"},
		{banner + "4\nBURST_SIZE=7\nRT_LATENCY=50\n", "round-trip", 8, "tcp-rr.burst=7"},
		{banner + "4\n", "", 0, "tcp-rr.burst=4"},
	} {
		trials, err := importertest.Read(Format, "f", c.text+"THROUGHPUT=100\nTHROUGHPUT_UNITS=Trans/s\n")
		if err != nil {
			t.Fatal(err)
		}
		got := trials[0]
		if got.Cell != c.cell || (got.Loop == nil) != (c.latency == "") || got.Loop != nil && (got.Loop.Latency != c.latency || got.Loop.Workers != c.workers) {
			t.Errorf("%q: cell %s, loop %+v", c.text, got.Cell, got.Loop)
		}
	}
}

func TestRefused(t *testing.T) {
	importertest.Refused(t, Format, [][3]string{
		{"empty", "", "the file is empty"},
		{"something else", "\x1b[2Jhello\n", `no result of netperf; it begins with "\x1b[2Jhello"`},
		{"no unit", "THROUGHPUT=1\n", `the unit of the throughput is "": select THROUGHPUT_UNITS, too`},
		{"no throughput", "THROUGHPUT_UNITS=Trans/s\n", "THROUGHPUT is missing: select it"},
		{"huge", "THROUGHPUT=1e308\nTHROUGHPUT_UNITS=GBytes/s\n", "1e+308 GBytes/s is no rate"},
		{"no number", "THROUGHPUT=-nan\nTHROUGHPUT_UNITS=Trans/s\n", `THROUGHPUT: "-nan" is not a`},
		{"bits of requests", "DIRECTION=Send|Recv\nPROTOCOL=TCP\nTHROUGHPUT=1\nTHROUGHPUT_UNITS=10^6bits/s\n", "select TRANSACTION_RATE, or run without -f"},
		{"second truncated", "A TEST from x\nTHROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\nA TEST from x\n", "the last test has no result: the file is truncated"},
		{"too few values", "Throughput,Throughput Units\n1\n", "line 2: there are 2 titles and 1 values"},
		{"titles only", "Throughput,Throughput Units\n", "titles without values: the file is truncated"},
	})
}

func TestLarge(t *testing.T) {
	importertest.Large(t, Format, "", "", "THROUGHPUT=1\nTHROUGHPUT_UNITS=Trans/s\n", "A=\n", "A TEST from b\n", "Throughput,", "\"", "Interim result: 1 a over 1\n")
	importertest.Large(t, Format, "A TEST from b\n", "\n"+strings.Repeat("a ", 1<<19), "a\n", "a b\n")
}
