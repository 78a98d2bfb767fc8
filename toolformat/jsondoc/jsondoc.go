// Package jsondoc finds the JSON documents in a stream of text.
//
// Tools print warnings and progress before their result, and a log holds both.
// Some print several documents: one for each status interval, each client or
// each event. A document begins at the start of a line, or right behind another
// one, with a brace before a member or with the bracket of a list of objects. It
// is decoded where it stands, so that a format may take a large one piece by
// piece and never has its text in memory as a whole (Reader); where only one
// document is to be of interest, First gives it.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Reader gives the documents of a stream, one after the other.
type Reader struct {
	text    text
	decoder *json.Decoder // of the last document; nil before the first
	blank   bool          // nothing but white space has been seen
	begun   int64         // bytes before the text that decoder reads
	start   int64         // bytes before the last document
}

// New reads documents from r.
func New(r io.Reader) *Reader { return &Reader{text: newText(r), blank: true} }

// Start says how many bytes of the stream stand before the document that Each handed
// on last.
func (r *Reader) Start() int64 { return r.start }

// Each hands on a decoder for each document, which stands before its first token: take
// decodes one whole value from it, or gives up. A stream of nothing but white space is
// an error.
func (r *Reader) Each(take func(*json.Decoder) error) error {
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

// next gives a decoder that stands before the first token of the next document. The
// error is io.EOF where no more document begins.
func (r *Reader) next() (*json.Decoder, error) {
	if r.decoder == nil {
		r.text.skipMark()
	} else {
		// Events stand line upon line: one decoder takes all that are in its buffer.
		left := r.decoder.Buffered()
		glimpse := make([]byte, glance)
		n, _ := io.ReadFull(left, glimpse) // from memory: fewer are what there is
		next := bytes.TrimLeft(glimpse[:n], space)
		if begins(next) == yes {
			r.start = r.begun + r.decoder.InputOffset() + int64(n-len(next))
			return r.decoder, nil
		}
		rest, _ := io.ReadAll(left)
		r.text.back(append(glimpse[:n], rest...))
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

// skip passes over lines until one that a document begins in.
func (r *Reader) skip() error {
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

// glance is how far is looked ahead: longer than the indentation of a member.
const glance = 128

type answer int

const (
	no answer = iota
	unknown
	yes
)

// begins says whether a document begins here. Job files and logs have brackets
// too: "[global]", "[  5] local 10.0.0.1".
func begins(text []byte) answer {
	after := ""
	switch {
	case len(text) == 0:
		return no
	case text[0] == '{':
		after = `"}`
	case text[0] == '[':
		after = `{]`
	default:
		return no
	}
	text = bytes.TrimLeft(text[1:], space)
	switch {
	case len(text) == 0:
		return unknown
	case bytes.IndexByte([]byte(after), text[0]) >= 0:
		return yes
	}
	return no
}

// Explain says what is wrong with a document in the words of whoever has the
// file. A nil error stays nil.
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
		return fmt.Errorf("%s is %s where %s is expected", what, found(kind.Value), expected(kind.Type.Kind()))
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON: %w", err)
	}
	return err
}

// found is a kind of JSON value as encoding/json names it: "array", "number 1e999".
func found(value string) string {
	switch value {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "string":
		return "text"
	case "bool":
		return "true or false"
	}
	return "a " + value
}

// expected is the JSON value that is read into a kind of Go value.
func expected(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}
