package mask

import "io"

// Writer passes on what is written to it without the secrets, however they are split over
// the writes. It holds back only what may be the beginning of one.
type Writer struct {
	mask *Mask
	to   io.Writer
	held []byte
	base int // where what is held back begins in the whole text
	fold folder
	// covered is the end of the last secret whose place has been marked.
	covered int
	out     []byte
}

// mostAtOnce bounds what is folded at once, and with it the memory.
const mostAtOnce = 16 << 10

// Writer begins one that writes to another. Nothing is lost only after its Close.
func (m *Mask) Writer(to io.Writer) *Writer { return &Writer{mask: m, to: to} }

// Write takes the next part. An error is that of the writer behind it.
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

// Close writes what was held back. What looks like the beginning of a secret that was
// cut off is masked.
func (w *Writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.pass(nil, true)
}

// find finds the secrets in what is held back, and the place before which every secret has
// its end there.
func (w *Writer) find(last bool) (all []span, safe int) {
	all, safe = w.mask.raw.find(w.held, last)
	for i := range all {
		all[i].start, all[i].end = all[i].start+w.base, all[i].end+w.base
	}
	end, sure := w.base+len(w.held), w.fold.sure()
	if last {
		sure = len(w.fold.text)
	}
	folded, from := w.mask.folded.find(w.fold.text[:sure], last)
	if safe += w.base; from < len(w.fold.text) {
		safe = min(safe, w.fold.place[from].start)
	}
	for _, s := range folded {
		first, to := w.fold.place[s.start], w.fold.place[s.end-1]
		all = append(all, span{first.start, to.end, s.shown})
	}
	if last {
		safe = end
	}
	return all, safe
}

// pass writes the text up to a place before which every secret has its end in the text, and
// keeps the rest. More are spans that are known already.
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
