package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// First gives the first document of a stream that is wanted, decoded. Each is
// decoded once, into a value of its own; what follows the wanted one is not read.
//
// A document in which a member is of the wrong kind is wanted by what could be
// decoded of it: a tool's own result is then refused with the member's name, and
// a log line that happens to have a member of that name is passed over. Where no
// document is wanted, the error is none, with the first of these members.
func First[T any](r io.Reader, wanted func(*T) bool, none string) (*T, error) {
	documents := New(r)
	var other error // what is wrong with the first document that was passed over
	for {
		decoder, err := documents.Next()
		switch {
		case errors.Is(err, io.EOF) && documents.Blank():
			return nil, errors.New("the file is empty")
		case errors.Is(err, io.EOF) && other != nil:
			return nil, fmt.Errorf("%s; in the JSON that there is, %w", none, other)
		case errors.Is(err, io.EOF):
			return nil, errors.New(none)
		case err != nil:
			return nil, err
		}
		doc := new(T)
		err = decoder.Decode(doc)
		var kind *json.UnmarshalTypeError
		switch {
		case err == nil && wanted(doc):
			return doc, nil
		case err != nil && (!errors.As(err, &kind) || wanted(doc)):
			return nil, Explain(err)
		case other == nil:
			other = Explain(err)
		}
	}
}
