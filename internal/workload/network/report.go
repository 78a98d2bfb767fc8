package network

import (
	"cmp"
	"encoding/json"
	"math"

	"tare/internal/toolformat/iperf3"
	"tare/internal/workload"
)

// parse parses the JSON of iperf3. Tare takes results from its list of intervals, warm-up included: with -O, iperf3
// leaves out bytes whose CPU time it counts.
func parse(data []byte) (*iperf3.Report, error) {
	var r iperf3.Report
	if len(data) == 0 {
		return nil, workload.Invalidf(workload.RuleParse, "no output")
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, workload.Invalidf(workload.RuleParse, "JSON of %d bytes: %v", len(data), err)
	}
	if r.Error != "" {
		return nil, workload.Invalidf(workload.RuleExit, "%s", r.Error)
	}
	switch {
	case r.Start.TestStart == nil:
		return nil, missing("start.test_start")
	case len(r.Intervals) == 0:
		return nil, missing("intervals")
	}
	return &r, nil
}

func missing(field string) error {
	return workload.Invalidf(workload.RuleParse, "the JSON has no %s", field)
}

// totals holds sums over the intervals after the warm-up. They are sums of one side (sender or receiver) in one
// direction of the data.
type totals struct {
	whole       float64 // number of bytes, including the bytes during the warm-up
	bytes       float64
	seconds     float64
	retransmits float64
	sent        int  // number of time intervals in iperf3's report of a TCP sender
	unavailable int  // number of a TCP sender's intervals with unknown retransmits
	window      bool // set if the sender's kernel reports a congestion window
	lost        float64
	packets     float64
	jitter      float64 // sum of jitter × packets, in ms
	rtt         float64 // sum of the round-trip times, in s
	readings    float64
}

// side is the report of one end of a run: of the client or the server. It covers one direction of the data.
type side struct {
	report   *iperf3.Report
	reverse  bool // in a run in both directions: data from server to client
	receives bool
}

// total adds up the intervals after the warm-up, which takes omit seconds. An interval is left out if at least half of
// it lies in the warm-up.
func (s side) total(omit float64) (totals, error) {
	var t totals
	for _, i := range s.report.Intervals {
		u, name := i.Sum, "intervals.sum"
		if s.reverse {
			u, name = i.Reverse, "intervals.sum_bidir_reverse"
		}
		if u == nil {
			return t, missing(name)
		}
		if err := s.add(&t, i, u, name, omit); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (s side) add(t *totals, i iperf3.Interval, u *iperf3.Sum, name string, omit float64) error {
	var failed error
	read := func(v *float64, key string) float64 {
		var err error
		switch key = name + "." + key; {
		case v == nil:
			err = missing(key)
		case math.Abs(iperf3.Count(*v)) >= 1<<62:
			err = workload.Invalidf(workload.RuleParse, "%s is %g", key, *v)
		default:
			return iperf3.Count(*v)
		}
		failed = cmp.Or(failed, err)
		return 0
	}
	start, end, bytes := read(u.Start, "start"), read(u.End, "end"), read(u.Bytes, "bytes")
	t.whole += bytes
	if (start+end)/2 < omit || failed != nil {
		return failed
	}
	t.bytes += bytes
	t.seconds += read(u.Seconds, "seconds")
	switch udp := s.report.UDP(); {
	case udp && s.receives:
		packets := read(u.Packets, "packets")
		t.packets += packets
		t.lost += read(u.Lost, "lost_packets")
		t.jitter += packets * read(u.Jitter, "jitter_ms")
	case !udp && !s.receives:
		if u.Retransmits == nil {
			t.unavailable++
		} else {
			t.retransmits += read(u.Retransmits, "retransmits")
		}
		t.sent++
		for _, stream := range i.Streams {
			t.window = t.window || stream.Cwnd == nil || *stream.Cwnd != 0
			if stream.Sender && stream.RTT > 0 {
				t.rtt += stream.RTT / 1e6
				t.readings++
			}
		}
	}
	return failed
}

// known reports whether the number of retransmits is real. A congestion window of zero, as from gVisor's kernel, shows
// that it is unknown. UDP has no retransmits and counts as known.
func (t totals) known() bool { return t.sent == 0 || t.unavailable == 0 && t.window }

type figures struct {
	received    float64 // rate of the received payload in bit/s, summed over both directions
	sent        float64 // rate of the sent payload in bit/s, summed over both directions
	loss        float64 // UDP: share of packets lost, 0 to 1, in the direction that lost more
	jitter      float64 // UDP: mean jitter in s; 0 if unknown
	retransmits float64 // TCP: number of segments that were sent again; -1 if unknown
	rtt         float64 // TCP: mean of the round-trip times that the senders' kernels report, in s; 0 if unknown
	moved       float64 // number of bytes received, warm-up included
}

// read computes the figures of a run of length seconds. Its first omit seconds are the warm-up.
func read(client, server *iperf3.Report, d direction, length, omit float64) (figures, error) {
	type way struct{ sender, receiver side }
	var ways []way
	if d != download {
		ways = append(ways, way{side{report: client}, side{report: server, receives: true}})
	}
	if d != upload {
		reverse := d == both
		ways = append(ways, way{side{report: server, reverse: reverse}, side{report: client, reverse: reverse, receives: true}})
	}
	var f figures
	readings := 0.0
	for _, w := range ways {
		sent, err := w.sender.total(omit)
		if err != nil {
			return figures{}, err
		}
		received, err := w.receiver.total(omit)
		if err != nil {
			return figures{}, err
		}
		if err := plausible(sent, received, client.UDP(), length-omit); err != nil {
			return figures{}, err
		}
		f.received += received.bytes * 8 / received.seconds
		f.sent += sent.bytes * 8 / sent.seconds
		f.moved += received.whole
		if f.retransmits >= 0 && sent.known() {
			f.retransmits += sent.retransmits
		} else {
			f.retransmits = -1
		}
		f.rtt += sent.rtt
		readings += sent.readings
		if client.UDP() {
			f.loss = max(f.loss, received.lost/received.packets)
			f.jitter += received.jitter / received.packets / 1e3 / float64(len(ways))
		}
	}
	if readings > 0 {
		f.rtt /= readings
	}
	return f, nil
}

// covered is the smallest share of a trial's measured time that iperf3's reporting intervals must cover together.
const covered = 0.5

// plausible returns an error if the totals cannot come from a run with this measured time, given in seconds.
func plausible(sent, received totals, udp bool, seconds float64) error {
	for _, t := range []totals{sent, received} {
		if !(t.seconds >= covered*seconds && t.seconds <= seconds/covered+1) {
			return workload.Invalidf(workload.RuleParse, "the intervals cover %.3g of %.3g seconds", t.seconds, seconds)
		}
	}
	switch {
	case sent.bytes <= 0 || received.bytes <= 0:
		return workload.Invalidf(workload.RuleMetric, "nothing was received")
	case udp && !(received.packets > 0 && received.lost <= received.packets && received.jitter >= 0):
		return workload.Invalidf(workload.RuleParse, "%g of %g packets lost", received.lost, received.packets)
	case sent.unavailable > 0 && sent.unavailable < sent.sent:
		return missing("intervals.sum.retransmits in some intervals")
	case sent.retransmits < 0:
		return workload.Invalidf(workload.RuleParse, "%g retransmits", sent.retransmits)
	}
	return nil
}
