package fortio

import (
	"strings"
	"testing"

	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func TestAppended(t *testing.T) { importertest.Appended(t, Format, "http-max.json") }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format,
		`{"RunType":"HTTP","RequestedQPS":"max","ActualQPS":1,"DurationHistogram":{"Count":1,"Avg":1e308,"Percentiles":[{"Percentile":99,"Value":-1}]}}`,
		`{"RunType":"HTTP","RequestedQPS":"0x1p4","ActualQPS":1,"DurationHistogram":{"Count":1}}`,
		`{"RunType":"TCP","RequestedQPS":"1","ActualQPS":1,"DurationHistogram":{"Count":1,"Data":[{"Start":2,"End":1,"Count":-1}]}}`,
	)
}

func BenchmarkRead(b *testing.B) { importertest.Benchmark(b, Format, "http-200qps.json") }

// least is the smallest file of a run at a fixed rate.
const least = `{"RunType":"HTTP","RequestedQPS":"100","ActualQPS":99,"NumThreads":4,"RetCodes":{"200":9,"503":1},
	"DurationHistogram":{"Count":10,"Avg":0.25,"Max":0.5,"Percentiles":[{"Percentile":99,"Value":0.5}]}}`

func TestRate(t *testing.T) {
	for _, c := range []struct{ qps, broken, loop string }{
		{"100", "", ""},
		{"104.2", "", ""}, // the run reached 95.01 % of its requested rate
		{"104.3", "requested rate not reached: 99 of 104.3 requests/s (94.9 %)", ""},
		{"max", "", "closed"},
	} {
		trials, err := importertest.Read(Format, "f", strings.Replace(least, `"100"`, `"`+c.qps+`"`, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := trials[0]; got.Broken != c.broken || (got.Loop != nil) != (c.loop != "") {
			t.Errorf("at %s requests/s: broken %q, loop %v", c.qps, got.Broken, got.Loop)
		}
	}
}

func TestRefused(t *testing.T) {
	importertest.Refused(t, Format, [][3]string{
		{"empty", "", "the file is empty"},
		{"other JSON", `{"jobs":[]}`, "no result of Fortio: it writes one with -json or -a"},
		{"no histogram", strings.Replace(least, `"DurationHistogram":{`, `"DurationHistogram":null,"x":{`, 1), "DurationHistogram or ActualQPS is missing"},
		{"no rate", strings.Replace(least, `"ActualQPS":99,`, "", 1), "DurationHistogram or ActualQPS is missing"},
		{"strange rate", strings.Replace(least, `"100"`, `"NaN"`, 1), `RequestedQPS is "NaN", neither "max" nor a rate`},
		{"negative rate", strings.Replace(least, `"100"`, `"-1"`, 1), `RequestedQPS is "-1", neither "max" nor a rate`},
		{"negative count", strings.Replace(least, `"503":1`, `"503":-1`, 1), `RetCodes counts -1 requests with "503"`},
		{"text for a number", strings.Replace(least, `"ActualQPS":99`, `"ActualQPS":"many"`, 1), `member "ActualQPS" is text where a number is expected`},
		{"reversed bucket", strings.Replace(least, `"Avg"`, `"Data":[{"Start":2,"End":1,"Count":1}],"Avg"`, 1), "counts 1 values from 2 to 1 in bucket 1"},
		{"nesting", `{"RunType":` + strings.Repeat("[", 100_000), "JSON"},
	})
	importertest.Truncated(t, Format, "http-200qps.json", 1000, "truncated")
}

// TestResolution reads percentiles that the buckets resolve, and some that they do not: in the first bucket,
// which is as wide as the resolution, and at the boundary of two buckets.
func TestResolution(t *testing.T) {
	for _, c := range []struct {
		buckets, percentile string
		want                bool
	}{
		{`{"Start":0.0001,"End":0.001,"Count":9}`, "0.0005", false},
		{`{"Start":0.003,"End":0.004,"Count":9}`, "0.0039", false},
		{`{"Start":0.004,"End":0.005,"Count":9}`, "0.0045", true},
		{`{"Start":0.003,"End":0.004,"Count":5},{"Start":0.004,"End":0.005,"Count":4}`, "0.004", true},
		{`{"Start":0.004,"End":0.005,"Count":9}`, "0.006", false},
	} {
		text := strings.Replace(least, `"Percentiles":[`, `"Data":[`+c.buckets+`],"Percentiles":[{"Percentile":50,"Value":`+c.percentile+`},`, 1)
		trials, err := importertest.Read(Format, "f", text)
		if err != nil {
			t.Fatal(err)
		}
		known := false
		for _, v := range trials[0].Values {
			known = known || v.Metric.Name == "latency-p50"
		}
		if named := strings.Contains(trials[0].Facts["percentiles not resolved"], "p50"); known != c.want || named == c.want {
			t.Errorf("%s s in %s: known %v, named as not resolved %v", c.percentile, c.buckets, known, named)
		}
	}
}

func TestNoRun(t *testing.T) {
	failed := `{"message":"Aborted before even starting","error":true,` + strings.TrimPrefix(least, "{")
	trials, err := importertest.Read(Format, "f", failed)
	if err != nil || trials[0].Broken != "Fortio reports that the run failed: Aborted before even starting" {
		t.Errorf("trials %+v, error %v", trials, err)
	}
	trials, err = importertest.Read(Format, "f", strings.Replace(least, `"Count":10`, `"Count":0`, 1))
	if err != nil || trials[0].Broken != "no request was made" {
		t.Errorf("trials %+v, error %v", trials, err)
	}
}

func TestLarge(t *testing.T) {
	importertest.Large(t, Format, `{"RunType":"HTTP","RequestedQPS":"1","ActualQPS":1,"DurationHistogram":{"Count":1,"Data":[`, `{"Count":1}]}}`, `{"Start":1,"End":1,"Count":1},`)
	importertest.Large(t, Format, `{"RunType":"HTTP","RequestedQPS":"1","ActualQPS":1,"DurationHistogram":{"Count":1,"Percentiles":[`, `{}]}}`, `{"Percentile":1,"Value":1},`, `{},`)
	importertest.Large(t, Format, "", "", "{", "[", `{"a":`, "\n{", `{"RunType":1,"DurationHistogram":1}`, "\\", `"`)
}
