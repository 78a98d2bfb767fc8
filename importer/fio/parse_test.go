package fio

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func parseFixture(t *testing.T, name string) *Report {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fio itself computes its percentiles from the bins that it prints: both ways must
// give the same.
func TestQuantileFromBins(t *testing.T) {
	job := parseFixture(t, "json-plus.json").Jobs[0]
	for name, l := range map[string]Latency{"read": job.Read.Complete, "write": job.Write.Complete, "sync": job.Sync.Whole} {
		if len(l.Percentiles) != 17 {
			t.Fatalf("%s has %d percentiles, want fio's 17", name, len(l.Percentiles))
		}
		for _, p := range l.Percentiles {
			got, ok := (&Latency{Bins: l.Bins}).Quantile(p.Key)
			if !ok || got != p.Value {
				t.Errorf("%s p%g from the bins is %g ns, and %g ns by fio", name, p.Key, got, p.Value)
			}
		}
	}
}

// fio tells a bin by its middle, which plat_idx_to_val in its stat.c computes
// from the bin's number: the bounds must lie around it and meet those of the next bin.
func TestBinBounds(t *testing.T) {
	middle := func(bin int) float64 {
		if bin < 128 {
			return float64(bin)
		}
		lost := bin>>6 - 1
		return float64(int(1)<<(lost+6)) + (float64(bin%64)+0.5)*float64(int(1)<<lost)
	}
	end := 0.0
	for bin := range 29 * 64 {
		lower, upper := binBounds(middle(bin))
		if lower != end || !(lower <= middle(bin) && middle(bin) < upper) {
			t.Fatalf("bin %d around %g ns is [%g, %g), after one that ends at %g", bin, middle(bin), lower, upper, end)
		}
		end = upper
	}
	if want := float64(1 << 34); end != want {
		t.Errorf("the last bin ends at %g ns, want %g", end, want)
	}
}

func TestLittle(t *testing.T) {
	// The jobs keep a fixed number of I/Os under way; what fio counted must say so.
	for _, trial := range parseFixture(t, "four-jobs.json").Trials() {
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

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", "the file is empty"},
		{"text", "fio: failed to load engine libaio\n", "no report in JSON: fio writes one with --output-format=json or json+, unless it fails before the first job"},
		{"terse", "3;fio-3.33;a;0;0\n", "no report in JSON: fio writes one with --output-format=json or json+, unless it fails before the first job"},
		{"another tool's", `{"results": {}}`, "no report in JSON: fio writes one with --output-format=json or json+, unless it fails before the first job"},
		{"list", `[{"TestName": "x"}]`, "the JSON is a list, and not fio's report"},
		{"no end", `{"fio version": "fio-3.1", "jobs": [{`, "job 1: the JSON document has no end: the file is truncated"},
		{"wrong kind", `{"jobs": [{"jobname": "a"}, {"read": {"iops": "many"}}]}`, `job 2: member "read.iops" is text where a number is expected`},
		{"not valid", `{"jobs": [{"read": {"iops": -nan}}]}`, "job 1: not valid JSON: invalid character 'n' in numeric literal"},
		{"jobs not a list", `{"jobs": 3}`, "the jobs of the report are not a list"},
		{"bins", `{"jobs": [{"read": {"clat_ns": {"bins": {"1": {"2": 3}}}}}]}`, `job 1: "\"1\": {\"2\": 3}" is not a number by number`},
		{"too many jobs", `{"jobs": [` + strings.Repeat("{},", mostJobs) + `{}]}`, "more than 65536 jobs, the most that are read"},
		{"too many bins", `{"jobs": [{"read": {"clat_ns": {"bins": {` + strings.Repeat(`"1": 1,`, mostPairs) + `"1": 1}}}}]}`, "job 1: 4097 bins, and fio has at most 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse(strings.NewReader(c.text)); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestCells(t *testing.T) {
	var jobs []string
	for _, name := range []string{"a", "a", "a-2", "a", "", " "} {
		jobs = append(jobs, fmt.Sprintf(`{"jobname": %q}`, name))
	}
	r, err := Parse(strings.NewReader(`{"jobs": [` + strings.Join(jobs, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, trial := range r.Trials() {
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
		r, err := Parse(strings.NewReader(`{"jobs":[` + c.jobs + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		loop := r.Trials()[0].Loop
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

func TestBlockSize(t *testing.T) {
	way := &Way{Bytes: 3 << 20, Total: 3}
	for _, c := range []struct {
		options Options
		way     string
		want    float64
	}{
		{Options{"bs": "4k"}, "read", 4096},
		{Options{"bs": "4k,128K"}, "write", 128 << 10},
		{Options{"bs": "4k,128K"}, "trim", 128 << 10},
		{Options{"bs": "512"}, "read", 512},
		{Options{"bs": "2MiB"}, "read", 2 << 20},
		{Options{"bs": "4k", "bssplit": "4k/50:1m/50"}, "read", 1 << 20},
		{Options{"bs": "x"}, "read", 1 << 20},
		{nil, "read", 1 << 20},
	} {
		if got := (&Report{}).blockSize(&Job{Options: c.options}, c.way, way); got != c.want {
			t.Errorf("the blocks of %s with %v are %g bytes, want %g", c.way, c.options, got, c.want)
		}
	}
}
