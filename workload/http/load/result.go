package load

import (
	"slices"
	"time"

	"tare/experiment"
	"tare/workload"
)

// Kind says how a request ended that was not answered well.
type Kind string

// The kinds. A status other than 2xx is "status-404", a gRPC status other than 0 "grpc-14".
const (
	Dial       Kind = "dial"       // no connection
	Handshake  Kind = "tls"        // no TLS session, or one for another protocol
	Timeout    Kind = "timeout"    // no complete answer within Config.Timeout, dialling included
	Closed     Kind = "closed"     // the connection or stream was reset or closed before the answer was complete
	Malformed  Kind = "protocol"   // the answer breaks the protocol
	Length     Kind = "length"     // the body is complete, but not as long as was asked for
	Unanswered Kind = "unanswered" // not answered, or not even sent, by the end of the drain
)

// Result is what a span of load came to. All histograms and counts are of the measured time
// alone; what the warm-up sent is not in them.
type Result struct {
	// Due is how many requests fell due; OK and Errors together are as many.
	Due    int64          `json:"due"`
	OK     int64          `json:"ok"`
	Errors map[Kind]int64 `json:"errors,omitempty"`
	// Examples has the text of the first error of each kind.
	Examples map[Kind]string `json:"examples,omitempty"`
	// Latency is of the requests that are OK, Failed of all others, up to the error.
	Latency *Histogram `json:"latency"`
	Failed  *Histogram `json:"failed"`
	// Named is Latency of the requests of each Request.Name.
	Named map[string]*Histogram `json:"named,omitempty"`
	// Lag is how late requests were sent although a connection was free: the generator's own
	// lateness. Waited is how long requests that were due had no free connection. Both are
	// parts of the latency, of an open loop only, and of all requests that were sent.
	Lag    *Histogram `json:"lag"`
	Waited *Histogram `json:"waited"`
	// Connect is how long it took to make connections, TLS included, warm-up included. Those
	// that are made before a span are not in it.
	Connect *Histogram `json:"connect"`
	// Handshakes counts the connections that were up in this span by what TLS agreed on:
	// "TLS 1.3, TLS_AES_128_GCM_SHA256, X25519MLKEM768, h2, resumed, spiffe://…"; "clear" without TLS.
	Handshakes map[string]int64 `json:"handshakes,omitempty"`
	// BytesSent and BytesReceived are of bodies.
	BytesSent     int64 `json:"bytesSent"`
	BytesReceived int64 `json:"bytesReceived"`
	// Duration is the measured time as ordered. Elapsed is the time from its beginning until
	// the last of its requests had ended, at least Duration.
	Duration time.Duration `json:"duration"`
	Elapsed  time.Duration `json:"elapsed"`
	// Closed says that the loop was closed: the latency is then from the moment of sending.
	Closed bool `json:"closedLoop,omitempty"`
}

// NewResult is one of no requests.
func NewResult() *Result {
	return &Result{
		Errors: map[Kind]int64{}, Examples: map[Kind]string{}, Handshakes: map[string]int64{},
		Latency: NewHistogram(), Failed: NewHistogram(), Lag: NewHistogram(), Waited: NewHistogram(), Connect: NewHistogram(),
	}
}

// End counts a request that has ended: well, where kind is "". Latency counts from its intended time,
// elapsed from the beginning of the measured time.
func (r *Result) Count(kind Kind, text string, latency, elapsed time.Duration) {
	r.Due++
	r.Elapsed = max(r.Elapsed, elapsed)
	if kind == "" {
		r.OK++
		r.Latency.Record(latency)
		return
	}
	r.Failed.Record(latency)
	r.Errors[kind]++
	if _, known := r.Examples[kind]; !known {
		r.Examples[kind] = text
	}
}

// named is the histogram of requests of a name.
func (r *Result) named(name string) *Histogram {
	if r.Named == nil {
		r.Named = map[string]*Histogram{}
	}
	if r.Named[name] == nil {
		r.Named[name] = NewHistogram()
	}
	return r.Named[name]
}

// Rate is the rate that was reached: requests answered OK per second of Elapsed.
func (r *Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.OK) / r.Elapsed.Seconds()
}

// Offered is the rate at which requests fell due, per second. That of a Poisson process is not the one ordered.
func (r *Result) Offered() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Due) / r.Duration.Seconds()
}

// ErrorShare is the share of the requests that were not OK, 0 to 1.
func (r *Result) ErrorShare() float64 {
	if r.Due == 0 {
		return 0
	}
	return float64(r.Due-r.OK) / float64(r.Due)
}

// Behaviour is how the server answered: in which ways not well, and how much.
func (r *Result) Behaviour() workload.Behaviour {
	seen := workload.Seen{Bytes: r.BytesReceived, Runs: r.OK}
	for kind := range r.Errors {
		seen.Marks = append(seen.Marks, string(kind))
	}
	slices.Sort(seen.Marks)
	return workload.Behaviour{experiment.Answers: seen}
}

// Quantile is the latency that the share q of all requests does not exceed, those that failed
// counted as longer than any. It is not known (false) with fewer than 100 requests beyond
// it, or where it lies among those that failed.
func (r *Result) Quantile(q float64) (time.Duration, bool) {
	rank := max(1, ceil(q*float64(r.Due)))
	if r.Due-rank < Beyond || rank > r.Latency.Count() {
		return 0, false
	}
	return r.Latency.At((float64(rank) - 0.5) / float64(r.Latency.Count())), true
}

// Merge adds up results of clients that sent at the same time. Nothing is lost: histograms are
// merged, counts added. Durations are the longest of them.
func Merge(results ...*Result) *Result {
	sum := NewResult()
	for _, r := range results {
		sum.Due += r.Due
		sum.OK += r.OK
		for k, n := range r.Errors {
			sum.Errors[k] += n
		}
		for k, text := range r.Examples {
			if sum.Examples[k] == "" {
				sum.Examples[k] = text
			}
		}
		for k, n := range r.Handshakes {
			sum.Handshakes[k] += n
		}
		for _, p := range [][2]*Histogram{{sum.Latency, r.Latency}, {sum.Failed, r.Failed}, {sum.Lag, r.Lag}, {sum.Waited, r.Waited}, {sum.Connect, r.Connect}} {
			if p[1] != nil {
				p[0].Merge(p[1])
			}
		}
		for name, h := range r.Named {
			sum.named(name).Merge(h)
		}
		sum.BytesSent += r.BytesSent
		sum.BytesReceived += r.BytesReceived
		sum.Duration = max(sum.Duration, r.Duration)
		sum.Elapsed = max(sum.Elapsed, r.Elapsed)
		sum.Closed = sum.Closed || r.Closed
	}
	return sum
}

// Join adds up results of spans that followed each other, such as the slices of a trial: as
// Merge, but with durations added.
func Join(results ...*Result) *Result {
	sum := Merge(results...)
	sum.Duration, sum.Elapsed = 0, 0
	for _, r := range results {
		sum.Duration += r.Duration
		sum.Elapsed += r.Elapsed
	}
	return sum
}
