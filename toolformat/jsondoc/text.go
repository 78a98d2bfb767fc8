package jsondoc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// text is a stream that can be looked at ahead, and that takes back what a
// decoder read too much. Its source goes on giving the error that it ended with.
type text struct {
	*bufio.Reader
	source io.Reader
	passed int64 // bytes that were passed on or passed over
}

// chunk is how much is read from the source at a time.
const chunk = 4096

func newText(source io.Reader) text {
	return text{Reader: bufio.NewReaderSize(source, chunk), source: source}
}

// Read passes on what comes next.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.passed += int64(n)
	return n, err
}

func (t *text) back(data []byte) {
	t.passed -= int64(len(data))
	ahead, _ := t.Peek(t.Buffered()) // which is there
	t.source = io.MultiReader(bytes.NewReader(append(data, ahead...)), t.source)
	t.Reset(t.source)
}

// byteOrder is the mark at the start of files by editors and shells of Windows.
const byteOrder = "\ufeff"

func (t *text) skipMark() {
	if start, _ := t.Peek(len(byteOrder)); string(start) == byteOrder {
		n, _ := t.Discard(len(start)) // which is there
		t.passed += int64(n)
	}
}

// skipSpace passes over white space, and says why nothing follows it.
func (t *text) skipSpace() error {
	for {
		c, err := t.ReadByte()
		if err != nil {
			return err
		}
		if strings.IndexByte(space, c) < 0 {
			return t.UnreadByte()
		}
		t.passed++
	}
}

// skipLine passes over the rest of a line, however long it is.
func (t *text) skipLine() error {
	for {
		line, err := t.ReadSlice('\n')
		t.passed += int64(len(line))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
