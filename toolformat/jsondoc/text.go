package jsondoc

import (
	"bytes"
	"errors"
	"io"
)

// text is a stream that can be looked at ahead, and that takes back what a
// decoder read too much.
type text struct {
	source io.Reader
	ahead  []byte // read from the source and not passed on yet
	taken  int64  // bytes read from the source
	begun  bool
	err    error // of the source, once it gave one
}

// Read passes on what was looked at first.
func (t *text) Read(p []byte) (int, error) {
	if len(t.ahead) > 0 {
		n := copy(p, t.ahead)
		t.ahead = t.ahead[n:]
		return n, nil
	}
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.source.Read(p)
	t.taken += int64(n)
	return n, err
}

// passed is how many bytes were passed on or passed over.
func (t *text) passed() int64 { return t.taken - int64(len(t.ahead)) }

// back puts parts back before what comes next.
func (t *text) back(parts ...[]byte) {
	t.ahead = bytes.Join(append(parts, t.ahead), nil)
}

// chunk is how much is read from the source at a time.
const chunk = 4096

// peek gives the next n bytes, or fewer with the error that came after them.
func (t *text) peek(n int) ([]byte, error) {
	for len(t.ahead) < n && t.err == nil {
		t.fill()
	}
	if len(t.ahead) < n {
		return t.ahead, t.err
	}
	return t.ahead[:n], nil
}

// fill reads once. A source that gives nothing again and again is broken.
func (t *text) fill() {
	buffer := make([]byte, chunk)
	for range 100 {
		n, err := t.source.Read(buffer)
		t.ahead = append(t.ahead, buffer[:n]...)
		t.taken += int64(n)
		if t.err = err; n > 0 || err != nil {
			return
		}
	}
	t.err = io.ErrNoProgress
}

// byteOrder is the mark at the start of files by editors and shells of Windows.
const byteOrder = "\ufeff"

// mark passes over a byte order mark, the first time that it is called.
func (t *text) mark() error {
	if t.begun {
		return nil
	}
	t.begun = true
	start, err := t.peek(len(byteOrder))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	t.ahead = t.ahead[len(start)-len(bytes.TrimPrefix(start, []byte(byteOrder))):]
	return nil
}

// skipSpace passes over white space, and says why nothing follows it.
func (t *text) skipSpace() error {
	for {
		if t.ahead = bytes.TrimLeft(t.ahead, space); len(t.ahead) > 0 {
			return nil
		}
		if t.err != nil {
			return t.err
		}
		t.fill()
	}
}

// skipLine passes over the rest of a line, however long it is.
func (t *text) skipLine() error {
	for {
		if end := bytes.IndexByte(t.ahead, '\n'); end >= 0 {
			t.ahead = t.ahead[end+1:]
			return nil
		}
		if t.ahead = nil; t.err != nil {
			return t.err
		}
		t.fill()
	}
}
