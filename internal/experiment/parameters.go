package experiment

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"tare/internal/experiment/strictyaml"
)

// parameter is an entry of the field parameters. The entry's value has an anchor, by which the rest of the file refers
// to it:
//
//	parameters:
//	  ISTIO_REVISION: &revision default
type parameter struct {
	name     string
	anchored bool // set if the value has an anchor
	value    *strictyaml.Node
	at       int // position of the value in the file, in bytes
	length   int // 0: the value is no text, number or word on one line
}

var (
	anchorBefore = regexp.MustCompile(`&[^\s,\[\]{}]+\s+$`)
	quotedText   = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'[^']*')`)
)

// parameters lists the parameters of a file, whose lines end with \n.
func parameters(root *strictyaml.Node, text string) (list []parameter) {
	field := root.Get("parameters")
	if field == nil {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	for _, e := range field.Entries {
		p := parameter{name: e.Key.Value, value: e.Value}
		if line := e.Value.Line; line <= len(lines) && e.Value.Scalar() {
			runes := []rune(lines[line-1])
			column := min(e.Value.Column-1, len(runes))
			before, rest := string(runes[:column]), string(runes[column:])
			p.at = len(strings.Join(lines[:line-1], "")) + len(before)
			if e.Value.Quoted {
				p.length = len(quotedText.FindString(rest))
			} else if strings.HasPrefix(rest, e.Value.Value) {
				p.length = len(e.Value.Value)
			}
			p.anchored = anchorBefore.MatchString(before)
		}
		list = append(list, p)
	}
	return list
}

// plain returns a text without a byte order mark, and with \n at the ends of lines.
func plain(data []byte) string {
	return strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "\r\n", "\n")
}

// parameters reports parameters that nothing in the file can refer to, or that cannot be replaced.
func (l *loader) parameters(data []byte) {
	for _, p := range parameters(l.file.Root, plain(data)) {
		at := strictyaml.Join("parameters", p.name)
		switch {
		case l.file.Troubled(at):
		case p.length == 0:
			l.file.ReportAt(at, p.name+" is not a single value on the line of its name", "write the value behind the name: "+p.name+": &name value")
		case !p.anchored:
			l.file.ReportAt(at, "nothing can refer to "+p.name+", so that its value has no effect", "give the value an anchor, "+p.name+": &name value, and refer to it by *name")
		}
	}
}

// Replaced is a parameter whose value comes from the environment.
type Replaced struct{ Name, Value string }

// WithEnvironment returns an experiment file in which variables of the environment replace the values of parameters of
// the same names. If the file has an error that Load reports, the text is returned as it is.
func WithEnvironment(name string, data []byte, lookup func(string) (string, bool)) (text []byte, replaced []Replaced, err error) {
	root := strictyaml.Read(name, data).Root
	if root == nil || !bytes.Contains(data, []byte("parameters:")) {
		return data, nil, nil
	}
	var out strings.Builder
	from, done := plain(data), 0
	for _, p := range parameters(root, from) {
		value, set := lookup(p.name)
		if !set || p.length == 0 || p.at < done || value == p.value.Value {
			continue
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return nil, nil, fmt.Errorf("%s:%d:%d: the variable %s of the environment has control characters", name, p.value.Line, p.value.Column, p.name)
		}
		out.WriteString(from[done:p.at])
		out.WriteString(strconv.Quote(value))
		done = p.at + p.length
		replaced = append(replaced, Replaced{p.name, value})
	}
	if replaced == nil {
		return data, nil, nil
	}
	out.WriteString(from[done:])
	return []byte(out.String()), replaced, nil
}
