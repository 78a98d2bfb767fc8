package iperf3

import (
	"math"

	"tare/internal/toolformat/iperf3"
)

// way holds the data sent in one direction during a test or a part of it.
type way struct {
	sends       bool // set if this side sends
	received    amount
	retransmits *float64
	lost        float64 // the share of lost packets, UDP only
	jitter      float64 // in s, UDP only; 0: unknown
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

// both reports whether data were sent in both directions. Versions 3.7 to 3.12 show this only by streams of
// both kinds.
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

// sends reports whether this side sends in a test of one direction.
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

// arrived returns the received UDP payload for versions up to 3.10, which report only the sent bytes. It counts
// the packets that were not lost, each with a whole block.
func (t *test) arrived(s *iperf3.Sum) amount {
	if s == nil || s.Packets == nil || s.Lost == nil || s.Seconds == nil {
		return amount{}
	}
	return amount{(iperf3.Count(*s.Packets) - iperf3.Count(*s.Lost)) * t.Start.TestStart.Block, *s.Seconds}
}

// fromStreams adds up the streams of one direction. It is needed up to 3.10, where both sums have the same name
// and one hides the other.
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

// and adds an amount that was sent at the same time.
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
