package cli

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/text/safetext"
)

// toYAML converts a JSON document to YAML that means the same for readers of YAML 1.1 and 1.2. A string is in
// quotes, with escapes, unless no reader could mistake it for another type.
func toYAML(document []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	v, err := ordered(d)
	if err != nil {
		return nil, err
	}
	return appendYAML(nil, v, ""), nil
}

// member is one member of a JSON object. Objects are lists of members, so that their order stays.
type member struct {
	key   string
	value any
}

// ordered reads a JSON value: a []member, a []any, or a scalar.
func ordered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := []member{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := ordered(d)
			if err != nil {
				return nil, err
			}
			object = append(object, member{key.(string), value})
		}
		_, err := d.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := ordered(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

const step = "  " // the indentation of one level

// appendYAML appends a value and a newline. The cursor is at the indentation.
func appendYAML(dst []byte, v any, indent string) []byte {
	switch v := v.(type) {
	case []member:
		for i, m := range v {
			if i > 0 {
				dst = append(dst, indent...)
			}
			dst = append(append(dst, yamlKey(m.key)...), ':')
			within := indent
			switch value := m.value.(type) {
			case []member:
				within += step
				dst = appendBreak(dst, len(value) > 0, within)
			case []any:
				dst = appendBreak(dst, len(value) > 0, within)
			default:
				dst = append(dst, ' ')
			}
			dst = appendYAML(dst, m.value, within)
		}
		if len(v) > 0 {
			return dst
		}
		return append(dst, "{}\n"...)
	case []any:
		for i, item := range v {
			if i > 0 {
				dst = append(dst, indent...)
			}
			dst = appendYAML(append(dst, "- "...), item, indent+step)
		}
		if len(v) > 0 {
			return dst
		}
		return append(dst, "[]\n"...)
	case string:
		return append(append(dst, yamlText(v, indent)...), '\n')
	case json.Number:
		return append(append(dst, yamlNumber(v.String())...), '\n')
	case bool:
		return append(strconv.AppendBool(dst, v), '\n')
	}
	return append(dst, "null\n"...)
}

// appendBreak begins a new line, or appends a blank after the colon.
func appendBreak(dst []byte, lines bool, indent string) []byte {
	if !lines {
		return append(dst, ' ')
	}
	return append(append(dst, '\n'), indent...)
}

var (
	// bare matches a string that needs no quotes in YAML, unless it is in notText.
	bare = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9 _./()%+-]*$`)
	// notText matches words that some reader takes for another type.
	notText = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)
)

func yamlKey(s string) string {
	if bare.MatchString(s) && !notText.MatchString(s) && !strings.HasSuffix(s, " ") {
		return s
	}
	return yamlQuoted(s)
}

// yamlQuoted quotes a string. It also escapes invisible characters and those that act on a terminal, even if Go
// regards them as printable. The escapes are valid in YAML.
func yamlQuoted(s string) string { return safetext.Name(strconv.Quote(s)) }

// yamlText writes lines of a text as a block, if they are plain.
func yamlText(s, indent string) string {
	if !strings.Contains(s, "\n") {
		return yamlKey(s)
	}
	whole, ended := strings.CutSuffix(s, "\n")
	header := "|-"
	if ended {
		header = "|"
	}
	lines := strings.Split(whole, "\n")
	for _, line := range lines {
		if line == "" || line != strings.TrimSpace(line) || !safetext.Printable(line) {
			return yamlQuoted(s)
		}
	}
	between := "\n" + indent + step
	return header + between + strings.Join(lines, between)
}

// yamlNumber writes a JSON number in a form that no reader takes for a string: in YAML 1.1, a number with an
// exponent must have a point, and a reader may not support integers of more than 64 bits.
func yamlNumber(s string) string {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(s), "e")
	if !scientific {
		_, signed := strconv.ParseInt(s, 10, 64)
		_, unsigned := strconv.ParseUint(s, 10, 64)
		if signed == nil || unsigned == nil || strings.Contains(s, ".") {
			return s
		}
		return s + ".0"
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exponent[0] != '+' && exponent[0] != '-' {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}
