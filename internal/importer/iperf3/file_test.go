package iperf3_test

import (
	"strings"
	"testing"

	"tare/internal/importer/importertest"
	"tare/internal/importer/iperf3"
)

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n", "the file is empty"},
		{"text output", "Connecting to host 127.0.0.1, port 5201\n[  5] local 127.0.0.1\n", "no JSON of iperf3: it writes some with -J or --json-stream"},
		{"another tool's", `{"results": []}`, "no JSON of iperf3: it writes some with -J or --json-stream"},
		{"a list", `[{"start": {}}]`, "the JSON is a list where an object is expected"},
		{"no test", `{"start": {"version": "iperf 3.12"}}`, "iperf3 reports: no test (start.test_start is missing)"},
		{"wrong kind", `{"end": {"sum_sent": {"bytes": "many"}}}`, `member "end.sum_sent.bytes" is text where a number is expected`},
		{"wrong kind in an event", `{"event": "end", "data": []}`, `event "end": the JSON is a list where an object is expected`},
		{"no data in an event", `{"event": "end"}`, `event "end" has no data`},
		{"protocol", `{"start": {"version": "iperf 3.12", "test_start": {"protocol": "\u001b[2J"}}}`, `the protocol "\x1b[2J" is not one of iperf3's`},
	} {
		t.Run(c.name, func(t *testing.T) {
			trials, err := importertest.Read(iperf3.Format, "x.json", c.text)
			if err == nil || err.Error() != c.want {
				t.Errorf("%d trials and the error %v, want %s", len(trials), err, c.want)
			}
		})
	}
}

// Each test in a file is a trial. The expected text is its cell and the reason why it is broken.
func TestTests(t *testing.T) {
	report := importertest.Fixture(t, "3.12-tcp-reverse.json")
	stream := importertest.Fixture(t, "3.21-stream.json")
	full := importertest.Fixture(t, "3.21-stream-full.json")
	cut := stream[:strings.LastIndex(stream, `{"event":"end"`)]
	refused := importertest.Fixture(t, "3.12-refused.json")
	const tail = ": iperf3 reports: the events of the test stop before its end"
	for _, c := range []struct{ name, text, want string }{
		{"a report", report, "tcp-download"},
		{"two", report + "warning\n" + report, "tcp-download, tcp-download-2"},
		{"events", stream, "tcp"},
		{"events without an end", cut, "tcp" + tail},
		{"events of two tests, the first without an end", cut + stream, "tcp" + tail + ", tcp-2"},
		{"events without an end before a report", cut + report, "tcp" + tail + ", tcp-download"},
		{"events and the report that repeats them", full, "udp"},
		{"events, the report that repeats them, and another test", full + report, "udp, tcp-download"},
		{"a server with probes", refused + report + refused, "tcp-download"},
		{"a report without an end", `{"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 1}}}`,
			"tcp: the report has no bandwidth at its end: nothing was received"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trials, err := importertest.Read(iperf3.Format, "x.json", c.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, trial := range trials {
				text := trial.Cell
				if trial.Broken != "" {
					text += ": " + trial.Broken
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("the trials are\n%s\nwant\n%s", strings.Join(got, ", "), c.want)
			}
		})
	}
}

// Newer versions report the received UDP payload. For these, the computation for older versions must give the
// same number.
func TestArrived(t *testing.T) {
	told := importertest.Fixture(t, "3.16-udp.json")
	untold := strings.NewReplacer(`"sum_received"`, `"x"`, `"sum_sent"`, `"y"`).Replace(told)
	var rates [2]float64
	for i, text := range []string{told, untold} {
		trials, err := importertest.Read(iperf3.Format, "x.json", text)
		if err != nil || len(trials) != 1 {
			t.Fatal(trials, err)
		}
		rates[i] = trials[0].Values[0].Value
	}
	if d := rates[1]/rates[0] - 1; rates[0] == 0 || d < -1e-6 || d > 1e-6 {
		t.Errorf("received %g bit/s, and by packets %g bit/s", rates[0], rates[1])
	}
}
