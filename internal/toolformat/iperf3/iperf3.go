// Package iperf3 reads the JSON of iperf3 3.1 to 3.21 (-J or --json-stream), as far as Tare uses it. The network
// workload and the importer both make trials from it, but by different rules.
//
// Numbers are pointers where a missing value must not look like 0. They are floats, since iperf3 writes a count below
// zero as a huge number, such as 18446744073709551234 (see Count).
package iperf3

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tare/internal/toolformat/jsondoc"
)

// Report is what one side of a test, client or server, wrote about it.
type Report struct {
	Start     start      `json:"start"`
	Intervals []Interval `json:"intervals"`
	End       end        `json:"end"`
	Error     string     `json:"error"` // the reason why the test failed

	// The following fields are for --json-stream. It writes one document for each event: the event's name (Event) and a
	// part of the report (Data).
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

type start struct {
	Version    string    `json:"version"`     // such as "iperf 3.12"
	SystemInfo string    `json:"system_info"` // the system, in the form of uname -a
	Cookie     string    `json:"cookie"`      // identity of the test, which client and server share
	Accepted   *struct{} `json:"accepted_connection"`
	MSS        float64   `json:"tcp_mss"`         // the requested segment size, in bytes
	MSSDefault float64   `json:"tcp_mss_default"` // the segment size of the control connection, in bytes
	Buffer     float64   `json:"sock_bufsize"`    // the requested size of socket buffers, in bytes
	Timestamp  struct {
		Seconds      float64 `json:"timesecs"`      // the start of the test, in s since 1970
		Milliseconds float64 `json:"timemillisecs"` // the start of the test, in ms since 1970; from version 3.20 on
	} `json:"timestamp"`
	TestStart *testStart `json:"test_start"`
}

// testStart holds the client's options.
type testStart struct {
	Protocol string  `json:"protocol"` // "TCP", "UDP", "SCTP"
	Streams  float64 `json:"num_streams"`
	Block    float64 `json:"blksize"` // the size of a block, in bytes; for UDP, the payload of a packet
	Omit     float64 `json:"omit"`    // the warm-up, in s
	Duration float64 `json:"duration"`
	Bytes    float64 `json:"bytes"`          // the bytes to send, instead of a duration; 0: not set
	Blocks   float64 `json:"blocks"`         // the blocks to send, instead of a duration; 0: not set
	Reverse  float64 `json:"reverse"`        // 1: the server sends
	Bidir    float64 `json:"bidir"`          // 1: both sides send; possible since 3.7, reported since 3.13
	Target   float64 `json:"target_bitrate"` // the rate of each stream, in bit/s; 0: no limit
}

// Interval is one span of the test, often a second. In a test in both directions, this side sends Sum and receives
// Reverse. Up to iperf3 3.10, only the streams show the direction.
type Interval struct {
	Streams []Stream `json:"streams"`
	Sum     *Sum     `json:"sum"`
	Reverse *Sum     `json:"sum_bidir_reverse"`
}

// Stream is what one stream sent or received during an interval.
type Stream struct {
	Sum
	RTT  float64  `json:"rtt"`      // the round-trip time, in µs, measured by the sender's kernel
	Cwnd *float64 `json:"snd_cwnd"` // the congestion window, in bytes, from the sender's kernel; 0: unknown
}

// Sum holds the data sent or received in one interval, or in the complete test.
type Sum struct {
	Start       *float64 `json:"start"` // start of the interval or test, in s since the test began
	End         *float64 `json:"end"`
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Retransmits *float64 `json:"retransmits"` // the number of retransmits; TCP, sender only
	Jitter      *float64 `json:"jitter_ms"`   // the mean jitter of the streams, in ms; UDP, receiver only
	Lost        *float64 `json:"lost_packets"`
	Packets     *float64 `json:"packets"`
	MeanRTT     *float64 `json:"mean_rtt"` // the mean round-trip time over a stream's whole test, in µs
	Omitted     bool     `json:"omitted"`  // set during the warm-up (-O)
	Sender      bool     `json:"sender"`   // set if this side sends; since 3.7
}

type end struct {
	Streams []struct {
		Sender   *Sum `json:"sender"`
		Receiver *Sum `json:"receiver"`
		UDP      *Sum `json:"udp"` // sum of a UDP stream, in place of Sender and Receiver
	} `json:"streams"`
	// Sum has, for a test over UDP, the sent bytes and the lost packets. Sent and Received are for TCP and, since
	// version 3.11, also for UDP.
	Sum      *Sum `json:"sum"`
	Sent     *Sum `json:"sum_sent"`
	Received *Sum `json:"sum_received"`
	// In a test in both directions, the following fields are about the direction in which the other side sends.
	SumReverse      *Sum      `json:"sum_bidir_reverse"`
	SentReverse     *Sum      `json:"sum_sent_bidir_reverse"`
	ReceivedReverse *Sum      `json:"sum_received_bidir_reverse"`
	CPU             *struct { // CPU time of the processes on both sides, in percent of one CPU
		Host   float64 `json:"host_total"` // CPU time on the side that wrote the report
		Remote float64 `json:"remote_total"`
	} `json:"cpu_utilization_percent"`
	Congestion string `json:"sender_tcp_congestion"`
}

// UDP reports whether the test used UDP.
func (r *Report) UDP() bool { return r.Start.TestStart != nil && r.Start.TestStart.Protocol == "UDP" }

// Count corrects a count below zero. iperf3 writes such a count as an unsigned number of 64 bits, which is very large.
func Count(v float64) float64 {
	if v >= 1<<63 {
		return v - 1<<64
	}
	return v
}

type stream struct {
	tests  []*Report
	failed string  // reason of a failure before iperf3 had set up the test
	open   *Report // test whose events are being read; nil: none
	cookie string  // cookie of the last test that was read from events
}

// Tests returns a report for each test in a file. Connections without a test, such as probes, are left out; if no test
// remains, their error is returned.
func Tests(r io.Reader) ([]*Report, error) {
	var s stream
	if err := jsondoc.Each(r, s.take); err != nil {
		return nil, err
	}
	s.close(cutOff)
	switch {
	case len(s.tests) > 0:
		return s.tests, nil
	case s.failed != "":
		return nil, fmt.Errorf("iperf3 reports: %s", s.failed)
	}
	return nil, errors.New("no JSON of iperf3: it writes some with -J or --json-stream")
}

func (s *stream) take(d *Report) error {
	if d.Event != "" {
		return s.event(d)
	}
	if d.Start.Version == "" && d.Start.TestStart == nil && d.Error == "" {
		return nil // the document is not iperf3's
	}
	s.close(cutOff)
	if s.cookie == "" || d.Start.Cookie != s.cookie { // with --json-stream-full-output, a document with the same cookie repeats all events
		s.finish(d)
	}
	return nil
}

// event reads one event of a test. Usually the first is "start", but a test that fails at once has none.
func (s *stream) event(d *Report) error {
	if d.Event == "start" {
		s.close(cutOff)
	}
	if s.open == nil {
		s.open = &Report{}
	}
	var into any
	switch d.Event {
	case "start":
		into = &s.open.Start
	case "interval":
		s.open.Intervals = append(s.open.Intervals, Interval{})
		into = &s.open.Intervals[len(s.open.Intervals)-1]
	case "error":
		into = &s.open.Error
	case "end":
		into = &s.open.End
	default:
		return nil // other events are ignored, such as the server's output (--get-server-output)
	}
	if len(d.Data) == 0 {
		return fmt.Errorf("event %q has no data", d.Event)
	}
	if err := json.Unmarshal(d.Data, into); err != nil {
		return fmt.Errorf("event %q: %w", d.Event, jsondoc.Explain(err))
	}
	if d.Event == "end" {
		s.close("")
	}
	return nil
}

const cutOff = "the events of the test stop before its end"

func (s *stream) close(failure string) {
	if r := s.open; r != nil {
		s.open, s.cookie = nil, r.Start.Cookie
		r.Error = cmp.Or(r.Error, failure)
		s.finish(r)
	}
}

func (s *stream) finish(r *Report) {
	if r.Start.TestStart == nil {
		s.failed = cmp.Or(r.Error, "no test (start.test_start is missing)")
		return
	}
	s.tests = append(s.tests, r)
}
