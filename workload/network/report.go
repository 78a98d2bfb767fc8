package network

import (
	"encoding/json"
	"math"

	"tare/toolformat/iperf3"
	"tare/workload"
)

// parse reads the JSON of an iperf3, of which the series of intervals is used.
// iperf3's own way to leave a warm-up out (-O) is not used, since its output then
// lacks some of the bytes of the warm-up, which the CPU time of the processes
// includes. An error that iperf3 tells of breaks the rule exit-status, JSON that
// cannot be read the rule parse.
func parse(data []byte) (*iperf3.Report, error) {
	var r iperf3.Report
	if len(data) == 0 {
		return nil, &workload.Invalid{Rule: workload.RuleParse, Detail: "no output"}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, workload.Invalidf(workload.RuleParse, "JSON of %d bytes: %v", len(data), err)
	}
	if r.Error != "" {
		return nil, &workload.Invalid{Rule: workload.RuleExit, Detail: r.Error}
	}
	if r.Start.TestStart == nil {
		return nil, missing("start.test_start")
	}
	if len(r.Intervals) == 0 {
		return nil, missing("intervals")
	}
	return &r, nil
}

func missing(field string) error {
	return &workload.Invalid{Rule: workload.RuleParse, Detail: "the JSON has no " + field}
}

func number(v *float64, name string) (float64, error) {
	if v == nil {
		return 0, missing(name)
	}
	n := iperf3.Count(*v)
	if math.Abs(n) >= 1<<62 {
		return 0, workload.Invalidf(workload.RuleParse, "%s is %g", name, *v)
	}
	return n, nil
}

// totals adds up the intervals of one side and way that begin after the
// warm-up, besides whole, which is all of them.
type totals struct {
	whole       float64 // bytes, warm-up included
	bytes       float64
	seconds     float64
	retransmits float64
	sent        int  // intervals of a TCP sender
	unavailable int  // of them, those without retransmits
	window      bool // whether the sender's kernel tells of its connections
	lost        float64
	packets     float64
	jitter      float64 // ms × packets
	rtt         float64 // s, sum over readings
	readings    float64
}

// side is what one end of the run saw of one way.
type side struct {
	report   *iperf3.Report
	reverse  bool // of a run both ways, the way back
	receives bool
}

// total adds up. Intervals count from omit seconds on; those in which half of
// the time or more is before that do not.
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
		n, err := number(v, name+"."+key)
		if err != nil && failed == nil {
			failed = err
		}
		return n
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

// known says whether the retransmits are those of the connection. iperf3 takes them
// from the kernel with the congestion window, which is never zero; gVisor's fills
// in little of what is asked for, and leaves both at zero. UDP has none.
func (t totals) known() bool { return t.sent == 0 || t.unavailable == 0 && t.window }

// figures is what a run measured after the warm-up.
type figures struct {
	received    float64 // bit/s of payload; both ways added
	sent        float64 // bit/s of payload; both ways added
	loss        float64 // UDP: share of packets, 0 to 1; the worse of both ways
	jitter      float64 // UDP: seconds, mean; 0 if not given
	retransmits float64 // TCP: segments; -1 if not told
	rtt         float64 // TCP: seconds, mean of the readings of the senders' kernels; 0 if not given
	moved       float64 // bytes received, warm-up included
}

// read gives the figures of a run of that length, warm-up included, in seconds.
func read(client, server *iperf3.Report, d Direction, length, omit float64) (figures, error) {
	type way struct{ sender, receiver side }
	var ways []way
	switch d {
	case Upload:
		ways = []way{{side{report: client}, side{report: server, receives: true}}}
	case Download:
		ways = []way{{side{report: server}, side{report: client, receives: true}}}
	case Both:
		ways = []way{
			{side{report: client}, side{report: server, receives: true}},
			{side{report: server, reverse: true}, side{report: client, reverse: true, receives: true}},
		}
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

// covered is the share of the measurement that intervals must account for.
const covered = 0.5

// plausible rejects totals that cannot be those of a run of that many seconds.
func plausible(sent, received totals, udp bool, seconds float64) error {
	for _, t := range []totals{sent, received} {
		if !(t.seconds >= covered*seconds && t.seconds <= seconds/covered+1) {
			return workload.Invalidf(workload.RuleParse, "the intervals cover %.3g of %.3g seconds", t.seconds, seconds)
		}
	}
	switch {
	case sent.bytes <= 0 || received.bytes <= 0:
		return &workload.Invalid{Rule: workload.RuleMetric, Detail: "nothing was received"}
	case udp && !(received.packets > 0 && received.lost <= received.packets && received.jitter >= 0):
		return workload.Invalidf(workload.RuleParse, "%g of %g packets lost", received.lost, received.packets)
	case sent.unavailable > 0 && sent.unavailable < sent.sent:
		return missing("intervals.sum.retransmits in some intervals")
	case sent.retransmits < 0:
		return workload.Invalidf(workload.RuleParse, "%g retransmits", sent.retransmits)
	}
	return nil
}
