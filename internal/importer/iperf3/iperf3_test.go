package iperf3_test

import (
	"testing"

	"tare/internal/importer/importertest"
	"tare/internal/importer/iperf3"
)

func TestGolden(t *testing.T) { importertest.Golden(t, iperf3.Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, iperf3.Format,
		`{"start":{"version":"iperf 3.1","test_start":{"protocol":"UDP","blksize":1e300}},"end":{"sum":{"packets":1e300,"lost_packets":18446744073709551615,"seconds":1e-300}}}`)
}

func BenchmarkTCP(b *testing.B)    { importertest.Benchmark(b, iperf3.Format, "3.12-tcp-reverse.json") }
func BenchmarkStream(b *testing.B) { importertest.Benchmark(b, iperf3.Format, "3.21-stream.json") }
