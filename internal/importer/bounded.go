package importer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// TooLargeError is the error of a document, or of an unpacked archive, that is larger than the limit.
type TooLargeError struct {
	What string // the text that is too large: "the document", "knb.tcp.txt in the archive"
	Max  int64  // the limit, in bytes
}

// Error returns a text with the limit in megabytes.
func (e *TooLargeError) Error() string {
	if e.Max < 1<<20 {
		return fmt.Sprintf("%s is larger than %d bytes, the most that is read", e.What, e.Max)
	}
	return fmt.Sprintf("%s is larger than %d MB, the most that is read", e.What, e.Max>>20)
}

// Bound returns a reader that fails with a TooLargeError after most bytes. It fails at once if r is a File
// whose known size is larger. A format wraps all that it unpacks in a Bound, so that a decompression bomb of a
// few kilobytes ends in an error and does not fill the machine's memory. The parts of one archive share one
// Bound, or subtract from one limit.
func Bound(r io.Reader, most int64, what string) io.Reader {
	b := &bounded{r: r, left: most, err: &TooLargeError{What: what, Max: most}}
	if f, ok := r.(File); ok && f.Size > most {
		b.left = -1
	}
	return b
}

// CheckCount returns an error if a file holds more trials, or values, than an import reads. A format calls it with
// the count so far.
func CheckCount(n int) error {
	if n <= MostTrials {
		return nil
	}
	return fmt.Errorf("the file holds more than %d trials or values, the most that is read of one: give it in parts", MostTrials)
}

type bounded struct {
	r    io.Reader
	left int64 // bytes that may still be read
	err  error
}

// Read returns an error once it has seen one byte more than the limit.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.err
	}
	return n, err
}

// ReadAll returns the whole content of a document. An empty document, or one of more than Limit bytes, is an
// error.
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(Bound(r, Limit, "the file"))
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	return data, nil
}

// Number reads a decimal number as tools print it. Infinity, NaN, hexadecimal numbers and underscores are
// errors. Blanks around the number are allowed.
func Number(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, errors.New("a number is missing")
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is not a finite number: %w", quoted(text), strconv.ErrRange)
	case err == nil && (math.IsInf(v, 0) || math.IsNaN(v)):
		return 0, fmt.Errorf("%s is not a finite number", quoted(text))
	case err != nil || strings.ContainsAny(text, "_xXpP"):
		return 0, fmt.Errorf("%s is not a number", quoted(text))
	}
	return v, nil
}

// Time reads a time in one of two forms: 2026-01-02T15:04:05Z, or seconds since 1970.
func Time(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	seconds, err := Number(text)
	if err != nil || !(seconds >= 0 && seconds < 1<<33) {
		return time.Time{}, fmt.Errorf("%.40q is neither a time as 2026-01-02T15:04:05Z nor seconds since 1970", text)
	}
	return time.Unix(0, int64(seconds*1e9)), nil
}

// quoted returns a text from a file, escaped and shortened for a message.
func quoted(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}
