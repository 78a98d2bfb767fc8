// Package iperf3 is the JSON of iperf3 as data: what versions 3.1 to 3.21 write
// with -J or --json-stream, as far as anything of it is used. It judges nothing; the workload
// measures by it and the importer makes trials of it, each by rules of its own.
//
// Pointers tell what is missing from what is zero. Numbers are floats, since
// iperf3 writes some counts that went below zero as 18446744073709551234; see Count.
package iperf3

// Report is what one side of a test wrote.
type Report struct {
	Start     Start      `json:"start"`
	Intervals []Interval `json:"intervals"`
	End       End        `json:"end"`
	Error     string     `json:"error"` // why the test failed
}

// Start is the test as it was set up.
type Start struct {
	Version    string    `json:"version"`     // "iperf 3.12"
	SystemInfo string    `json:"system_info"` // as uname -a
	Cookie     string    `json:"cookie"`      // of the test; both sides have the same
	Accepted   *struct{} `json:"accepted_connection"`
	MSS        float64   `json:"tcp_mss"`         // as asked for, B
	MSSDefault float64   `json:"tcp_mss_default"` // of the control connection, B
	Buffer     float64   `json:"sock_bufsize"`    // as asked for, B
	Timestamp  struct {
		Seconds      float64 `json:"timesecs"`      // since 1970
		Milliseconds float64 `json:"timemillisecs"` // since 1970; since 3.20
	} `json:"timestamp"`
	TestStart *TestStart `json:"test_start"`
}

// TestStart is what the client asked for.
type TestStart struct {
	Protocol string  `json:"protocol"` // "TCP", "UDP", "SCTP"
	Streams  float64 `json:"num_streams"`
	Block    float64 `json:"blksize"` // B; of UDP the payload of a packet
	Omit     float64 `json:"omit"`    // s
	Duration float64 `json:"duration"`
	Bytes    float64 `json:"bytes"`          // to be sent instead of for a duration; 0: not asked for
	Blocks   float64 `json:"blocks"`         // the same in blocks
	Reverse  float64 `json:"reverse"`        // 1: the server sends
	Bidir    float64 `json:"bidir"`          // 1: both send; since 3.7, told since 3.13
	Target   float64 `json:"target_bitrate"` // of each stream, bit/s; 0: no limit
}

// Interval is one span of the test. In a test both ways, Sum is what this side
// sends and Reverse the way back; up to 3.10 both are called "sum", so that only
// the streams tell them apart.
type Interval struct {
	Streams []Stream `json:"streams"`
	Sum     *Sum     `json:"sum"`
	Reverse *Sum     `json:"sum_bidir_reverse"`
}

// Stream is one stream during an interval.
type Stream struct {
	Sum
	RTT  float64  `json:"rtt"`      // µs, by the sender's kernel
	Cwnd *float64 `json:"snd_cwnd"` // B, by the sender's kernel; 0: it does not tell
}

// Sum is what was sent or received in an interval or a test.
type Sum struct {
	Start       *float64 `json:"start"` // seconds since the beginning
	End         *float64 `json:"end"`
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Retransmits *float64 `json:"retransmits"` // TCP, sender
	Jitter      *float64 `json:"jitter_ms"`   // UDP, receiver; mean of the streams
	Lost        *float64 `json:"lost_packets"`
	Packets     *float64 `json:"packets"`
	MeanRTT     *float64 `json:"mean_rtt"` // µs, of a stream's whole test
	Omitted     bool     `json:"omitted"`  // warm-up (-O)
	Sender      bool     `json:"sender"`   // this side sends; since 3.7
}

// End is the test as a whole, without the warm-up.
type End struct {
	Streams []struct {
		Sender   *Sum `json:"sender"`
		Receiver *Sum `json:"receiver"`
		UDP      *Sum `json:"udp"` // instead of both
	} `json:"streams"`
	// Sum is of UDP: bytes sent, packets lost. Sent and Received are of TCP, and
	// since 3.11 of UDP, too.
	Sum      *Sum `json:"sum"`
	Sent     *Sum `json:"sum_sent"`
	Received *Sum `json:"sum_received"`
	// The way back of a test both ways, as in Interval.
	SumReverse      *Sum   `json:"sum_bidir_reverse"`
	SentReverse     *Sum   `json:"sum_sent_bidir_reverse"`
	ReceivedReverse *Sum   `json:"sum_received_bidir_reverse"`
	CPU             *CPU   `json:"cpu_utilization_percent"`
	Congestion      string `json:"sender_tcp_congestion"`
}

// CPU is the CPU time of both processes, in percent of one CPU.
type CPU struct {
	Host   float64 `json:"host_total"` // of the side that wrote the report
	Remote float64 `json:"remote_total"`
}

// UDP says that the test was of UDP.
func (r *Report) UDP() bool { return r.Start.TestStart != nil && r.Start.TestStart.Protocol == "UDP" }

// Count is a count that iperf3 may have written as an unsigned number although it
// had gone below zero.
func Count(v float64) float64 {
	if v >= 1<<63 {
		return v - 1<<64
	}
	return v
}
