package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a histogram: whole nanoseconds with three significant digits up to a minute,
// so that a microsecond is exact.
const (
	shortest = 1
	longest  = int64(time.Minute)
	digits   = 3
)

// Histogram is a distribution of times in ns. In JSON it is the base64 form of HdrHistogram's
// compressed V2 format, which other tools read, and what lies over its range.
type Histogram struct {
	hdr  *hdrhistogram.Histogram
	over int64
}

// NewHistogram makes an empty one.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(shortest, longest, digits)}
}

// Record counts a time. One below zero counts as zero, one over a minute in Over.
func (h *Histogram) Record(d time.Duration) {
	if int64(d) > longest {
		h.over++
		return
	}
	_ = h.hdr.RecordValue(max(int64(d), 0)) // cannot fail within the range
}

// Merge adds all that another one holds.
func (h *Histogram) Merge(other *Histogram) {
	h.hdr.Merge(other.hdr) // drops nothing: the ranges are the same
	h.over += other.over
}

// Count is the number of times that were recorded, those over a minute included.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() + h.over }

// Mean is the arithmetic mean, to three digits; times over a minute enter as one.
func (h *Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	sum := h.hdr.Mean()*float64(h.hdr.TotalCount()) + float64(longest)*float64(h.over)
	return time.Duration(sum / float64(n))
}

// Max is the longest time, to three digits; a minute if there are longer ones.
func (h *Histogram) Max() time.Duration {
	if h.over > 0 {
		return time.Duration(longest)
	}
	return time.Duration(h.hdr.Max())
}

// Min is the shortest time, to three digits; a minute if all are longer.
func (h *Histogram) Min() time.Duration {
	if h.hdr.TotalCount() == 0 && h.over > 0 {
		return time.Duration(longest)
	}
	return time.Duration(h.hdr.Min())
}

// At is the smallest recorded time that at least the share q of all times does not exceed, to
// three digits; a minute where that one is longer.
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

// ceil rounds up, but not for an error of rounding in x.
func ceil(x float64) int64 {
	n := int64(x)
	if x-float64(n) > 1e-9*max(x, 1) {
		n++
	}
	return n
}

// Equal says whether both hold the same counts.
func (h *Histogram) Equal(other *Histogram) bool {
	return h.over == other.over && h.hdr.Equals(other.hdr)
}

// Raw is the library's histogram, without what is Over, for logs and exports. It must not be
// changed.
func (h *Histogram) Raw() *hdrhistogram.Histogram { return h.hdr }

// histogramJSON is a histogram in JSON.
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

// UnmarshalJSON reads what MarshalJSON wrote. One of another range is an error.
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
