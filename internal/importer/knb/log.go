package knb

import (
	"strings"

	"tare/internal/importer"
)

// log holds the numbers in the output of iperf3's client, without the warm-up.
type log struct {
	intervals   []interval
	retransmits *float64 // TCP only
	lost        *float64 // UDP only: the share of lost packets
	jitter      *float64 // UDP only, in s
	failure     string   // the reason why iperf3 failed
}

type interval struct {
	end         float64 // in s since the beginning
	rate        float64 // in bit/s, as the client sent it
	retransmits float64 // TCP only; -1: unknown
}

// parseLog reads iperf3's text output of one stream:
//
//	[  5]   0.00-1.00   sec  1.94 GBytes  16642 Mbits/sec   15   1023 KBytes
//	[  5]   0.00-3.00   sec  5.62 GBytes  16087 Mbits/sec   45             sender
//	[  5]   0.00-3.00   sec  17.8 GBytes  51059 Mbits/sec  0.001 ms  71182/636116 (11%)  receiver
func parseLog(text string) *log {
	l := &log{}
	for line := range strings.Lines(text) {
		if failure, ok := strings.CutPrefix(line, "iperf3: error - "); ok {
			l.failure = strings.TrimSpace(failure)
		}
		_, rest, ok := strings.Cut(line, "]")
		fields := strings.Fields(rest)
		if !ok || line[0] != '[' || len(fields) < 6 || fields[1] != "sec" {
			continue
		}
		switch fields[len(fields)-1] {
		case "(omitted)":
		case "sender", "receiver":
			l.summary(fields)
		default:
			l.second(fields)
		}
	}
	return l
}

// second reads the line of an interval. After the rate stand retransmits and the congestion window for TCP, or
// a number of packets for UDP.
func (l *log) second(fields []string) {
	_, end, _ := strings.Cut(fields[0], "-")
	at, errEnd := importer.Number(end)
	rate, errRate := importer.Number(fields[4])
	unit := map[string]float64{"bits/sec": 1, "Kbits/sec": 1e3, "Mbits/sec": 1e6, "Gbits/sec": 1e9}[fields[5]]
	if errEnd != nil || errRate != nil || unit == 0 || len(l.intervals) > 0 && at <= l.intervals[len(l.intervals)-1].end {
		return
	}
	i := interval{end: at, rate: rate * unit, retransmits: -1}
	if len(fields) == 9 {
		if n, err := importer.Number(fields[6]); err == nil {
			i.retransmits = n
		}
	}
	l.intervals = append(l.intervals, i)
}

func (l *log) summary(fields []string) {
	receiver := fields[len(fields)-1] == "receiver"
	switch {
	case len(fields) == 8 && !receiver:
		if n, err := importer.Number(fields[6]); err == nil {
			l.retransmits = &n
		}
	case len(fields) >= 10 && receiver && fields[7] == "ms":
		if ms, err := importer.Number(fields[6]); err == nil {
			jitter := ms / 1e3
			l.jitter = &jitter
		}
		lost, all, _ := strings.Cut(fields[8], "/")
		n, err := importer.Number(lost)
		of, errOf := importer.Number(all)
		if err == nil && errOf == nil && n >= 0 && of > 0 && n <= of {
			share := n / of
			l.lost = &share
		}
	}
}
