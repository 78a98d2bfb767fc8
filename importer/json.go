package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadJSON reads the JSON document of a file into a value. Text before the
// document is passed over (see SkipToJSON); the document is told from it by its
// members. For an array, it is the first element that must have them.
func ReadJSON(r io.Reader, into any, members ...string) error {
	data, err := ReadAll(r)
	if err != nil {
		return err
	}
	doc, err := SkipToJSON(data, HasMembers(members...))
	if err != nil {
		return err
	}
	return DecodeJSON(doc, into)
}

// DecodeJSON decodes a document, and says what is wrong with it in the words of its
// author.
func DecodeJSON(doc []byte, into any) error {
	err := json.Unmarshal(doc, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return fmt.Errorf("member %q holds %s where %s is expected", kind.Field, kind.Value, kind.Type.Kind())
	}
	return err
}

// HasMembers accepts a JSON object with all of these members, and an array whose
// first element is such an object.
func HasMembers(names ...string) func(json.RawMessage) bool {
	return func(doc json.RawMessage) bool {
		if doc[0] == '[' {
			var list []json.RawMessage
			if json.Unmarshal(doc, &list) != nil || len(list) == 0 || list[0][0] != '{' {
				return false
			}
			doc = list[0]
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(doc, &object) != nil {
			return false
		}
		for _, name := range names {
			if _, ok := object[name]; !ok {
				return false
			}
		}
		return true
	}
}

// SkipToJSON finds the JSON document in the content of a file: the first object
// or array at the start of a line (or right behind another one) that accept
// accepts. Tools print warnings and logs before their result, which may contain
// braces, and may be JSON themselves; what follows the document is ignored.
//
// The error tells a truncated document from none at all.
func SkipToJSON(data []byte, accept func(json.RawMessage) bool) (json.RawMessage, error) {
	// A hostile file could begin a document on each line and end none. No file of
	// any tool has us read it this often.
	budget := 32*len(data) + 1<<20
	cut := 0   // line of the first document that has no end
	other := 0 // line of the first document that was not accepted
	for at := start(data, 0); at < len(data); {
		end, err := value(data[at:])
		if budget -= end; budget < 0 {
			return nil, errors.New("the file holds no JSON document that can be told from the text around it")
		}
		switch {
		case err == nil && accept(data[at:at+end:at+end]):
			return data[at : at+end : at+end], nil
		case err == nil:
			other = first(other, line(data, at))
			at = blanks(data, at+end)
			if at < len(data) && data[at] != '{' && data[at] != '[' {
				at = start(data, at)
			}
			continue
		case errors.Is(err, io.ErrUnexpectedEOF):
			cut = first(cut, line(data, at))
		}
		at = start(data, at+1)
	}
	switch {
	case cut > 0:
		return nil, fmt.Errorf("the JSON document that begins in line %d has no end: the file is truncated", cut)
	case other > 0:
		return nil, fmt.Errorf("the JSON in line %d is not what this format reads", other)
	}
	return nil, errors.New("the file holds no JSON document")
}

// value gives the length of the JSON value at the beginning of data, or how much
// of it was read until the error.
func value(data []byte) (int, error) {
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&raw)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return int(d.InputOffset()), nil
	case errors.As(err, &syntax):
		return int(syntax.Offset), err
	}
	return len(data), err
}

// start gives the next place from at on where a line begins, blanks aside, with
// a brace or bracket; len(data) if there is none.
func start(data []byte, at int) int {
	for at < len(data) {
		// Only blanks may stand between the place and the line's beginning.
		before := bytes.LastIndexByte(data[:at], '\n') + 1
		if len(bytes.TrimLeft(data[before:at], blank)) == 0 {
			at = blanks(data, at)
			if at < len(data) && (data[at] == '{' || data[at] == '[') {
				return at
			}
		}
		if at >= len(data) {
			break
		}
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return len(data)
}

// blank is what may stand before a document: white space and a byte order mark.
const blank = " \t\r\n\ufeff"

func blanks(data []byte, at int) int {
	return len(data) - len(bytes.TrimLeft(data[at:], blank))
}

// line gives the number of the line, from 1, that a place is in.
func line(data []byte, at int) int { return bytes.Count(data[:at], []byte("\n")) + 1 }

func first(known, found int) int {
	if known > 0 {
		return known
	}
	return found
}
