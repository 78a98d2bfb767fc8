package fio

import (
	"bytes"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Latency is the distribution of a latency, in nanoseconds.
type Latency struct {
	Mean        float64 `json:"mean"`
	Count       float64 `json:"N"` // since fio 3.18
	Percentiles pairs   `json:"percentile"`
	// Bins are the histogram of json+: the middle of each bin and its count.
	Bins pairs `json:"bins"`
}

// pairs is a JSON object with numbers as keys and values, in the order of the file.
type pairs []pair

// mostPairs is a little more than the size of fio's histogram (FIO_IO_U_PLAT_NR).
const mostPairs = 1 << 12

// pair is one member of a Pairs object.
type pair struct{ Key, Value float64 }

// UnmarshalJSON reads the object. It is by far the longest part of json+, and reading it into a map would lose
// the order.
func (p *pairs) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	inner, ok := bytes.CutPrefix(data, []byte("{"))
	if !ok {
		return fmt.Errorf("%.40q is not an object of numbers", data)
	}
	inner = bytes.TrimSpace(inner[:len(inner)-1]) // the JSON decoder has checked that the text ends with a brace
	n := bytes.Count(inner, []byte(":"))
	if n > mostPairs {
		return fmt.Errorf("%d bins, and fio has at most %d", n, mostPairs)
	}
	*p = make(pairs, 0, n)
	for len(inner) > 0 {
		member, rest, _ := bytes.Cut(inner, []byte(","))
		inner = rest
		key, value, _ := strings.Cut(string(member), ":")
		k, err := strconv.ParseFloat(strings.Trim(key, " \t\r\n\""), 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a number by number", member)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a number by number", member)
		}
		*p = append(*p, pair{k, v})
	}
	return nil
}

// Samples returns the number of measured latencies; 0: unknown.
func (l *Latency) Samples() float64 {
	if l.Count > 0 || len(l.Bins) == 0 {
		return l.Count
	}
	total := 0.0
	for _, b := range l.Bins {
		total += b.Value
	}
	return total
}

// Quantile returns a percentile, such as 99.9, from fio's percentiles or else from the bins. From the bins, it
// is the first bin at which the share is reached, as in fio's own computation. It returns false if the report
// has neither.
func (l *Latency) Quantile(percent float64) (ns float64, ok bool) {
	for _, p := range l.Percentiles {
		if p.Key == percent {
			return p.Value, p.Value > 0
		}
	}
	total, reached := l.Samples(), 0.0
	for _, b := range l.Bins {
		if reached += b.Value; reached >= percent/100*total {
			return b.Key, b.Key > 0
		}
	}
	return 0, false
}

// binBits is the number of bits of a latency that fio's histogram keeps after the first (FIO_IO_U_PLAT_BITS in
// its stat.h; the same in all of 3.x).
const binBits = 6

// BinBounds returns the bounds of the bin with a given middle. Bins are exact below 128 ns. Above, there are 64
// bins for each power of two.
func BinBounds(middle float64) (lower, upper float64) {
	ns := uint64(middle)
	lost := max(bits.Len64(ns)-1-binBits, 0)
	lower = float64(ns >> lost << lost)
	return lower, lower + float64(uint64(1)<<lost)
}

// Known reports whether the report contains the distribution.
func (l *Latency) Known() bool { return len(l.Percentiles) > 0 || len(l.Bins) > 0 }
