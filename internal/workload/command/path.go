package command

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// path is a path into a JSON document: names of members (string) and indexes into lists (int).
type path []any

// parsePath parses a path such as results[0].p99, .a.b, $.a, or a["b.c"][2]. A leading dot or $ stands for the
// document.
func parsePath(text string) (path, error) {
	rest := strings.TrimPrefix(text, "$")
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		rest = "." + rest
	}
	wrong := func(why string) (path, error) {
		return nil, fmt.Errorf("%q is not a path such as results[0].p99: %s", text, why)
	}
	var p path
	for rest != "" {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[]")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return wrong("a name is missing")
			}
			p, rest = append(p, rest[1:1+end]), rest[1+end:]
		case strings.HasPrefix(rest, `["`):
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
				return wrong(`["…"] is not closed`)
			}
			name, err := strconv.Unquote(quoted)
			if err != nil {
				return wrong(err.Error())
			}
			p, rest = append(p, name), rest[len(quoted)+2:]
		case rest[0] == '[':
			number, after, closed := strings.Cut(rest[1:], "]")
			position, err := strconv.ParseUint(number, 10, 31)
			if !closed || err != nil {
				return wrong("in [ ] stands a position, counted from 0")
			}
			p, rest = append(p, int(position)), after
		default:
			return wrong(fmt.Sprintf("unexpected %q", rest))
		}
	}
	return p, nil
}

// String returns a text that parsePath parses to the same path.
func (p path) String() string {
	if len(p) == 0 {
		return "$"
	}
	var b strings.Builder
	for _, part := range p {
		fmt.Fprintf(&b, "[%#v]", part)
	}
	return b.String()
}

// number returns the number at the path in a document that was decoded with UseNumber. A string that holds a number
// counts as a number, since many tools write strings.
func (p path) number(document any) (float64, error) {
	at := document
	for i, part := range p {
		here := p[:i].String()
		switch part := part.(type) {
		case int:
			list, ok := at.([]any)
			if !ok {
				return 0, fmt.Errorf("%s is %s, not a list", here, form(at))
			}
			if part >= len(list) {
				return 0, fmt.Errorf("%s has %d elements, and none at [%d]", here, len(list), part)
			}
			at = list[part]
		case string:
			members, ok := at.(map[string]any)
			if !ok {
				return 0, fmt.Errorf("%s is %s, not an object", here, form(at))
			}
			if at, ok = members[part]; !ok {
				return 0, fmt.Errorf("%s has no %q", here, part)
			}
		}
	}
	switch v := at.(type) {
	case json.Number:
		return strconv.ParseFloat(v.String(), 64)
	case string:
		return strconv.ParseFloat(strings.TrimSpace(v), 64)
	}
	return 0, fmt.Errorf("%s is %s, not a number", p, form(at))
}

// form returns the name of a JSON value's type.
func form(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
