package netperf

import (
	"tare/experiment"
	"tare/importer"
)

// The metrics that others refer to.
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

func (r *result) transactions(t *importer.Trial, perSecond float64) {
	t.Add(importer.Ratio(rate, "1/s", experiment.Higher, true), perSecond)
	r.latencies(t, "latency")
	r.positive(t, roundTrip, "s", "RT_LATENCY", 1e-6)
}

// fewest is the smallest quantile, in µs, that is told finely enough.
const fewest = 4

// latencies adds what netperf measures, in µs, of every call or transaction.
func (r *result) latencies(t *importer.Trial, what string) {
	r.positive(t, what+"-mean", "s", "MEAN_LATENCY", 1e-6)
	for _, l := range []struct{ name, key string }{
		{"-p50", "P50_LATENCY"}, {"-p90", "P90_LATENCY"}, {"-p99", "P99_LATENCY"}, {"-max", "MAX_LATENCY"},
	} {
		if v, ok := r.number(l.key); ok && v >= fewest {
			r.positive(t, what+l.name, "s", l.key, 1e-6)
		}
	}
}

// common adds the values of every test: what it cost, and what was sent again. A
// service demand is the CPU time of a whole machine, per transaction or per KB of
// 1024 bytes, which is converted to a Gbit.
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

// positive adds a value that is no headline, if it is told and not zero.
func (r *result) positive(t *importer.Trial, name, unit, key string, perUnit float64) {
	if v, ok := r.number(key); ok {
		t.AddFit(importer.Ratio(name, unit, experiment.Lower, false), v*perUnit)
	}
}
