package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram covers times up to a minute, with three significant digits. Times up to a microsecond are exact
// to the nanosecond.
const (
	shortest = 1
	longest  = int64(time.Minute)
	digits   = 3
)

// Histogram is a distribution of times in ns. Its JSON has the base64 form of HdrHistogram's compressed V2
// format, which other tools read, and the number of times longer than a minute.
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
	_ = h.hdr.RecordValue(max(int64(d), 0)) // a value within the range cannot fail
}

// Merge adds all times of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	h.hdr.Merge(other.hdr) // drops nothing, since the ranges are the same
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

// At returns the quantile q: the smallest recorded time with at least a share q of all times at or below it.
// The result has three digits. If the quantile is longer than a minute, At returns a minute.
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

// ceil rounds up, but ignores rounding errors in x.
func ceil(x float64) int64 { return int64(math.Ceil(x - 1e-9*max(x, 1))) }

// Raw returns the histogram of the library hdrhistogram, for logs and exports. This histogram lacks times
// longer than a minute. The caller must not change the histogram.
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
