package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// First gives the first document of a stream that is wanted, decoded, and refuses a
// second one: a tool that appends to its file makes two trials of it, of which one
// would vanish. Each document is decoded once, into a value of its own.
//
// A document in which a member is of the wrong kind is wanted by what could be
// decoded of it: a tool's own result is then refused with the member's name, and
// a log line that happens to have a member of that name is passed over. Where no
// document is wanted, the error is none, with the first of these members.
func First[T any](r io.Reader, wanted func(*T) bool, none string) (*T, error) {
	documents := New(r)
	var first *T
	var other error // what is wrong with the first document that was passed over
	err := documents.Each(func(decoder *json.Decoder) error {
		doc := new(T)
		err := decoder.Decode(doc)
		var kind *json.UnmarshalTypeError
		whole := err == nil || errors.As(err, &kind)
		switch {
		case first != nil && whole && wanted(doc):
			return documents.Second()
		case first != nil && !whole:
			return fmt.Errorf("behind the result, at byte %d: %w", documents.Start()+1, Explain(err))
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

// Each decodes every document of a stream, and hands each to take.
func Each[T any](r io.Reader, take func(*T) error) error {
	return New(r).Each(func(decoder *json.Decoder) error {
		doc := new(T)
		if err := decoder.Decode(doc); err != nil {
			return Explain(err)
		}
		return take(doc)
	})
}

// Second is the error for a file in which the last document that Each handed on is
// another result. It counts bytes from 1, as tail -c does.
func (r *Reader) Second() error {
	return fmt.Errorf("a second document follows at byte %d: one file is one trial; split it", r.Start()+1)
}
