// Package jsondoc finds the JSON documents in a stream of text, such as the output of a tool with warnings.
//
// A document is an object with a member, or a list of objects. It begins at the start of a line, or directly after
// another document. Each decodes every document from the stream, so that a large one need not be in memory as text.
// First returns the only wanted document.
package jsondoc

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// reader reads the documents of a stream, one after the other.
type reader struct {
	text    text
	decoder *json.Decoder // decoder that reads the last document; nil: no document yet
	blank   bool          // set while only white space was read
	begun   int64         // number of bytes of the stream that came before decoder's first byte
	start   int64         // number of bytes in the stream before the last document
}

// New returns a reader of the documents in a stream.
func New(stream io.Reader) *reader {
	return &reader{text: text{Reader: bufio.NewReaderSize(stream, chunk), source: stream}, blank: true}
}

// Each calls take for each document, with a decoder. take must decode exactly one value, or return an error. A stream
// without any text is an error.
func (r *reader) Each(take func(*json.Decoder) error) error {
	for {
		decoder, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && r.blank:
			return errors.New("the file is empty")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := take(decoder); err != nil {
			return err
		}
	}
}

// next returns a decoder that is about to read the next document. The error is io.EOF after the last document.
func (r *reader) next() (*json.Decoder, error) {
	if r.decoder == nil {
		if start, _ := r.text.Peek(3); string(start) == "\ufeff" { // byte order mark, which some editors of Windows put at the start of a file
			n, _ := r.text.Discard(len(start)) // discarding bytes that are in the buffer cannot fail
			r.text.passed += int64(n)
		}
	} else {
		// If the stream goes on with another event, this decoder also reads that event: the text that follows is in its
		// buffer.
		left := r.decoder.Buffered()
		glimpse := make([]byte, glance)
		n, _ := io.ReadFull(left, glimpse) // the error only says that fewer bytes are left in memory
		next := bytes.TrimLeft(glimpse[:n], space)
		if begins(next) == yes {
			r.start = r.begun + r.decoder.InputOffset() + int64(n-len(next))
			return r.decoder, nil
		}
		rest, _ := io.ReadAll(left)
		r.text.passed -= int64(n + len(rest))
		ahead, _ := r.text.Peek(r.text.Buffered()) // peeking into the buffer cannot fail
		r.text.source = io.MultiReader(bytes.NewReader(slices.Concat(glimpse[:n], rest, ahead)), r.text.source)
		r.text.Reset(r.text.source)
	}
	if err := r.skip(); err != nil {
		return nil, err
	}
	r.begun = r.text.passed
	r.start = r.begun
	r.decoder = json.NewDecoder(&r.text)
	return r.decoder, nil
}

const space = " \t\r\n"

func (r *reader) skip() error {
	for {
		if err := r.text.skipSpace(); err != nil {
			return err
		}
		r.blank = false
		ahead, err := r.text.Peek(glance)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if is := begins(ahead); is == yes || is == unknown && err != nil {
			return nil
		}
		if err := r.text.skipLine(); err != nil {
			return err
		}
	}
}

// glance is the number of bytes that the function begins looks at. It is larger than the indentation of an object's
// first member.
const glance = 128

type beginning int

const (
	no beginning = iota
	unknown
	yes
)

// begins reports whether a text begins with a JSON document. The character after the brace or bracket decides:
// "[global]" in a job file is none.
func begins(text []byte) beginning {
	after := ""
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		after = `"}`
	case bytes.HasPrefix(text, []byte("[")):
		after = `{]`
	default:
		return no
	}
	text = bytes.TrimLeft(text[1:], space)
	switch {
	case len(text) == 0:
		return unknown
	case strings.IndexByte(after, text[0]) >= 0:
		return yes
	}
	return no
}

// Explain rewords a decoding error for the user. It returns nil for nil.
func Explain(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON document has no end: the file is truncated")
	case errors.As(err, &kind):
		what := "the JSON"
		if kind.Field != "" {
			what = fmt.Sprintf("member %q", kind.Field)
		}
		return fmt.Errorf("%s is %s where %s is expected", what,
			cmp.Or(found[kind.Value], "a "+kind.Value), cmp.Or(expected[kind.Type.Kind()], "a number"))
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON: %w", err)
	}
	return err
}

// found has the words with which an error names a JSON value of the wrong type, by the words of encoding/json. Words
// without a key stay.
var found = map[string]string{"object": "an object", "array": "a list", "string": "text", "bool": "true or false"}

// expected has the words for the JSON value that a Go type needs. All types that are not here need a number.
var expected = map[reflect.Kind]string{
	reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "a list", reflect.Array: "a list",
	reflect.String: "text", reflect.Bool: "true or false",
}

// First decodes the documents of a stream and returns the only one that wanted accepts. A second one is an error: a
// tool that appends to its file has written two results, and one would be lost.
//
// A document may have a member of the wrong type. If wanted accepts the document by its other members, the error names
// this member. If no document is wanted, the error begins with the text none, and names the first such member.
func First[T any](r io.Reader, wanted func(*T) bool, none string) (*T, error) {
	documents := New(r)
	var first *T
	var other error // why the first ignored document has a member of the wrong type
	err := documents.Each(func(decoder *json.Decoder) error {
		doc := new(T)
		err := decoder.Decode(doc)
		var kind *json.UnmarshalTypeError
		whole := err == nil || errors.As(err, &kind)
		switch {
		case first != nil && whole && wanted(doc):
			return documents.Second()
		case first != nil && !whole:
			return fmt.Errorf("after the result, at byte %d: %w", documents.start+1, Explain(err))
		case first != nil:
		case err == nil && wanted(doc):
			first = doc
		case !whole || wanted(doc):
			return Explain(err)
		case other == nil:
			other = Explain(err)
		}
		return nil
	})
	switch {
	case err != nil || first != nil:
		return first, err
	case other != nil:
		return nil, fmt.Errorf("%s; in the JSON that there is, %w", none, other)
	}
	return nil, errors.New(none)
}

// Each decodes every document of a stream, and calls take with each.
func Each[T any](r io.Reader, take func(*T) error) error {
	return New(r).Each(func(decoder *json.Decoder) error {
		doc := new(T)
		if err := decoder.Decode(doc); err != nil {
			return Explain(err)
		}
		return take(doc)
	})
}

// Second returns the error for a file with two results. It names the byte where the second document begins, counted
// from 1 as tail -c does.
func (r *reader) Second() error {
	return fmt.Errorf("a second document follows at byte %d: one file is one trial; split it", r.start+1)
}

// Time converts milliseconds since the beginning of 1970 to a time. It returns zero for a number that is not positive,
// or beyond the year 9999.
func Time(ms float64) time.Time {
	const end = 253402300800e3 // the beginning of the year 10000, in ms since 1970
	if !(ms > 0 && ms < end) {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// text is a stream that can be read in advance; bytes read too far can be put back. After the source's end, reads
// return the source's error.
type text struct {
	*bufio.Reader
	source io.Reader
	passed int64 // the number of bytes read or skipped
}

// chunk is the number of bytes read from the source at a time.
const chunk = 4096

// Read returns the next bytes.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.passed += int64(n)
	return n, err
}

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

func (t *text) skipLine() error {
	for {
		line, err := t.ReadSlice('\n')
		t.passed += int64(len(line))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
