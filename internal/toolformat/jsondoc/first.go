package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// First decodes the documents of a stream and returns the only wanted one. A second wanted document is an
// error: a tool that appends to its file has written two results, one of which would be lost.
//
// If a member of a document has the wrong type, wanted sees the members that could be decoded. A tool's own
// result is then rejected with the member's name, and a log line that happens to have a member of that name is
// ignored. If no document is wanted, the error is the text none, with the first member of a wrong type.
func First[T any](r io.Reader, wanted func(*T) bool, none string) (*T, error) {
	documents := New(r)
	var first *T
	var other error // the error of the first document that was ignored
	err := documents.Each(func(decoder *json.Decoder) error {
		doc := new(T)
		err := decoder.Decode(doc)
		var kind *json.UnmarshalTypeError
		whole := err == nil || errors.As(err, &kind)
		switch {
		case first != nil && whole && wanted(doc):
			return documents.Second()
		case first != nil && !whole:
			return fmt.Errorf("after the result, at byte %d: %w", documents.Start()+1, Explain(err))
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

// Second returns the error that the last document is a second result in the file. It counts bytes from 1, as
// tail -c does.
func (r *reader) Second() error {
	return fmt.Errorf("a second document follows at byte %d: one file is one trial; split it", r.Start()+1)
}
