package mask

import (
	"bytes"
	"io"
)

// Writer passes on what is written to it without the secrets, however they are split over
// the writes. It holds back only what may be the beginning of one.
type Writer struct {
	mask *Mask
	to   io.Writer
	held []byte
	// covered is how much of what is held back belongs to a secret whose place has been
	// marked already.
	covered int
}

// Writer begins one that writes to another. Nothing is lost only after its Close.
func (m *Mask) Writer(to io.Writer) *Writer { return &Writer{mask: m, to: to} }

// Write takes the next part. An error is that of the writer behind it.
func (w *Writer) Write(p []byte) (int, error) {
	if w.mask == nil || len(w.mask.needles) == 0 {
		return w.to.Write(p)
	}
	text := append(w.held, p...)
	err := w.pass(text, w.mask.safe(text))
	return len(p), err
}

// Close writes what was held back. What looks like the beginning of a secret that was
// cut off is masked.
func (w *Writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	text := w.held
	if n := len(text) - w.covered; n >= Least {
		for _, needle := range w.mask.needles {
			if bytes.HasPrefix(needle.text, text[w.covered:]) {
				_, err := w.to.Write(needle.shown)
				w.held = nil
				return err
			}
		}
	}
	return w.pass(text, len(text))
}

// pass writes a text up to a place before which every secret has its end in the text, and
// keeps the rest.
func (w *Writer) pass(text []byte, safe int) error {
	var out []byte
	at := min(w.covered, safe)
	covered := w.covered
	for _, s := range w.mask.spans(text) {
		if s.start >= safe {
			break
		}
		if s.start >= covered {
			out = append(out, text[at:s.start]...)
			out = append(out, s.shown...)
		}
		covered = max(covered, s.end)
		at = min(covered, safe)
	}
	out = append(out, text[at:safe]...)
	w.covered = max(covered-safe, 0)
	w.held = append(w.held[:0:0], text[safe:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// safe is where the first beginning of a needle stands that has not ended yet.
func (m *Mask) safe(text []byte) int {
	safe := len(text)
	for _, n := range m.needles {
		for at := max(len(text)-len(n.text)+1, 0); at < safe; at++ {
			i := bytes.IndexByte(text[at:safe], n.text[0])
			if i < 0 {
				break
			}
			if at += i; bytes.HasPrefix(n.text, text[at:]) {
				safe = at
			}
		}
	}
	return safe
}
