package mask

import "io"

// Writer masks the secrets in the text written to it and writes the rest to another writer. It finds secrets
// that are split over several writes. It holds back only text that may be the beginning of a secret.
type Writer struct {
	mask *Mask
	to   io.Writer
	held []byte
	base int // position of held in the whole text
	fold folder
	// covered is the end of the last masked secret.
	covered int
	out     []byte
}

// mostAtOnce is the size of the part that is folded at once, which limits the memory.
const mostAtOnce = 16 << 10

// Writer returns a Writer that writes to to. The text is complete only after Close.
func (m *Mask) Writer(to io.Writer) *Writer { return &Writer{mask: m, to: to} }

// Write writes the next part of the text. The error is from the underlying writer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.mask == nil || len(w.mask.raw.needles) == 0 {
		return w.to.Write(p)
	}
	for done := 0; done < len(p); done += mostAtOnce {
		part := p[done:min(done+mostAtOnce, len(p))]
		w.fold.add(part, w.base+len(w.held))
		w.held = append(w.held, part...)
		if err := w.pass(nil, false); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

// Close writes the text held back. It also masks the beginning of a secret at the end of the text.
func (w *Writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.pass(nil, true)
}

// find returns the secrets in the held text. Each secret that begins before safe is complete.
func (w *Writer) find(last bool) (all []span, safe int) {
	all, safe = w.mask.raw.find(w.held, last)
	for i := range all {
		all[i].start, all[i].end = all[i].start+w.base, all[i].end+w.base
	}
	end, sure := w.base+len(w.held), w.fold.final()
	if last {
		sure = len(w.fold.text)
	}
	folded, from := w.mask.folded.find(w.fold.text[:sure], last)
	if safe += w.base; from < len(w.fold.text) {
		safe = min(safe, w.fold.positions[from].start)
	}
	for _, s := range folded {
		first, to := w.fold.positions[s.start], w.fold.positions[s.end-1]
		all = append(all, span{first.start, to.end, s.shown})
	}
	if last {
		safe = end
	}
	return all, safe
}

// pass writes the text up to a position that no incomplete secret crosses, and keeps the rest. more
// lists additional spans to mask.
func (w *Writer) pass(more []span, last bool) error {
	all, safe := w.find(last)
	out, at := w.out[:0], max(w.base, min(w.covered, safe))
	for _, s := range joined(append(all, more...)) {
		if s.start >= safe {
			break
		}
		if s.start >= w.covered {
			out = append(out, w.held[at-w.base:s.start-w.base]...)
			out = append(out, s.shown...)
		}
		w.covered = max(w.covered, s.end)
		at = min(w.covered, safe)
	}
	out = append(out, w.held[at-w.base:safe-w.base]...)
	w.held, w.base, w.out = append(w.held[:0], w.held[safe-w.base:]...), safe, out
	w.fold.forget(safe)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
