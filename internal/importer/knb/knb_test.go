package knb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format, "data:\n  idle:\n    bandwidth: 0\n    client:\n      cpu:\n        total: 1e999",
		`{"data": {"idle": {"bandwidth": ,}, }, }`)
}

func BenchmarkJSON(b *testing.B)    { importertest.Benchmark(b, Format, "report.json") }
func BenchmarkYAML(b *testing.B)    { importertest.Benchmark(b, Format, "report.yaml") }
func BenchmarkArchive(b *testing.B) { importertest.Benchmark(b, Format, "report.knbdata") }

// All three forms hold the same data: knb wrote the JSON and YAML from the archive.
func TestSame(t *testing.T) {
	want := values(t, "report.json")
	for _, name := range []string{"report.yaml", "report.knbdata"} {
		got := values(t, name)
		for what, v := range want {
			if got[what] != v {
				t.Errorf("%s is %g in %s, and %g in JSON", what, got[what], name, v)
			}
		}
	}
	if len(want) != 4+5*4 {
		t.Errorf("there are %d values in JSON: %v", len(want), want)
	}
}

func values(t *testing.T, fixture string) map[string]float64 {
	trials, err := importertest.Read(Format, fixture, importertest.Fixture(t, fixture))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, trial := range trials {
		for _, v := range trial.Values {
			all[trial.Cell+" "+v.Metric.Name] = v.Value
		}
	}
	return all
}

func TestErrors(t *testing.T) {
	json := importertest.Fixture(t, "report.json")
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n", "the file is empty"},
		{"text output", "=====\n Benchmark Results\n=====\n", "no result of knb: it writes those that can be imported with -o json, yaml or data"},
		{"another tool's", `{"results": []}`, "there is no test in the result: is it of knb, and not of another tool?"},
		{"truncated", json[:1000], "the JSON document has no end: the file is truncated"},
		{"not valid", strings.Replace(json, `"mtu": "1450"`, `"mtu": 1450x`, 1), "not valid JSON: invalid character 'x' after object key:value pair"},
		{"wrong kind", strings.Replace(json, `"bandwidth": 0`, `"bandwidth": "fast"`, 1), `member "data.idle.bandwidth" is text where a number is expected`},
		{"a list in YAML", "metadata:\n  - name\n", `member "metadata" is a list where an object is expected`},
		{"an alias in YAML", "data:\n  *a: b\n", "not valid YAML: error converting YAML to JSON: yaml: unknown anchor 'a' referenced"},
		{"an anchor in YAML", "data:\n  cpu: &a x\n  mtu: *a\n", "the YAML has an anchor (&), and knb writes none"},
		{"a member beside none in YAML", "data:\n    cpu: x\n  mtu: y\n", "not valid YAML: error converting YAML to JSON: yaml: line 2: did not find expected key"},
		{"twice in YAML", "data:\n  cpu: x\n  cpu: y\n", "not valid YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 3: key \"cpu\" already set in map"},
		{"a number in YAML", "data:\n  idle:\n    bandwidth: fast\n", `member "data.idle.bandwidth" is text where a number is expected`},
		{"large", "data:\n" + strings.Repeat(" ", mostText), "the file is larger than 1 MB, the most that is read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := importertest.Read(Format, "x", c.text)
			if err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

// knb's own messages may precede and follow a result.
func TestMessages(t *testing.T) {
	for _, name := range []string{"report.json", "report.yaml"} {
		text := "2026-11-21 23:40:00 \x1b[0;36m[INFO]\x1b[0m Starting\n" + importertest.Fixture(t, name) + "2026-11-21 23:41:00 [INFO] Cleaning kubernetes resources ...\n"
		if trials, err := importertest.Read(Format, name, text); err != nil || len(trials) != 5 {
			t.Errorf("%s: %d trials (%v)", name, len(trials), err)
		}
	}
}

func TestParseLog(t *testing.T) {
	got := parseLog(strings.Join([]string{
		"Connecting to host 127.0.0.1, port 5501",
		"[  5] local 127.0.0.1 port 43244 connected to 127.0.0.1 port 5501",
		"[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
		"[  5]   0.00-1.00   sec  1.90 GBytes  16271 Mbits/sec   13   1023 KBytes       (omitted)",
		"[  5]   0.00-1.00   sec  1.94 GBytes  16642 Mbits/sec   15   1023 KBytes       ",
		"[  5]   1.00-2.00   sec  6.71 GBytes  57621 Mbits/sec  219810  ",
		"[  5]   1.00-2.00   sec  again",
		"[  5]   0.00-3.00   sec  5.62 GBytes  16087 Mbits/sec   45             sender",
		"[  5]   0.00-3.00   sec  17.8 GBytes  51059 Mbits/sec  0.001 ms  71182/636116 (11%)  receiver",
		"iperf3: error - unable to send",
	}, "\n"))
	retransmits, lost, jitter := 45.0, 71182.0/636116, 1e-6
	want := &log{
		intervals:   []interval{{1, 16642e6, 15}, {2, 57621e6, -1}},
		retransmits: &retransmits, lost: &lost, jitter: &jitter, failure: "unable to send",
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(log{}, interval{})); d != "" {
		t.Error(d)
	}
}
