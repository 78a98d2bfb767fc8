package kubestr

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/importer/importertest"
	"tare/internal/toolformat/fio"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format, `[{"Raw":{"fioConfig":"[global\n=\n[a]\nname=\nrw","result":{"jobs":[{"jobname":"a","groupid":1,"read":{"total_ios":1,"iops":2}}]}}}]`)
}

func BenchmarkDefaultJob(b *testing.B) { importertest.Benchmark(b, Format, "default-job.json") }

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"text", "Using existing PVC\n", "no result of kubestr fio: it writes one with -o json"},
		{"another test", `[{"TestName": "Kubernetes Version Check", "Status": [{"StatusCode": "OK"}]}]`, "no result of kubestr fio: it writes one with -o json"},
		{"fio's own report", `{"fio version": "fio-3.33"}`, "the JSON is an object where a list is expected"},
		{"failed", importertest.Fixture(t, "failed.json"), "kubestr reports: failed to create POD: Pod failed to become ready: context deadline exceeded"},
		{"empty result", `[{"Raw": {"result": {}}}]`, "fio's report within kubestr's: no report in JSON: fio writes one with --output-format=json or json+, unless it fails before the first job"},
		{"two", `[{"Raw": {"result": {}}}, {"Raw": {"result": {}}}]`, "there are two results of fio: which to take?"},
		{"wrong kind", `[{"Raw": {"size": 5}}]`, `member "Raw.size" is a number where text is expected`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := importertest.Read(Format, "x.json", c.text)
			if err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	global, jobs := parse(strings.Join([]string{
		"; comment", "[global]", "ioengine=libaio", " # another", "BS = 4k", "group_reporting",
		"[a]", "readwrite=randread", "[job2]", "name=b", "numjobs=4", "[global]", "direct=1", "[c]", "stonewall",
	}, "\n"))
	if d := cmp.Diff(fio.Options{"ioengine": "libaio", "bs": "4k", "group_reporting": "1", "direct": "1"}, global); d != "" {
		t.Error(d)
	}
	want := map[string]fio.Options{"a": {"rw": "randread"}, "b": {"name": "b", "numjobs": "4"}, "c": {"stonewall": "1"}}
	if d := cmp.Diff(want, jobs); d != "" {
		t.Error(d)
	}
}
