package iperf3

import (
	"slices"

	"tare/internal/importer"
	"tare/internal/toolformat/iperf3"
)

// series returns the values over time, without the warm-up, as this side measured them.
func (t *test) series() []importer.Series {
	if !t.both() {
		return t.seriesOf("", t.sends(), func(i *iperf3.Interval) *iperf3.Sum { return i.Sum })
	}
	names := [2]string{"-" + upload, "-" + download}
	if t.Start.Accepted != nil {
		slices.Reverse(names[:])
	}
	sends := t.seriesOf(names[0], true, func(i *iperf3.Interval) *iperf3.Sum { return oneWay(i, true) })
	receives := t.seriesOf(names[1], false, func(i *iperf3.Interval) *iperf3.Sum { return oneWay(i, false) })
	return append(sends, receives...)
}

// oneWay returns the sum of one direction in an interval of a test in both directions. If both sums have the
// same name (up to 3.10), it adds up the streams.
func oneWay(i *iperf3.Interval, sends bool) *iperf3.Sum {
	switch {
	case i.Reverse != nil && sends:
		return i.Sum
	case i.Reverse != nil:
		return i.Reverse
	}
	var total *iperf3.Sum
	for k := range i.Streams {
		s := &i.Streams[k].Sum
		if s.Sender != sends {
			continue
		}
		if total == nil {
			one := *s
			total = &one
			continue
		}
		total.Bytes = plus(total.Bytes, s.Bytes)
		total.Retransmits = plus(total.Retransmits, s.Retransmits)
		total.Lost, total.Packets = plus(total.Lost, s.Lost), plus(total.Packets, s.Packets)
	}
	return total
}

func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// column is a series that is being built.
type column struct {
	name, unit string
	of         func(*iperf3.Interval, *iperf3.Sum) (float64, bool)
}

// columns returns the series of one direction. Only a receiver knows loss and jitter, and only a sender knows
// retransmits and round-trip times.
func (t *test) columns(sends bool) []column {
	list := []column{{"bandwidth", "bit/s", func(_ *iperf3.Interval, s *iperf3.Sum) (float64, bool) {
		return of(s).rate(), s.Bytes != nil
	}}}
	switch {
	case t.UDP() && !sends:
		list = append(list,
			column{"loss", "", func(_ *iperf3.Interval, s *iperf3.Sum) (float64, bool) { return share(s), s.Packets != nil }},
			column{"jitter", "s", func(_ *iperf3.Interval, s *iperf3.Sum) (float64, bool) {
				return positive(s.Jitter) / 1e3, s.Jitter != nil
			}})
	case !t.UDP() && sends:
		list = append(list,
			column{"retransmits", "", func(_ *iperf3.Interval, s *iperf3.Sum) (float64, bool) {
				return positive(s.Retransmits), s.Retransmits != nil
			}},
			column{"rtt", "s", t.intervalRTT})
	}
	return list
}

// intervalRTT returns the mean round-trip time of the streams that this side sends.
func (t *test) intervalRTT(i *iperf3.Interval, _ *iperf3.Sum) (float64, bool) {
	sum, n := 0.0, 0.0
	for _, s := range i.Streams {
		if s.RTT > 0 && (s.Sender || !t.both()) {
			sum, n = sum+s.RTT/1e6, n+1
		}
	}
	return sum / max(1, n), n > 0
}

// seriesOf returns the series of one direction. A series with a gap is left out.
func (t *test) seriesOf(suffix string, sends bool, sum func(*iperf3.Interval) *iperf3.Sum) []importer.Series {
	var ends []float64
	columns := t.columns(sends)
	values := make([][]float64, len(columns))
	for k := range t.Intervals {
		i := &t.Intervals[k]
		s := sum(i)
		if s == nil || s.Omitted || s.End == nil {
			continue
		}
		// A test that is stopped early reports its last interval twice.
		if len(ends) > 0 && *s.End <= ends[len(ends)-1] {
			continue
		}
		ends = append(ends, *s.End)
		for c := range columns {
			if v, ok := columns[c].of(i, s); ok {
				values[c] = append(values[c], v)
			}
		}
	}
	var list []importer.Series
	for c, values := range values {
		if len(values) > 0 && len(values) == len(ends) {
			list = append(list, importer.Series{Name: columns[c].name + suffix, Unit: columns[c].unit, Seconds: ends, Values: values})
		}
	}
	return list
}
