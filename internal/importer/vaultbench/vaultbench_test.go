package vaultbench_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/importer/importertest"
	"tare/internal/importer/vaultbench"
	"tare/internal/importer/vaultbench/vaultbenchtest"
)

// fixtures returns the files in testdata, without the study.
func fixtures(t testing.TB) map[string]string {
	study := vaultbenchtest.Study(t)
	failing := study[0]
	for _, r := range study {
		if r.Success < 1 {
			failing = r
			break
		}
	}
	whole := study[len(study)-1].JSON()
	return map[string]string{
		"plain.json":     whole,
		"log.json":       vaultbenchtest.PlainLog + whole,
		"json-log.json":  vaultbenchtest.JSONLog + whole,
		"failing.json":   failing.JSON(),
		"truncated.json": vaultbenchtest.JSONLog + whole[:len(whole)/2],
		"empty.json":     "",
		"log-only.json":  vaultbenchtest.PlainLog,
		"other.json":     `{"fio version": "fio-3.36", "jobs": []}` + "\n",
		"nothing.json":   `{"metrics": {"total": {"latencies": {"mean": 0, "max": 0}, "requests": 0, "throughput": 0, "success": 0}}}` + "\n",
		"part.json":      `{"metrics": {"total": {"latencies": {"mean": 5}, "requests": 3}}}` + "\n",
		"text.json":      `{"metrics": {"total": {"latencies": {"mean": "5ms"}, "requests": 3, "throughput": 1, "success": 1}}}` + "\n",
		"share.json":     `{"metrics": {"total": {"latencies": {"mean": 5}, "requests": 3, "throughput": 1, "success": 1.5}}}` + "\n",
		"null.json":      `{"metrics": {"total": null}}` + "\n",
	}
}

func TestFixtures(t *testing.T) {
	update := flag.Lookup("update").Value.String() == "true"
	for name, text := range fixtures(t) {
		file := filepath.Join("testdata", name)
		if update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := importertest.Fixture(t, name); got != text {
			t.Errorf("%s is not what the generator writes (-update)", file)
		}
	}
	importertest.Golden(t, vaultbench.Format)
}

func TestTruncated(t *testing.T) {
	whole := len(importertest.Fixture(t, "plain.json"))
	for _, at := range []int{1, 100, whole / 2, whole - 3} {
		importertest.Truncated(t, vaultbench.Format, "plain.json", at, "the JSON document has no end: the file is truncated")
	}
}

// TestStudy reads files with the numbers of the published runs and computes the study's table from them: mean
// and population variance over the runs of each statistic, in seconds, to the last published digit.
func TestStudy(t *testing.T) {
	values := map[string][]float64{}
	for _, run := range vaultbenchtest.Study(t) {
		if run.Replicas != "5" {
			continue
		}
		trials, err := importertest.Read(vaultbench.Format, run.File, run.JSON())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range trials[0].Values {
			key := run.Platform + " " + v.Metric.Name
			values[key] = append(values[key], v.Value)
		}
		if trials[0].Cell != "total" || trials[0].Errors.Share != 0 {
			t.Errorf("%s: cell %s with %v errors comes first", run.File, trials[0].Cell, trials[0].Errors)
		}
	}
	for key, want := range map[string]string{
		"aks latency-mean": "1.632200 (0.002057)", "aks latency-p99": "5.480679 (2.263700)",
		"aks latency-max": "6.651001 (2.808401)", "aks latency-min": "0.011415 (0.000133)",
		"gke latency-mean": "1.656435 (0.003615)", "gke latency-p99": "6.030807 (3.955051)",
		"gke latency-max": "7.164843 (3.300004)", "gke latency-min": "0.010233 (0.000111)",
		"c11n latency-mean": "1.651549 (0.001610)", "c11n latency-p99": "5.780422 (3.016106)",
		"c11n latency-max": "6.942997 (3.075796)", "c11n latency-min": "0.013774 (0.000228)",
	} {
		if got := meanVariance(values[key]); got != want {
			t.Errorf("%s: %s, published as %s", key, got, want)
		}
	}
}

func meanVariance(x []float64) string {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return fmt.Sprintf("%.6f (%.6f)", mean, squares/float64(len(x)))
}

// TestLittlesLaw checks on the published runs that the two metrics of Loop restate each other: their product is
// the number of requests in flight, which cannot exceed the 1300 workers.
func TestLittlesLaw(t *testing.T) {
	for _, run := range vaultbenchtest.Study(t) {
		if run.Success < 1 {
			continue // throughput counts only successful requests
		}
		workers := float64(run.Latencies.Mean) / 1e9 * run.Throughput
		if workers > 1300 || workers < 0.8*1300 || math.IsNaN(workers) {
			t.Errorf("%s: %.0f requests under way", run.File, workers)
		}
	}
}

func TestHeadlines(t *testing.T) {
	trials, err := importertest.Read(vaultbench.Format, "a.json", vaultbenchtest.Study(t)[0].JSON())
	if err != nil {
		t.Fatal(err)
	}
	var headlines []string
	for _, trial := range trials {
		for _, v := range trial.Values {
			if v.Metric.Headline {
				headlines = append(headlines, trial.Cell+":"+v.Metric.Name)
			}
		}
	}
	if got := strings.Join(headlines, " "); got != "total:latency-mean total:throughput" {
		t.Errorf("headlines: %s", got)
	}
}

func TestAppended(t *testing.T) { importertest.Appended(t, vaultbench.Format, "plain.json") }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, vaultbench.Format) }

func BenchmarkRead(b *testing.B) { importertest.Benchmark(b, vaultbench.Format, "log.json") }
