package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tare/internal/experiment"
	"tare/internal/workload"
)

// Kind is the kind of error by which a request ended.
type Kind string

// A response with a status other than 2xx has a kind such as "status-404". A response with a gRPC status
// other than 0 has a kind such as "grpc-14".
const (
	Dial       Kind = "dial"       // no connection
	handshake  Kind = "tls"        // no TLS session, or a session for another protocol
	Timeout    Kind = "timeout"    // no complete response within Config.Timeout
	Closed     Kind = "closed"     // the connection or stream closed before the response was complete
	Malformed  Kind = "protocol"   // the response breaks the protocol
	length     Kind = "length"     // the body is complete, but does not have the expected length
	Unanswered Kind = "unanswered" // at the end of the drain the request had no response, or was not even sent
)

// Result is the result of a span of load.
type Result struct {
	// Due is the number of requests that fell due: the sum of OK and Errors.
	Due    int64          `json:"due"`
	OK     int64          `json:"ok"`
	Errors map[Kind]int64 `json:"errors,omitempty"`
	// Examples holds the text of the first error of each kind.
	Examples map[Kind]string `json:"examples,omitempty"`
	// Latency holds a time for each request that ended OK. Failed holds a time for each other request: from its
	// intended time to its error.
	Latency *Histogram `json:"latency"`
	Failed  *Histogram `json:"failed"`
	// FirstByte holds a time for each request that ended OK: from the start of its latency to the first byte of the
	// response.
	FirstByte *Histogram `json:"firstByte"`
	// Named is the latency of requests by Request.Name.
	Named map[string]*Histogram `json:"named,omitempty"`
	// Lag is how late the generator sent requests although a connection was free. Waited is how long due requests
	// waited for a free connection. Closed loops record neither.
	Lag    *Histogram `json:"lag"`
	Waited *Histogram `json:"waited"`
	// Connect is the time that each new connection took, including the TLS handshake. Connections that were made before
	// the span do not count.
	Connect *Histogram `json:"connect"`
	// Handshakes counts connections by TLS version, cipher, key exchange, protocol and server names: "TLS 1.3,
	// TLS_AES_128_GCM_SHA256, X25519MLKEM768, h2, spiffe://…". "clear": without TLS.
	Handshakes map[string]int64 `json:"handshakes,omitempty"`
	// BytesSent and BytesReceived count the bytes of bodies.
	BytesSent     int64 `json:"bytesSent"`
	BytesReceived int64 `json:"bytesReceived"`
	// Duration is the measured time that was requested. Elapsed ends with the last request, and is never less than
	// Duration.
	Duration time.Duration `json:"duration"`
	Elapsed  time.Duration `json:"elapsed"`
	// Closed is true for a closed loop. Its latency counts from the time of sending.
	Closed bool `json:"closedLoop,omitempty"`
}

// Exchange is a request that has ended, with its response or error. All its times count from the start of the
// session.
type Exchange struct {
	Name  string        // Request.Name of the request
	Due   time.Duration // intended time; in a closed loop, the time at which a worker took up the request
	Free  time.Duration // time since which a connection was free, so that the request could have been sent
	Sent  time.Duration // time at which the request was sent; if dialling came first: at which it began
	First time.Duration // time at which the first byte of the response arrived
	Last  time.Duration // time at which the last byte of the response arrived, or the request failed
	Paced bool          // the request was sent in an open loop
	Kind  Kind          // kind of the error; "": the request ended OK
	Text  string        // text of the error
	// BytesSent and BytesReceived are the sizes of the bodies.
	BytesSent, BytesReceived int64
}

// NewResult returns a result without requests.
func NewResult() *Result {
	r := &Result{Errors: map[Kind]int64{}, Examples: map[Kind]string{}, Handshakes: map[string]int64{}}
	for _, t := range timings {
		*t.histogram(r) = NewHistogram()
	}
	return r
}

// Add counts a request that has ended. The measured time starts at begin.
func (r *Result) Add(x Exchange, begin time.Duration) {
	for _, t := range timings {
		if d, covered := t.time(x); covered {
			(*t.histogram(r)).Record(d)
		}
	}
	r.Due++
	r.Elapsed = max(r.Elapsed, x.Last-begin)
	r.BytesSent += x.BytesSent
	r.BytesReceived += x.BytesReceived
	if x.Kind != "" {
		r.Errors[x.Kind]++
		if _, known := r.Examples[x.Kind]; !known {
			r.Examples[x.Kind] = x.Text
		}
		return
	}
	r.OK++
	if x.Name != "" {
		r.named(x.Name).Record(x.Last - x.Due)
	}
}

func (r *Result) named(name string) *Histogram {
	if r.Named == nil {
		r.Named = map[string]*Histogram{}
	}
	if r.Named[name] == nil {
		r.Named[name] = NewHistogram()
	}
	return r.Named[name]
}

// Rate returns the reached rate: the number of requests that ended OK, per second of Elapsed.
func (r *Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.OK) / r.Elapsed.Seconds()
}

// Offered returns how many requests fell due per second. With Poisson arrivals this differs by chance from
// Span.Rate.
func (r *Result) Offered() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Due) / r.Duration.Seconds()
}

// ErrorShare returns the share of requests that did not end OK, 0 to 1.
func (r *Result) ErrorShare() float64 {
	if r.Due == 0 {
		return 0
	}
	return float64(r.Due-r.OK) / float64(r.Due)
}

// Behaviour returns the kinds of errors in the server's responses, and the number and size of the good
// responses.
func (r *Result) Behaviour() workload.Behaviour {
	seen := workload.Observation{Bytes: r.BytesReceived, Runs: r.OK}
	for kind := range r.Errors {
		seen.Marks = append(seen.Marks, string(kind))
	}
	slices.Sort(seen.Marks)
	return workload.Behaviour{experiment.Answers: seen}
}

// Quantile returns the latency that a share q of all requests does not exceed. Failed requests count as slowest. false:
// fewer than 100 requests are slower, or the quantile falls on a failed request.
func (r *Result) Quantile(q float64) (time.Duration, bool) { return r.quantile(r.Latency, q) }

// quantile returns the quantile q over all requests. h holds the times of requests that ended OK. Failed requests count
// as slower than these.
func (r *Result) quantile(h *Histogram, q float64) (time.Duration, bool) {
	rank := max(1, ceil(q*float64(r.Due)))
	if r.Due-rank < Beyond || rank > h.Count() {
		return 0, false
	}
	return h.At((float64(rank) - 0.5) / float64(h.Count())), true
}

// Merge adds up the results of clients that sent simultaneously. Duration and Elapsed are the longest among the
// results.
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
		for _, t := range timings {
			if h := *t.histogram(r); h != nil {
				(*t.histogram(sum)).Merge(h)
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

// Join adds up the results of consecutive spans, such as the slices of a trial. Unlike in Merge, Duration and Elapsed
// are sums, not maxima.
func Join(results ...*Result) *Result {
	sum := Merge(results...)
	sum.Duration, sum.Elapsed = 0, 0
	for _, r := range results {
		sum.Duration += r.Duration
		sum.Elapsed += r.Elapsed
	}
	return sum
}

// A histogram covers times up to a minute, with three significant digits. Times up to a microsecond are exact
// to the nanosecond.
const (
	shortest = 1
	longest  = int64(time.Minute)
	digits   = 3
)

// Histogram is a distribution of times in ns. Its JSON has HdrHistogram's compressed V2 format in base64, and the
// number of times longer than a minute.
type Histogram struct {
	hdr  *hdrhistogram.Histogram
	over int64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(shortest, longest, digits)}
}

// Record counts a time. A negative time counts as zero. A time longer than a minute is counted without its
// length.
func (h *Histogram) Record(d time.Duration) {
	if int64(d) > longest {
		h.over++
		return
	}
	_ = h.hdr.RecordValue(max(int64(d), 0)) // recording a value within the range cannot fail
}

// Merge adds all times of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	h.hdr.Merge(other.hdr) // both histograms have the same range, so no value is dropped
	h.over += other.over
}

// Count returns the number of recorded times, including times longer than a minute.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() + h.over }

// Mean returns the arithmetic mean, to three digits. A time longer than a minute counts as a minute.
func (h *Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	sum := h.hdr.Mean()*float64(h.hdr.TotalCount()) + float64(longest)*float64(h.over)
	return time.Duration(sum / float64(n))
}

// Max returns the longest time, to three digits. If any time is longer than a minute, Max returns a minute.
func (h *Histogram) Max() time.Duration {
	if h.over > 0 {
		return time.Duration(longest)
	}
	return time.Duration(h.hdr.Max())
}

// Min returns the shortest time, to three digits. If all times are longer than a minute, Min returns a
// minute.
func (h *Histogram) Min() time.Duration {
	if h.hdr.TotalCount() == 0 && h.over > 0 {
		return time.Duration(longest)
	}
	return time.Duration(h.hdr.Min())
}

// At returns the quantile q: the smallest recorded time that a share q of all times does not exceed, to three digits.
// It returns at most a minute.
func (h *Histogram) At(q float64) time.Duration {
	n := h.hdr.TotalCount()
	if n == 0 && h.over == 0 {
		return 0
	}
	rank := max(1, ceil(q*float64(h.Count())))
	if rank > n {
		return time.Duration(longest)
	}
	return time.Duration(h.hdr.ValueAtPercentile(100 * (float64(rank) - 0.5) / float64(n)))
}

// ceil rounds up. A rounding error in x does not raise the result: 3.0000000001 gives 3.
func ceil(x float64) int64 { return int64(math.Ceil(x - 1e-9*max(x, 1))) }

// Raw returns the histogram without times longer than a minute, for logs and exports. The caller must not change it.
func (h *Histogram) Raw() *hdrhistogram.Histogram { return h.hdr }

type histogramJSON struct {
	V2   string `json:"v2"`
	Over int64  `json:"over,omitempty"`
}

// MarshalJSON writes the compressed form.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	text, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encode the histogram: %w", err)
	}
	return json.Marshal(histogramJSON{V2: string(text), Over: h.over})
}

// UnmarshalJSON reads the form that MarshalJSON wrote. A histogram with another range or precision is an
// error.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var s histogramJSON
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	hdr, err := hdrhistogram.Decode([]byte(s.V2))
	if err != nil {
		return fmt.Errorf("decode the histogram: %w", err)
	}
	if hdr.LowestTrackableValue() != shortest || hdr.HighestTrackableValue() != longest || hdr.SignificantFigures() != digits {
		return fmt.Errorf("a histogram of %d to %d with %d digits: it must be of %d to %d with %d",
			hdr.LowestTrackableValue(), hdr.HighestTrackableValue(), hdr.SignificantFigures(), shortest, longest, digits)
	}
	if s.Over < 0 {
		return errors.New("a histogram with a negative count over its range")
	}
	h.hdr, h.over = hdr, s.Over
	return nil
}
