package clusterloader2

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format,
		`{"dataItems":[{"data":{"Perc0":1e308,"":1,"Perc":1},"unit":"GB","labels":{"":"","Metric":"pod_startup","SlowCount":"-1"}}]}`,
		`{"max":0}`, `{"1":[{"Name":"a"}],"01":[{"Name":"a","CPU":1}]}`, `{"dataItems":null}`,
		`<testsuites><testsuite><testcase name=" overall (" time="1e300"><error message="x"/></testcase></testsuite></testsuites>`)
}

func BenchmarkRead(b *testing.B) {
	for _, f := range []string{"junit.xml", "APIResponsivenessPrometheus_simple_load_2026-11-21T20-15-01Z.json", "ResourceUsageSummary_load_2026-11-21T20-15-03Z.json"} {
		b.Run(f, func(b *testing.B) { importertest.Benchmark(b, Format, f) })
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]struct{ name, start string }{
		"runs/1/Timer_load_2026-11-21T20:15:00Z.json":       {"Timer_load", "2026-11-21T20:15:00Z"},
		"A_load_2026-11-21T20:15:00+02:00.json":             {"A_load", "2026-11-21T20:15:00+02:00"},
		`C:\x\A_load_2026-11-21T20-15-00Z.json`:             {"A_load", "2026-11-21T20:15:00Z"}, // a name as some systems write it
		"GenericPrometheusQuery a b_x_2026-11-21T20:15:00Z": {"GenericPrometheusQuery a b_x", "2026-11-21T20:15:00Z"},
		"_2026-11-21T20:15:00Z.json":                        {"summary", "2026-11-21T20:15:00Z"},
		"mine.json":                                         {"mine", ""},
	} {
		o := trialOf(name)
		start := ""
		if !o.Start.IsZero() {
			start = o.Start.Format("2006-01-02T15:04:05Z07:00")
		}
		if o.Cell != want.name || start != want.start {
			t.Errorf("%s is %q of %q, want %q of %q", name, o.Cell, start, want.name, want.start)
		}
	}
}

func TestStable(t *testing.T) {
	for name, want := range map[string]string{
		"coredns-6d4b75cb6d-x8w2p/coredns":                        "coredns/coredns",
		"kube-proxy-gke-c1-default-pool-3f2a1b4c-x8w2/kube-proxy": "kube-proxy-gke-c1-default-pool/kube-proxy",
		"kube-proxy-aks-nodepool1/kube-proxy":                     "kube-proxy-aks-nodepool1/kube-proxy",
		"webhook-v1beta1/webhook":                                 "webhook-v1beta1/webhook",
		"kube-apiserver-master/kube-apiserver":                    "kube-apiserver-master/kube-apiserver",
		"etcd-server/etcd":                                        "etcd-server/etcd",
		"node-exporter":                                           "node-exporter",
		"/c":                                                      "/c",
	} {
		if got := stable(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The random part of a namespace differs in every run.
func TestNamespace(t *testing.T) {
	trials, err := importertest.Read(Format, "f", `{"dataItems":[{"data":{"Perc99":1},"unit":"ms","labels":{"namespace":"test-s2fo14-3"}}]}`)
	if err != nil || len(trials) != 1 || trials[0].Cell != "f.namespace=test-3" {
		t.Errorf("%+v, error %v", trials, err)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"blank", " \n", "the file is empty"},
		{"text", "hello", "invalid character 'h'"},
		{"truncated JSON", `{"version":"v1","dataItems":[{"data":{`, "the JSON document has no end: the file is truncated"},
		{"strange items", `{"version":"v1","dataItems":[{"data":{"Perc50":"1"}}]}`, "its dataItems are not a list of data, unit and labels"},
		{"not a number", `{"dataItems":[{"data":{"Perc50":NaN}}]}`, "invalid character 'N'"},
		{"truncated XML", `<testsuite><testcase name="a">`, "the XML has no end (line 1): the file is truncated"},
		{"other XML", `<html></html>`, "the XML begins with <html>, not with a test suite: is it junit.xml?"},
		{"other tests", `<testsuite><testcase name="a" time="1"/></testsuite>`, "holds no test of ClusterLoader2"},
		{"time", `<testsuite><testcase name="a overall (b)" time="long"/></testsuite>`, `the time of "a overall (b)": "long" is not a number`},
		{"entity", `<!DOCTYPE x [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>`, "invalid character entity &a;"},
		{"nesting", `<testsuite><testcase name="a overall (b)">` + strings.Repeat("<a>", 100_000), "truncated"},
		{"nested JSON", strings.Repeat(`{"a":`, 100_000), "exceeded max depth"},
	} {
		if _, err := importertest.Read(Format, c.name, c.text); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, importer.ErrNoResult) {
			t.Errorf("%s: the error is %v, want %q", c.name, err, c.want)
		}
	}
}

func TestBeside(t *testing.T) {
	for _, text := range []string{`{}`, `[]`, `{"pods":[]}`, `{"dataItems":[]}`, `{"dataItems":[{"data":{"a":1},"unit":"cores"}]}`} {
		if _, err := importertest.Read(Format, "f", text); !errors.Is(err, importer.ErrNoResult) {
			t.Errorf("%s: the error is %v", text, err)
		}
	}
}

func TestLarge(t *testing.T) {
	importertest.Large(t, Format, `{"dataItems":[`, `{}]}`, `{"data":{"Perc99":1},"unit":"ms"},`)
	importertest.Large(t, Format, `{"50":[`, `{"Name":"a"}]}`, `{"Name":"a-`+strings.Repeat("bcdf-", 100)+`/c","CPU":1},`)
	importertest.Large(t, Format, `<testsuite>`, `</testsuite>`, `<testcase name="a overall (b)" time="1"></testcase>`, "<a/>")
}
