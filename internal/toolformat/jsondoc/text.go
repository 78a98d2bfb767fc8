package jsondoc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// text is a stream with lookahead, which takes back the text that a decoder has read too much. After the end of
// the source, every read returns the error that ended it.
type text struct {
	*bufio.Reader
	source io.Reader
	passed int64 // the number of bytes read or skipped
}

// chunk is the number of bytes read from the source at a time.
const chunk = 4096

func newText(source io.Reader) text {
	return text{Reader: bufio.NewReaderSize(source, chunk), source: source}
}

// Read returns the next bytes.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.passed += int64(n)
	return n, err
}

func (t *text) back(data []byte) {
	t.passed -= int64(len(data))
	ahead, _ := t.Peek(t.Buffered()) // peeking into the buffer cannot fail
	t.source = io.MultiReader(bytes.NewReader(append(data, ahead...)), t.source)
	t.Reset(t.source)
}

// byteOrder is the byte order mark, with which editors and shells of Windows begin a file.
const byteOrder = "\ufeff"

func (t *text) skipMark() {
	if start, _ := t.Peek(len(byteOrder)); string(start) == byteOrder {
		n, _ := t.Discard(len(start)) // these bytes are in the buffer, so this cannot fail
		t.passed += int64(n)
	}
}

// skipSpace skips white space. It returns an error if no text follows.
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

// skipLine skips the rest of a line of any length.
func (t *text) skipLine() error {
	for {
		line, err := t.ReadSlice('\n')
		t.passed += int64(len(line))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
