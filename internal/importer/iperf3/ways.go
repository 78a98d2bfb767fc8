package iperf3

import (
	"math"
	"slices"

	"tare/internal/importer"
	"tare/internal/toolformat/iperf3"
)

// way holds the data sent in one direction during a test or a part of the test.
type way struct {
	sends       bool // set if this side sends
	received    amount
	retransmits *float64
	lost        float64 // share of the packets that were lost; only for UDP
	jitter      float64 // jitter in s, for UDP; 0: unknown
}

// amount is a payload and its duration, in s; both are zero if unknown.
type amount struct{ bytes, seconds float64 }

func (a amount) rate() float64 {
	if !(a.bytes > 0 && a.seconds > 0) {
		return 0
	}
	return a.bytes * 8 / a.seconds
}

func of(s *iperf3.Sum) amount {
	if s == nil || s.Bytes == nil || s.Seconds == nil {
		return amount{}
	}
	return amount{iperf3.Count(*s.Bytes), *s.Seconds}
}

// both reports whether data were sent in both directions. For versions 3.7 to 3.12 only the streams show it: some send,
// and some receive.
func (t *test) both() bool {
	if t.Start.TestStart.Bidir != 0 || t.End.ReceivedReverse != nil || t.End.SumReverse != nil {
		return true
	}
	sending, streams := 0, 0
	for _, s := range t.End.Streams {
		for _, sum := range []*iperf3.Sum{s.Sender, s.UDP} {
			if sum == nil {
				continue
			}
			streams++
			if sum.Sender {
				sending++
			}
		}
	}
	return t.Start.TestStart.Reverse == 0 && sending > 0 && sending < streams
}

func (t *test) sends() bool { return (t.Start.Accepted == nil) == (t.Start.TestStart.Reverse == 0) }

func (t *test) ways() []way {
	e := &t.End
	switch {
	case !t.both():
		return []way{t.way(t.sends(), e.Sum, e.Sent, e.Received)}
	case e.ReceivedReverse != nil || e.SumReverse != nil:
		return []way{
			t.way(true, e.Sum, e.Sent, e.Received),
			t.way(false, e.SumReverse, e.SentReverse, e.ReceivedReverse),
		}
	}
	return []way{t.fromStreams(true), t.fromStreams(false)}
}

func (t *test) way(sends bool, udp, sent, received *iperf3.Sum) way {
	w := way{sends: sends, received: of(received)}
	if sent != nil {
		w.retransmits = sent.Retransmits
	}
	if !t.UDP() {
		return w
	}
	if received == nil {
		received = udp
		w.received = t.arrived(udp)
	}
	if received != nil {
		w.jitter = positive(received.Jitter) / 1e3
		w.lost = share(received)
	}
	return w
}

// arrived returns the received UDP payload: a full block for each packet that was not lost. Reports up to version 3.10
// give only the sent bytes.
func (t *test) arrived(s *iperf3.Sum) amount {
	if s == nil || s.Packets == nil || s.Lost == nil || s.Seconds == nil {
		return amount{}
	}
	return amount{(iperf3.Count(*s.Packets) - iperf3.Count(*s.Lost)) * t.Start.TestStart.Block, *s.Seconds}
}

// fromStreams adds up the streams of one direction. Reports of iperf3 up to 3.10 lack this sum: both directions' sums
// have one name in their JSON.
func (t *test) fromStreams(sends bool) way {
	w := way{sends: sends}
	var packets, lost, jitter, streams float64
	retransmits := 0.0
	for _, s := range t.End.Streams {
		if s.UDP != nil && s.UDP.Sender == sends {
			w.received = w.received.and(t.arrived(s.UDP))
			packets, lost = packets+positive(s.UDP.Packets), lost+positive(s.UDP.Lost)
			jitter, streams = jitter+positive(s.UDP.Jitter)/1e3, streams+1
		}
		if s.Sender != nil && s.Sender.Sender == sends {
			w.received = w.received.and(of(s.Receiver))
			retransmits += positive(s.Sender.Retransmits)
			w.retransmits = &retransmits
		}
	}
	if packets > 0 {
		w.lost, w.jitter = math.Min(1, lost/packets), jitter/streams
	}
	return w
}

// The method and returns the sum of two amounts of bytes that were sent at the same time.
func (a amount) and(b amount) amount { return amount{a.bytes + b.bytes, max(a.seconds, b.seconds)} }

// positive returns a count as a number of at least 0; 0 if the count is missing.
func positive(v *float64) float64 {
	if v == nil {
		return 0
	}
	return max(0, iperf3.Count(*v))
}

func share(s *iperf3.Sum) float64 {
	if packets := positive(s.Packets); packets > 0 {
		return min(1, positive(s.Lost)/packets)
	}
	return 0
}

// series returns the values over time, without the warm-up. They are measured by the side that wrote the report, client
// or server.
func (t *test) series() []importer.Series {
	if !t.both() {
		return t.seriesOf("", t.sends(), func(i *iperf3.Interval) *iperf3.Sum { return i.Sum })
	}
	sent, received := "-"+upload, "-"+download
	if t.Start.Accepted != nil {
		sent, received = received, sent
	}
	return append(t.seriesOf(sent, true, func(i *iperf3.Interval) *iperf3.Sum { return oneWay(i, true) }),
		t.seriesOf(received, false, func(i *iperf3.Interval) *iperf3.Sum { return oneWay(i, false) })...)
}

// oneWay returns one direction's sum in an interval of a test in both directions. For reports up to version 3.10, it
// adds up the streams.
func oneWay(i *iperf3.Interval, sends bool) *iperf3.Sum {
	switch {
	case i.Reverse != nil && sends:
		return i.Sum
	case i.Reverse != nil:
		return i.Reverse
	}
	var total *iperf3.Sum
	for _, s := range i.Streams {
		switch {
		case s.Sender != sends:
		case total == nil:
			total = &s.Sum
		default:
			total.Bytes = plus(total.Bytes, s.Bytes)
			total.Retransmits = plus(total.Retransmits, s.Retransmits)
			total.Lost, total.Packets = plus(total.Lost, s.Lost), plus(total.Packets, s.Packets)
		}
	}
	return total
}

func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

func (t *test) intervalRTT(i *iperf3.Interval) (mean float64, known bool) {
	sum, n := 0.0, 0.0
	for _, s := range i.Streams {
		if s.RTT > 0 && (s.Sender || !t.both()) {
			sum, n = sum+s.RTT/1e6, n+1
		}
	}
	return sum / max(1, n), n > 0
}

// seriesOf returns the series of one direction without gaps. Loss and jitter are the receiver's, retransmits and
// round-trip times the sender's.
func (t *test) seriesOf(suffix string, sends bool, sum func(*iperf3.Interval) *iperf3.Sum) []importer.Series {
	var ends []float64
	var list []importer.Series
	add := func(name, unit string, v float64, known bool) {
		if !known {
			return
		}
		at := slices.IndexFunc(list, func(s importer.Series) bool { return s.Name == name+suffix })
		if at < 0 {
			at = len(list)
			list = append(list, importer.Series{Name: name + suffix, Unit: unit})
		}
		list[at].Values = append(list[at].Values, v)
	}
	for k := range t.Intervals {
		i := &t.Intervals[k]
		s := sum(i)
		// A test that was stopped early has its last interval twice; the second one is skipped.
		if s == nil || s.Omitted || s.End == nil || len(ends) > 0 && *s.End <= ends[len(ends)-1] {
			continue
		}
		ends = append(ends, *s.End)
		add("bandwidth", "bit/s", of(s).rate(), s.Bytes != nil)
		switch {
		case t.UDP() && !sends:
			add("loss", "", share(s), s.Packets != nil)
			add("jitter", "s", positive(s.Jitter)/1e3, s.Jitter != nil)
		case !t.UDP() && sends:
			add("retransmits", "", positive(s.Retransmits), s.Retransmits != nil)
			rtt, known := t.intervalRTT(i)
			add("rtt", "s", rtt, known)
		}
	}
	list = slices.DeleteFunc(list, func(s importer.Series) bool { return len(s.Values) < len(ends) })
	for i := range list {
		list[i].Seconds = ends
	}
	return list
}
