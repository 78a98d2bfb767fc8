package fio

import (
	"os"
	"strings"
	"testing"
)

func parseFixture(t *testing.T, name string) *Report {
	t.Helper()
	f, err := os.Open("../../importer/fio/testdata/" + name)
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

// fio computes its percentiles from the bins that it prints, so both ways must give the same.
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

// fio prints the middle of each bin, which plat_idx_to_val in its stat.c computes from the bin's number. The
// bounds must enclose it and meet those of the next bin.
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
		lower, upper := BinBounds(middle(bin))
		if lower != end || !(lower <= middle(bin) && middle(bin) < upper) {
			t.Fatalf("bin %d around %g ns is [%g, %g), after one that ends at %g", bin, middle(bin), lower, upper, end)
		}
		end = upper
	}
	if want := float64(1 << 34); end != want {
		t.Errorf("the last bin ends at %g ns, want %g", end, want)
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
		if got := (&Report{}).BlockSize(&Job{Options: c.options}, c.way, way); got != c.want {
			t.Errorf("the blocks of %s with %v are %g bytes, want %g", c.way, c.options, got, c.want)
		}
	}
}
