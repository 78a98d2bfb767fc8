package fio

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/importer/importertest"
	"tare/internal/toolformat/fio"
)

func parsed(t *testing.T, text string) *fio.Report {
	t.Helper()
	r, err := fio.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLittle(t *testing.T) {
	// The jobs keep a fixed number of I/Os in flight, which the counts of fio must confirm.
	for _, trial := range Trials(parsed(t, importertest.Fixture(t, "four-jobs.json"))) {
		if trial.Loop == nil {
			t.Fatalf("%s has no loop", trial.Cell)
		}
		product := 1.0
		for _, v := range trial.Values {
			if v.Metric.Name == trial.Loop.Latency || v.Metric.Name == trial.Loop.Throughput {
				product *= v.Value
			}
		}
		if product < 0.97*trial.Loop.Workers || product > 1.03*trial.Loop.Workers {
			t.Errorf("%s: %s × %s is %.3f, and %g I/Os were under way", trial.Cell, trial.Loop.Latency, trial.Loop.Throughput, product, trial.Loop.Workers)
		}
	}
}

func TestCells(t *testing.T) {
	var jobs []string
	for _, name := range []string{"a", "a", "a-2", "a", "", " "} {
		jobs = append(jobs, fmt.Sprintf(`{"jobname": %q}`, name))
	}
	r := parsed(t, `{"jobs": [`+strings.Join(jobs, ",")+`]}`)
	var got []string
	for _, trial := range Trials(r) {
		got = append(got, trial.Cell)
		if trial.Broken != "the job did no I/O that took measurable time" {
			t.Errorf("%s is broken: %q", trial.Cell, trial.Broken)
		}
	}
	if want := "a a-2 a-2-2 a-3 job job-2"; strings.Join(got, " ") != want {
		t.Errorf("the cells are %q, want %s", got, want)
	}
}

func TestWorkers(t *testing.T) {
	job := `{"jobname":"a","job options":{%s},"job_runtime":%d,"latency_depth":%d,
		"read":{"total_ios":100,"io_bytes":409600,"iops":100,"runtime":1000,"lat_ns":{"mean":1e7}}}`
	for _, c := range []struct {
		name, jobs string
		want       float64
	}{
		{"asynchronous", fmt.Sprintf(job, `"ioengine":"io_uring"`, 1000, 16), 16},
		{"before 3.8", fmt.Sprintf(job, `"ioengine":"io_uring"`, 0, 16), 16},
		{"grouped", fmt.Sprintf(job, `"ioengine":"io_uring","numjobs":"4"`, 3990, 16), 64},
		{"not grouped", fmt.Sprintf(job+","+job, `"ioengine":"io_uring","numjobs":"2"`, 1000, 16, `"numjobs":"2"`, 1000, 16), 16},
		{"different jobs grouped", fmt.Sprintf(job, `"ioengine":"io_uring"`, 3000, 16), 0},
		{"synchronous", fmt.Sprintf(job, `"ioengine":"psync"`, 1000, 16), 1},
		{"engine not told", fmt.Sprintf(job, ``, 1000, 16), 0},
		{"paced", fmt.Sprintf(job, `"ioengine":"libaio","rate_iops":"100"`, 1000, 16), -1},
	} {
		r := parsed(t, `{"jobs":[`+c.jobs+`]}`)
		loop := Trials(r)[0].Loop
		if c.want < 0 {
			if loop != nil {
				t.Errorf("%s: the loop is %+v, want none", c.name, *loop)
			}
			continue
		}
		if loop == nil || loop.Workers != c.want {
			t.Errorf("%s: the loop is %+v, want %g workers", c.name, loop, c.want)
		}
	}
}
