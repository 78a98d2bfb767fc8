// Package netperf reads the output of netperf's omni tests, in each of its three forms: comma-separated (-- -o),
// columns (-- -O) and KEY=value (-- -k). The super-netperf of k8s-netperf prints the last form.
//
// Each result is a trial. The cell is the test with the sizes in the output: "tcp-rr.request=1.response=1".
//
// The headline of a stream is the received bandwidth, and that of a request/response test is the rate of transactions.
// A request/response test is a closed loop with one transaction in flight, and as many more as its burst. The metric
// round-trip restates the rate. A latency is the time of a transaction or, in a stream, of a call of send or receive.
// With a burst, it is the time from a send to the next response. Latencies are in whole microseconds. A quantile below
// 4 µs is left out, since one microsecond is more than a quarter of it.
package netperf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
)

// Format reads netperf's omni output.
var Format = importer.Format{
	Name:       "netperf",
	Doc:        "netperf's omni output (test-specific -o, -O or -k), with one or more results in a file",
	Extensions: []string{".txt", ".csv", ".log", ".out", ".keys"},
	Read:       importer.Whole(read),
}

func read(_ importer.File, data []byte) ([]importer.Trial, error) {
	var trials []importer.Trial
	p := parser{done: func(r *result) error {
		t, err := r.trial()
		if err != nil {
			return fmt.Errorf("result %d: %w", len(trials)+1, err)
		}
		trials = append(trials, t)
		return nil
	}}
	return trials, p.all(string(data))
}

func (r *result) trial() (importer.Trial, error) {
	text, ok := r.fields["THROUGHPUT"]
	if !ok {
		return importer.Trial{}, errors.New("THROUGHPUT is missing: select it")
	}
	throughput, err := importer.Number(text)
	if err != nil {
		return importer.Trial{}, fmt.Errorf("THROUGHPUT: %w", err)
	}
	u, ok := units[r.fields["THROUGHPUT_UNITS"]]
	if !ok {
		return importer.Trial{}, fmt.Errorf("the unit of the throughput is %q: select THROUGHPUT_UNITS, too", r.fields["THROUGHPUT_UNITS"])
	}
	t := importer.Trial{Kind: "network", Cell: r.test(u.transactions), Levels: r.levels(), Facts: r.facts(), Series: r.series()}
	for _, l := range t.Levels {
		t.Cell += "." + l.String()
	}
	s, _ := r.number("ELAPSED_TIME")
	t.Wall = importer.Seconds(s)
	if math.IsInf(throughput*u.factor, 0) {
		return t, fmt.Errorf("THROUGHPUT: %g %s is no rate", throughput, r.fields["THROUGHPUT_UNITS"])
	}
	switch {
	case !u.transactions && !r.asks():
		r.stream(&t, throughput*u.factor)
		r.common(&t)
		return t, nil
	case !u.transactions: // option -f has set bits or bytes as the unit, and not transactions
		if throughput, ok = r.number("TRANSACTION_RATE"); !ok {
			return t, errors.New("the throughput of a request/response test is given in bits or bytes: select TRANSACTION_RATE, or run without -f")
		}
	}
	t.Add(importer.Ratio(rate, "1/s", experiment.Higher, true), throughput)
	r.latencies(&t, "latency")
	r.positive(&t, roundTrip, "s", "RT_LATENCY", 1e-6)
	r.common(&t)
	t.Loop = r.loop()
	return t, nil
}

// number returns a field as a number; false if it is missing. netperf writes -1 or a text for an unknown value.
func (r *result) number(name string) (float64, bool) {
	v, err := importer.Number(r.fields[name])
	return v, err == nil && v >= 0
}

// units holds the units of THROUGHPUT, with their factors to bit/s or 1/s. KBytes, MBytes and GBytes are powers of
// 1024.
var units = map[string]struct {
	factor       float64
	transactions bool
}{
	"Trans/s":    {1, true},
	"10^0bits/s": {1, false},
	"10^3bits/s": {1e3, false},
	"10^6bits/s": {1e6, false},
	"10^9bits/s": {1e9, false},
	"Bytes/s":    {8, false},
	"KBytes/s":   {8 << 10, false},
	"MBytes/s":   {8 << 20, false},
	"GBytes/s":   {8 << 30, false},
}

// tests shortens the name of a test. The name stands in the banner, the line that begins a result.
var tests = strings.NewReplacer("migrated ", "", "connect/request/response", "crr", "request/response", "rr", " ", "-", "|", "-")

// test returns the short name of the test. The banner gives the name, or else the protocol and the direction.
func (r *result) test(transactions bool) string {
	for _, mark := range []string{" TEST from ", " TEST to "} {
		name, _, ok := strings.Cut(r.banner, mark)
		if name = strings.TrimSpace(name); ok && name != "" && !strings.HasPrefix(name, "OMNI") {
			return tests.Replace(strings.ToLower(name))
		}
	}
	kind := map[string]string{"Send": "stream", "Receive": "maerts", "Send|Recv": "rr"}[r.fields["DIRECTION"]]
	switch protocol := strings.ToLower(r.fields["PROTOCOL"]); {
	case kind != "" && protocol != "":
		return protocol + "-" + kind
	case transactions:
		return "omni-rr"
	case strings.HasPrefix(r.banner, "OMNI Receive"):
		return "omni-maerts"
	}
	return "omni-stream"
}

func (r *result) asks() bool {
	name := r.test(false)
	return strings.HasSuffix(name, "-rr") || strings.HasSuffix(name, "-crr")
}

func (r *result) levels() []factor.Level {
	var levels []factor.Level
	add := func(name string, v float64) {
		if v > 0 {
			levels = append(levels, factor.Level{Factor: name, Value: strconv.FormatFloat(v, 'f', -1, 64)})
		}
	}
	asks := r.asks() // a request/response test sends only requests and responses: their sizes are the levels
	for _, l := range []struct{ name, key string }{
		{"send", "LOCAL_SEND_SIZE"}, {"remote-send", "REMOTE_SEND_SIZE"}, {"request", "REQUEST_SIZE"}, {"response", "RESPONSE_SIZE"},
	} {
		if v, ok := r.number(l.key); ok && (!asks || !strings.HasSuffix(l.name, "send")) {
			add(l.name, v)
		}
	}
	add("burst", r.burst())
	return levels
}

func (r *result) facts() map[string]string {
	facts := map[string]string{}
	for _, f := range []struct{ name, key string }{
		{"command", "COMMAND_LINE"}, {"congestion control", "LOCAL_CONG_CONTROL"}, {"mss", "TRANSPORT_MSS"},
	} {
		if v := r.fields[f.key]; v != "" && v != "-1" && v != "Deprecated" {
			facts[f.name] = v
		}
	}
	if n, ok := r.number("CONFIDENCE_ITERATION"); ok && n > 1 {
		facts["mean of iterations"] = r.fields["CONFIDENCE_ITERATION"]
	}
	return facts
}

// burst returns the number of transactions in flight in addition to the first one.
func (r *result) burst() float64 {
	burst, ok := r.number("BURST_SIZE")
	if _, after, found := strings.Cut(r.banner, ": first burst "); found && !ok {
		burst, _ = importer.Number(after)
	}
	return max(0, burst)
}

// loop returns the closed loop of a request/response test; nil without a usable latency. With bursts, only RT_LATENCY
// is the time of a transaction.
func (r *result) loop() *experiment.Loop {
	l := experiment.Loop{Throughput: rate, Workers: 1 + r.burst()}
	if v, ok := r.number("MEAN_LATENCY"); ok && v > 0 && l.Workers == 1 {
		l.Latency = "latency-mean"
	} else if v, ok := r.number("RT_LATENCY"); ok && v > 0 {
		l.Latency = roundTrip
	} else {
		return nil
	}
	return &l
}

// series returns the values that demo mode (-D) printed during the test, in bit/s or 1/s.
func (r *result) series() []importer.Series {
	s := importer.Series{Name: rate, Unit: "1/s"}
	end := 0.
	for _, i := range r.interim {
		u, ok := units[i.unit]
		if !ok {
			return nil
		}
		if !u.transactions {
			s.Name, s.Unit = bandwidth, "bit/s"
		}
		end += i.seconds
		s.Seconds = append(s.Seconds, end)
		s.Values = append(s.Values, i.value*u.factor)
	}
	if len(s.Values) == 0 || math.IsInf(end, 0) {
		return nil
	}
	return []importer.Series{s}
}

const (
	bandwidth = "bandwidth"
	rate      = "throughput"
	roundTrip = "round-trip"
)

func (r *result) stream(t *importer.Trial, bits float64) {
	t.Add(importer.Ratio(bandwidth, "bit/s", experiment.Higher, true), bits)
	r.latencies(t, "call")
	sent, ok := r.number("LOCAL_SEND_CALLS")
	received, ok2 := r.number("REMOTE_RECV_CALLS")
	if r.test(false) == "udp-stream" && ok && ok2 && sent > 0 {
		t.Add(importer.Difference("loss"), 1-received/sent)
	}
}

func (r *result) latencies(t *importer.Trial, what string) {
	const fewest = 4 // smallest quantile that is kept, in µs: netperf's whole microseconds are too coarse
	r.positive(t, what+"-mean", "s", "MEAN_LATENCY", 1e-6)
	for _, l := range []struct{ name, key string }{
		{"-p50", "P50_LATENCY"}, {"-p90", "P90_LATENCY"}, {"-p99", "P99_LATENCY"}, {"-max", "MAX_LATENCY"},
	} {
		if v, _ := r.number(l.key); v >= fewest {
			r.positive(t, what+l.name, "s", l.key, 1e-6)
		}
	}
}

// common adds retransmits and the complete machine's CPU time. The latter is per transaction or, converted from KB of
// 1024 bytes, per Gbit.
func (r *result) common(t *importer.Trial) {
	unit, perUnit := "s/Gbit", 1e-6/(8<<10)*1e9
	if r.fields["SD_UNITS"] == "usec/Tran" {
		unit, perUnit = "s", 1e-6
	}
	if r.fields["SD_UNITS"] != "" {
		r.positive(t, "cpu-local", unit, "LOCAL_SD", perUnit)
		r.positive(t, "cpu-remote", unit, "REMOTE_SD", perUnit)
	}
	for _, side := range []struct{ name, key string }{
		{"retransmits-local", "LOCAL_TRANSPORT_RETRANS"}, {"retransmits-remote", "REMOTE_TRANSPORT_RETRANS"},
	} {
		if v, ok := r.number(side.key); ok {
			t.Add(importer.Difference(side.name), v)
		}
	}
}

// positive adds the value of key, multiplied by perUnit, as an exploratory metric. A missing value or zero adds
// nothing.
func (r *result) positive(t *importer.Trial, name, unit, key string, perUnit float64) {
	if v, ok := r.number(key); ok {
		t.AddFit(importer.Ratio(name, unit, experiment.Lower, false), v*perUnit)
	}
}
