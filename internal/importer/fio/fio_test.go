package fio_test

import (
	"testing"

	"tare/internal/importer/fio"
	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, fio.Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, fio.Format, `{"fio version":"fio-3.1","jobs":[{"jobname":"a","read":{"total_ios":1,"io_bytes":1e308,"runtime":1e-300,"clat_ns":{"bins":{"1e18":1,"5":-1}}}}]}`)
}

func BenchmarkFourJobs(b *testing.B) { importertest.Benchmark(b, fio.Format, "four-jobs.json") }
func BenchmarkOneJob(b *testing.B)   { importertest.Benchmark(b, fio.Format, "gtod-reduce.json") }
func BenchmarkBins(b *testing.B)     { importertest.Benchmark(b, fio.Format, "json-plus.json") }
