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
	base int // where what is held back begins in the whole text
	// covered is the end of the last secret whose place has been marked.
	covered     int
	raw, folded search
	fold        folder
	spans       []span // found, and not marked yet
	out         []byte
}

const (
	// mostGap is the most that may stand between two bytes of a folded secret, in bytes: a
	// line's end, the offset of the next, and blanks.
	mostGap = 256
	// mostAtOnce bounds what is folded at once, and with it the memory.
	mostAtOnce = 16 << 10
)

// Writer begins one that writes to another. Nothing is lost only after its Close.
func (m *Mask) Writer(to io.Writer) *Writer {
	w := &Writer{mask: m, to: to}
	if m != nil {
		w.raw.view, w.folded.view = &m.raw, &m.folded
	}
	return w
}

// Write takes the next part. An error is that of the writer behind it.
func (w *Writer) Write(p []byte) (int, error) {
	if w.mask == nil || len(w.mask.raw.needles) == 0 {
		return w.to.Write(p)
	}
	for all := p; len(all) > 0; {
		part := all[:min(len(all), mostAtOnce)]
		all = all[len(part):]
		at, old := w.base+len(w.held), len(w.fold.text)
		w.held = append(w.held, part...)
		w.raw.over(part, func(n *needle, last int) {
			w.found(span{at + last + 1 - len(n.text), at + last + 1, n.shown, false})
		})
		w.fold.add(part, at)
		w.search(old)
		if err := w.pass(w.safe(), false); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

// search searches what was folded, from a byte of it on.
func (w *Writer) search(from int) {
	w.folded.over(w.fold.text[from:], func(n *needle, last int) {
		end := w.fold.where(from + last)
		w.found(span{w.fold.where(from + last + 1 - len(n.text)).start, end.end, n.shown, end.dump})
	})
}

// found keeps a span. One that overlaps with the last is the same place in another way.
func (w *Writer) found(s span) {
	if n := len(w.spans); n > 0 && w.spans[n-1].start <= s.start && s.start < w.spans[n-1].end {
		last := &w.spans[n-1]
		if s.start == last.start && s.end > last.end {
			last.shown = s.shown // the longest
		}
		last.end, last.line = max(last.end, s.end), last.line || s.line
		return
	}
	w.spans = append(w.spans, s)
}

// safe is the place before which every secret has its end in the text. It forgets what was
// folded and is no longer needed.
func (w *Writer) safe() int {
	end := w.base + len(w.held)
	next := w.fold.begins(end)
	safe := min(end-min(w.raw.back(), len(w.held)), next)
	keep := len(w.fold.text) - min(w.folded.back(), len(w.fold.text))
	if next-w.fold.last > mostGap {
		w.folded.reset()
		keep = len(w.fold.text)
	} else if len(w.fold.text) > 0 {
		safe = min(safe, w.fold.where(keep).start)
	}
	w.fold.forget(keep)
	return safe
}

// Close writes what was held back. What looks like the beginning of a secret that was
// cut off is masked.
func (w *Writer) Close() error {
	if w.mask == nil {
		return nil
	}
	end := w.base + len(w.held)
	for _, t := range w.raw.begun {
		if t.bytes >= Least {
			w.found(span{end - t.bytes, end, t.needle.shown, false})
		}
	}
	for _, t := range w.folded.begun {
		if t.bytes >= Least {
			w.found(span{w.fold.where(len(w.fold.text) - t.bytes).start, end, t.needle.shown, false})
		}
	}
	old := len(w.fold.text)
	w.fold.end()
	w.search(old)
	w.raw.reset()
	w.folded.reset()
	return w.pass(end, true)
}

// pass writes the text up to a place, and keeps the rest.
func (w *Writer) pass(safe int, last bool) error {
	for i := range w.spans {
		s := &w.spans[i]
		if !s.line {
			continue
		}
		rest := w.held[s.end-w.base:]
		if n := bytes.IndexByte(rest[:min(len(rest), mostGap)], '\n'); n >= 0 {
			s.end += n
		} else if len(rest) < mostGap && !last {
			safe = min(safe, s.start)
			continue
		} else {
			s.end += min(len(rest), mostGap)
		}
		s.line = false
	}
	if safe <= w.base && !last {
		return nil
	}
	out, at := w.out[:0], max(w.base, min(w.covered, safe))
	w.spans = joined(w.spans)
	for len(w.spans) > 0 && w.spans[0].start < safe {
		s := w.spans[0]
		w.spans = w.spans[1:]
		if s.start >= w.covered {
			out = append(out, w.held[at-w.base:s.start-w.base]...)
			out = append(out, s.shown...)
		}
		w.covered = max(w.covered, s.end)
		at = min(w.covered, safe)
	}
	out = append(out, w.held[at-w.base:safe-w.base]...)
	w.held, w.base, w.out = append(w.held[:0], w.held[safe-w.base:]...), safe, out
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
