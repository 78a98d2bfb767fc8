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

// stream are the values of a test that sends in one direction.
func (r *result) stream(bits float64) []importer.Value {
	values := []importer.Value{{
		Metric: experiment.Metric{Name: bandwidth, Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		Value:  bits,
	}}
	values = append(values, r.latencies("call")...)
	sent, ok := r.number("LOCAL_SEND_CALLS")
	received, ok2 := r.number("REMOTE_RECV_CALLS")
	if r.test(false) == "udp-stream" && ok && ok2 && sent > 0 {
		values = append(values, importer.Value{
			Metric: experiment.Metric{Name: "loss", Better: experiment.Lower, Scale: experiment.Difference, Optional: true},
			Value:  1 - received/sent,
		})
	}
	return values
}

// transactions are the values of a request/response test.
func (r *result) transactions(perSecond float64) []importer.Value {
	values := []importer.Value{{
		Metric: experiment.Metric{Name: rate, Unit: "1/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		Value:  perSecond,
	}}
	values = append(values, r.latencies("latency")...)
	return append(values, r.positive(roundTrip, "s", "RT_LATENCY", 1e-6)...)
}

// fewest is the smallest quantile, in µs, that is told finely enough.
const fewest = 4

// latencies are what netperf measures, in µs, of every call or transaction.
func (r *result) latencies(what string) []importer.Value {
	values := r.positive(what+"-mean", "s", "MEAN_LATENCY", 1e-6)
	for _, l := range []struct{ name, key string }{
		{"-p50", "P50_LATENCY"}, {"-p90", "P90_LATENCY"}, {"-p99", "P99_LATENCY"}, {"-max", "MAX_LATENCY"},
	} {
		if v, ok := r.number(l.key); ok && v >= fewest {
			values = append(values, r.positive(what+l.name, "s", l.key, 1e-6)...)
		}
	}
	return values
}

// common are the values of every test: what it cost, and what was sent again. A
// service demand is the CPU time of a whole machine, per transaction or per KB of
// 1024 bytes, which is converted to a Gbit.
func (r *result) common() []importer.Value {
	var values []importer.Value
	unit, perUnit := "s/Gbit", 1e-6/(8<<10)*1e9
	if r.fields["SD_UNITS"] == "usec/Tran" {
		unit, perUnit = "s", 1e-6
	}
	if r.fields["SD_UNITS"] != "" {
		values = append(values, r.positive("cpu-local", unit, "LOCAL_SD", perUnit)...)
		values = append(values, r.positive("cpu-remote", unit, "REMOTE_SD", perUnit)...)
	}
	for _, side := range []struct{ name, key string }{
		{"retransmits-local", "LOCAL_TRANSPORT_RETRANS"}, {"retransmits-remote", "REMOTE_TRANSPORT_RETRANS"},
	} {
		if v, ok := r.number(side.key); ok {
			values = append(values, importer.Value{
				Metric: experiment.Metric{Name: side.name, Better: experiment.Lower, Scale: experiment.Difference, Optional: true},
				Value:  v,
			})
		}
	}
	return values
}

// positive gives a value that is no headline, if it is told and not zero.
func (r *result) positive(name, unit, key string, perUnit float64) []importer.Value {
	v, ok := r.number(key)
	if v *= perUnit; !ok || v <= 0 {
		return nil
	}
	return []importer.Value{{
		Metric: experiment.Metric{Name: name, Unit: unit, Better: experiment.Lower, Scale: experiment.Ratio, Optional: true},
		Value:  v,
	}}
}
