package manifests

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment/strictyaml"
)

// Objects returns the objects at every level of each factor. Placeholders in the objects are not replaced.
func (c *config) Objects() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, v := range c.variants() {
		all, problems := v.objects()
		for field, p := range problems {
			return nil, fmt.Errorf("%s: %s", field, summary(p))
		}
		for _, o := range all {
			objects = append(objects, &o.Unstructured)
		}
	}
	return objects, nil
}

// objects decodes the documents of a layer whose factors are replaced by levels. It returns the problems by field.
func (c *config) objects() ([]object, map[string][]string) {
	var all []object
	problems := map[string][]string{}
	add := func(field, source, text string) {
		if len(all) > maxObjects {
			return // the method Validate reports that there are too many objects
		}
		objects, found := decode(source, text)
		all = append(all, objects...)
		for _, p := range found {
			message := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
			if p.Hint != "" {
				message += " (" + p.Hint + ")"
			}
			problems[field] = append(problems[field], message)
		}
	}
	for i, f := range c.Files {
		add(fmt.Sprintf("files[%d]", i), f.Name, f.Text)
	}
	if c.Inline != "" {
		add("inline", "inline", string(c.Inline))
	}
	all = c.multiplied(all, problems)
	first := map[string]object{}
	for _, o := range all {
		if other, taken := first[o.identity()]; taken {
			field := "inline"
			for i, f := range c.Files {
				if f.Name == o.source && o.source != "inline" {
					field = fmt.Sprintf("files[%d]", i)
				}
			}
			problems[field] = append(problems[field], fmt.Sprintf("%s:%d: %s appears twice, first in %s:%d", o.source, o.line, title(&o.Unstructured), other.source, other.line))
			continue
		}
		first[o.identity()] = o
	}
	if len(problems) == 0 {
		c.lengthen(all, problems)
	}
	return all, problems
}

// decode parses the documents of one text. The argument source names the text in the problems that decode returns.
func decode(source, text string) ([]object, strictyaml.Problems) {
	var objects []object
	var problems strictyaml.Problems
	for _, document := range split(text) {
		if blank(document.text) {
			continue
		}
		f := strictyaml.Read(source, []byte(document.text))
		if f.Root != nil {
			d := decoder{f}
			if o, ok := d.object(source, f.Root); ok {
				o.line += document.line - 1
				objects = append(objects, o)
			}
		}
		for _, p := range f.Problems() {
			p.Line += document.line - 1
			problems = append(problems, p)
		}
		if len(objects) > maxObjects || len(problems) > maxObjects {
			break
		}
	}
	return objects, problems
}

type document struct {
	text string
	line int // first line of the document in the file, from 1
}

var separator = regexp.MustCompile(`^---([ \t]*|[ \t]+#.*)[\r\n]*$`)

// split cuts a text at its lines of three dashes. Such a line always separates documents, even within a quoted text.
func split(text string) []document {
	var documents []document
	start, at, line, n := 0, 0, 1, 0 // line: number of the current document's first line; n: number of the current line
	for l := range strings.Lines(text) {
		n++
		if separator.MatchString(l) {
			documents = append(documents, document{text[start:at], line})
			start, line = at+len(l), n+1
		}
		at += len(l)
	}
	return append(documents, document{text[start:], line})
}

func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

type decoder struct{ file *strictyaml.File }

func (d decoder) bad(n *strictyaml.Node, hint, format string, args ...any) {
	d.file.Report(n, "", fmt.Sprintf(format, args...), hint)
}

func (d decoder) value(n *strictyaml.Node) any {
	switch n.Form {
	case strictyaml.Map:
		return d.mapping(n)
	case strictyaml.List:
		list := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			list = append(list, d.value(item))
		}
		return list
	case strictyaml.Bool:
		return strings.EqualFold(n.Value, "true")
	case strictyaml.Number:
		return d.number(n)
	case strictyaml.Text:
		return d.text(n)
	}
	return nil
}

func (d decoder) mapping(n *strictyaml.Node) map[string]any {
	out := make(map[string]any, len(n.Entries))
	lines := map[string]int{}
	for _, e := range n.Entries {
		if line, taken := lines[e.Key.Value]; taken {
			d.bad(e.Key, "", "%s appears twice, first %d lines above", e.Key.Value, e.Key.Line-line)
			continue
		}
		lines[e.Key.Value] = e.Key.Line
		// The API server treats a field with the value null as an absent field.
		if value := d.value(e.Value); value != nil {
			out[e.Key.Value] = value
		}
	}
	return out
}

var (
	decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	octal   = regexp.MustCompile(`^0o?[0-7]+$`) // a file mode, in YAML 1.1 or 1.2
	hex     = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	float   = regexp.MustCompile(`^[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?$`)
)

// number parses a number as kubectl does. Some texts are numbers for some readers of YAML, but not for all; number
// refuses such texts.
func (d decoder) number(n *strictyaml.Node) any {
	var whole int64
	var err error
	switch {
	case decimal.MatchString(n.Value):
		whole, err = strconv.ParseInt(n.Value, 10, 64)
	case octal.MatchString(n.Value):
		whole, err = strconv.ParseInt(strings.TrimPrefix(strings.TrimPrefix(n.Value, "0o"), "0"), 8, 64)
	case hex.MatchString(n.Value):
		whole, err = strconv.ParseInt(n.Value[2:], 16, 64)
	case float.MatchString(n.Value):
		x, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			d.bad(n, "", "%s is a number that JSON cannot represent", n.Value)
		}
		return x
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		d.bad(n, "put it in quotes if it is a text", "readers of YAML disagree about the number %s", n.Value)
	}
	return whole
}

var ambiguous = regexp.MustCompile(`^(?i:y|yes|n|no|on|off)$`)

func (d decoder) text(n *strictyaml.Node) any {
	if !n.Quoted && float.MatchString(n.Value) { // the value is a number that is too large for the package strconv
		return d.number(n)
	}
	if !n.Quoted && ambiguous.MatchString(n.Value) {
		d.bad(n, "write true or false, or put the text in quotes", "%s is a text to some readers of YAML, and true or false to others", n.Value)
	}
	return n.Value
}
