package network

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/toolformat/iperf3"
	"tare/internal/workload"
)

// The files in testdata are from iperf3 3.12 between two network namespaces over a link of 1 Gbit/s.
func readReport(t *testing.T, name string) *iperf3.Report {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := parse(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func TestFigures(t *testing.T) {
	tests := []struct {
		name         string
		direction    direction
		length, omit float64
		want         figures // rates in Mbit/s, times in µs
	}{
		{"tcp-upload", upload, 2, 0, figures{received: 959.792, sent: 967.254, loss: 0, jitter: 0, retransmits: 0, rtt: 1674.88, moved: 240334976}},
		{"tcp-upload", upload, 2, 0.5, figures{received: 955.803, sent: 955.993, loss: 0, jitter: 0, retransmits: 0, rtt: 1840.33, moved: 240334976}},
		{"tcp-download", download, 2, 0.5, figures{received: 956.47, sent: 954.276, loss: 0, jitter: 0, retransmits: 13, rtt: 1674.17, moved: 240102544}},
		{"tcp-both", both, 2, 0.5, figures{received: 1907.5, sent: 1916.15, loss: 0, jitter: 0, retransmits: 0, rtt: 5322.31, moved: 477930232}},
		{"udp-upload", upload, 2, 0, figures{received: 499.457, sent: 499.926, loss: 0.000938401, jitter: 6.78988, retransmits: 0, rtt: 0, moved: 124869728}},
		{"udp-upload", upload, 2, 0.5, figures{received: 499.965, sent: 500.136, loss: 0.000602196, jitter: 5.20754, retransmits: 0, rtt: 0, moved: 124869728}},
		{"udp-download", download, 2, 0.5, figures{received: 581.253, sent: 597.466, loss: 0.0219497, jitter: 63.0161, retransmits: 0, rtt: 0, moved: 146670816}},
		{"udp-both", both, 2, 0.5, figures{received: 600.017, sent: 600.025, loss: 0, jitter: 4.55218, retransmits: 0, rtt: 0, moved: 149936056}},
		{"udp-overload", upload, 2, 0.5, figures{received: 801.539, sent: 959.22, loss: 0.16434, jitter: 129.642, retransmits: 0, rtt: 0, moved: 202592576}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, server := readReport(t, test.name+"-client.json"), readReport(t, test.name+"-server.json")
			got, err := read(client, server, test.direction, test.length, test.omit)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "received Mbit/s", got.received/1e6, test.want.received)
			near(t, "sent Mbit/s", got.sent/1e6, test.want.sent)
			near(t, "loss", got.loss, test.want.loss)
			near(t, "jitter µs", got.jitter*1e6, test.want.jitter)
			near(t, "retransmits", got.retransmits, test.want.retransmits)
			near(t, "round-trip time µs", got.rtt*1e6, test.want.rtt)
			near(t, "bytes moved", got.moved, test.want.moved)
		})
	}
}

// TestUnavailable reads output of a TCP run in gVisor, and output without retransmits. The retransmits are unknown
// instead of zero.
func TestUnavailable(t *testing.T) {
	whole := file(t, "tcp-upload-client.json")
	for name, test := range map[string]struct {
		client, server string
		length         float64
	}{
		"gvisor":     {file(t, "gvisor-tcp-client.json"), file(t, "gvisor-tcp-server.json"), 1},
		"not given":  {strings.ReplaceAll(whole, `"retransmits"`, `"gone"`), file(t, "tcp-upload-server.json"), 2},
		"no windows": {strings.ReplaceAll(whole, `"snd_cwnd":`, `"snd_cwnd": 0, "gone":`), file(t, "tcp-upload-server.json"), 2},
	} {
		f, err := readBoth([]byte(test.client), []byte(test.server), upload, test.length, 0)
		if err != nil || f.retransmits != -1 || f.received <= 0 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*math.Max(math.Abs(want), 1e-2) {
		t.Errorf("%s: got %.8g, want %.8g", what, got, want)
	}
}

func TestReportErrors(t *testing.T) {
	whole, err := os.ReadFile("testdata/tcp-upload-client.json")
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) string { return strings.ReplaceAll(string(whole), old, new) }
	tests := []struct {
		name, json string
		want       string
	}{
		{"nothing", "", "parse: no output"},
		{"truncated", string(whole[:2000]), "parse: JSON of 2000 bytes: unexpected end of JSON input"},
		{"text", "iperf3: error\n", "parse: JSON of 14 bytes: invalid character 'i' looking for beginning of value"},
		{"empty object", "{}", "parse: the JSON has no start.test_start"},
		{"no intervals", replace(`"intervals"`, `"gone"`), "parse: the JSON has no intervals"},
		{"no sum", replace(`"sum"`, `"gone"`), "parse: the JSON has no intervals.sum"},
		{"no bytes", replace(`"bytes"`, `"gone"`), "parse: the JSON has no intervals.sum.bytes"},
		{"no time", replace(`"seconds"`, `"gone"`), "parse: the JSON has no intervals.sum.seconds"},
		{"some retransmits", strings.Replace(string(whole), `"retransmits"`, `"gone"`, 10), "parse: the JSON has no intervals.sum.retransmits in some intervals"},
		{"wrong type", `{"start": {"test_start": {"protocol": 7}}}`,
			"parse: JSON of 42 bytes: json: cannot unmarshal number into Go struct field testStart.start.test_start.protocol of type string"},
		{"huge", replace(`"seconds":	`, `"seconds":	1e300, "x": `), "parse: intervals.sum.seconds is 1e+300"},
		{"too short", replace(`"seconds":	0.`, `"seconds":	0.0`), "parse: the intervals cover"},
		{"refused", file(t, "refused-client.json"), "exit-status: unable to connect to server: Connection refused"},
		{"server killed", file(t, "killed-client.json"), "exit-status: the server has terminated"},
		{"killed server", file(t, "killed-server.json"), "exit-status: interrupt - the server has terminated"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readBoth([]byte(test.json), []byte(file(t, "tcp-upload-server.json")), upload, 2, 1)
			var invalid *workload.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, which is not an *Invalid", err)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
		})
	}
}

func file(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readBoth(client, server []byte, d direction, length, omit float64) (figures, error) {
	clientReport, err := parse(client)
	if err != nil {
		return figures{}, err
	}
	serverReport, err := parse(server)
	if err != nil {
		return figures{}, err
	}
	return read(clientReport, serverReport, d, length, omit)
}

func FuzzReport(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range names {
		f.Add([]byte(file(f, filepath.Base(name))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range []direction{upload, download, both} {
			got, err := readBoth(data, data, d, 2, 1)
			var invalid *workload.Invalid
			if err != nil && !errors.As(err, &invalid) {
				t.Errorf("%v is not an *Invalid", err)
			}
			if err == nil && !(got.received > 0 && got.sent > 0 && got.loss <= 1 && got.jitter >= 0 && got.retransmits >= -1 && got.rtt >= 0) {
				t.Errorf("figures that cannot be: %+v", got)
			}
		}
	})
}

func TestReadVersion(t *testing.T) {
	for text, want := range map[string][2]int{
		"iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.1\n": {3, 12},
		"iperf 3.17.1+ (cJSON 1.7.15)":              {3, 17},
		"iperf version 2.1.8":                       {},
		"":                                          {},
	} {
		if got, _ := tool.ReadVersion(text); got != want {
			t.Errorf("readVersion(%q): got %v, want %v", text, got, want)
		}
	}
}
