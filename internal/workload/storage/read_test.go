package storage

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/text/safetext"
	"tare/internal/toolformat/fio"
)

// recorded reads a report of testdata as if the config had made it.
func recorded(t *testing.T, name string) *jobResult {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	report, err := fio.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return &jobResult{report: report}
}

// TestRecorded compares the metrics with values that jq finds in the reports.
func TestRecorded(t *testing.T) {
	read := short(randomRead)
	read.Direct = pastCache
	write := short(randomWrite)
	write.Direct, write.SyncEvery, write.BlockSize = pastCache, 4, factor.Of[quantity.Size](1<<20)
	tests := []struct {
		file   string
		config *Config
		values map[string]float64
		work   float64
		failed float64
	}{
		{"randread.json", read, map[string]float64{
			"read-bandwidth": 2383892459, "read-iops": 582005, "read-latency": 12.353e-6, "read-total-latency": 13.418e-6,
			"read-p50": 9.664e-6, "read-p99": 20.864e-6, "read-p99.9": 91.648e-6,
		}, 2.386, 0},
		// Of 4,872 writes, 49 are beyond p99; of 1,217 fsyncs, 12 are.
		{"randwrite-sync.json", write, map[string]float64{
			"write-bandwidth": 5103558713, "write-iops": 4867, "write-latency": 1232.62e-6, "write-total-latency": 1637.81e-6,
			"write-p50": 1044.48e-6, "write-sync-latency": 1249e-6,
		}, 5.109, 0},
		// Of 60,893 blocks, 57,098 were read, and only they count.
		{"errors.json", read, map[string]float64{
			"read-bandwidth": 233406594, "read-iops": 56984, "read-latency": 63.017e-6, "read-total-latency": 65.659e-6,
			"read-p50": 12.224e-6, "read-p99": 733.184e-6,
		}, 0.2339, 3795. / 60893},
	}
	for _, test := range tests {
		r, err := test.config.read(recorded(t, test.file), false)
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		if diff := cmp.Diff(test.values, r.Values, cmpopts.EquateApprox(0.001, 0)); diff != "" {
			t.Errorf("%s: %s", test.file, diff)
		}
		if math.Abs(r.Work/test.work-1) > 0.001 || math.Abs(r.Failed-test.failed) > 1e-9 {
			t.Errorf("%s: %v GB, %v failed", test.file, r.Work, r.Failed)
		}
	}
}

// TestCounted distinguishes failed I/Os, which the limit on errors judges, from other failures.
func TestCounted(t *testing.T) {
	for name, want := range map[string]bool{"errors.json": true, "randread.json": false} {
		if got := counted(recorded(t, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if counted(nil) || counted(&jobResult{}) {
		t.Error("nothing was reported")
	}
}

func FuzzRead(f *testing.F) {
	// The inputs are short, since the fuzzer shortens each interesting input before it continues.
	f.Add([]byte(`{"fio version":"fio-3.33","jobs":[{"error":5,"total_err":2,"first_error":5,"read":{"io_bytes":8192,"bw_bytes":8000,"runtime":1001,"total_ios":200000,"clat_ns":{"mean":5,"N":200000,"percentile":{"50.0":5,"99.9":7}},"lat_ns":{"mean":6}},"sync":{"lat_ns":{"N":20000,"mean":1,"bins":{"7":20000}}}}]}`))
	f.Add([]byte(`{"fio version":"fio-3.33","jobs":[{"total_err":-1,"read":{"runtime":1e308,"bw_bytes":1e308,"total_ios":-1,"clat_ns":{"N":1e300,"percentile":{"50":1e308}}}}]}`))
	c := short(randomRead)
	c.SyncEvery = 1
	known := map[string]bool{}
	for _, m := range c.Measures().All() {
		known[m.Name] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := fio.Parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		r, err := c.read(&jobResult{report: report}, true)
		if err != nil {
			return
		}
		for name, v := range r.Values {
			if !known[name] || !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%s is %v", name, v)
			}
		}
		if !(r.Failed >= 0 && r.Failed <= 1) || !(r.Work >= 0) {
			t.Errorf("%v failed, %v GB", r.Failed, r.Work)
		}
	})
}

func FuzzLastLines(f *testing.F) {
	f.Add("a\nb\r\n\x1b[31m\xff")
	f.Add(strings.Repeat("ä", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		last := lastLines(text)
		if utf8.RuneCountInString(last) > mostSaid+1 || !safetext.Printable(last) {
			t.Errorf("%q", last)
		}
	})
}
