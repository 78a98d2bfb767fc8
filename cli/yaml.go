package cli

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"tare/safetext"
)

// toYAML writes a JSON document as YAML that says the same to readers of YAML 1.1 and
// 1.2 alike. A string is in quotes, with escapes, unless nobody could take it for
// something else.
func toYAML(document []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	v, err := ordered(d)
	if err != nil {
		return nil, err
	}
	return appendYAML(nil, v, ""), nil
}

// member is one of a JSON object, which is a list of them in its order.
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

const step = "  " // of indentation

// appendYAML appends a value with its line feed. The cursor stands at the indentation.
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

// appendBreak goes on to the next line, or behind the colon.
func appendBreak(dst []byte, lines bool, indent string) []byte {
	if !lines {
		return append(dst, ' ')
	}
	return append(append(dst, '\n'), indent...)
}

var (
	// bare is a string that is one in YAML without quotes, unless it is a word below.
	bare = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9 _./()%+-]*$`)
	// notText are words that some reader takes for something else.
	notText = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)
)

func yamlKey(s string) string {
	if bare.MatchString(s) && !notText.MatchString(s) && !strings.HasSuffix(s, " ") {
		return s
	}
	return yamlQuoted(s)
}

// yamlQuoted writes out what acts on a terminal or is not seen, also where Go calls it
// printable. The escapes are YAML's, too.
func yamlQuoted(s string) string { return safetext.Name(strconv.Quote(s)) }

// yamlText writes lines of a text as a block, where they are plain.
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

// yamlNumber writes a JSON number so that no reader takes it for a string: YAML 1.1
// has a point in every number with an exponent, and a reader need not know integers of
// more than 64 bits.
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
