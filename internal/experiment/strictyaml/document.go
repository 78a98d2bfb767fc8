package strictyaml

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Document is a YAML text for another reader, such as a Kubernetes object. A file contains it as text or as the
// map itself. A list of maps is several documents, separated by ---.
type Document string

var documentType = reflect.TypeFor[Document]()

// document decodes a Document.
func (f *File) document(n *Node, path string, v reflect.Value) {
	documents := []*Node{n}
	switch n.Form {
	case Text:
		v.SetString(n.Value)
		return
	case List:
		documents = n.Items
	}
	var texts []string
	for i, d := range documents {
		if d.Form != Map {
			at := path
			if n.Form == List {
				at = Index(path, i)
			}
			f.wrong(d, at, "YAML, as text or as a map", Field{}, "")
			return
		}
		var b strings.Builder
		if len(d.Entries) == 0 {
			b.WriteString(d.written() + "\n")
		}
		d.write(&b, "")
		texts = append(texts, b.String())
	}
	v.SetString(strings.Join(texts, "---\n"))
}

// write writes a map or list that is not empty as YAML, with indent before each line.
func (n *Node) write(b *strings.Builder, indent string) {
	for _, e := range n.Entries {
		b.WriteString(indent + e.Key.written() + ":")
		e.Value.writeBehind(b, indent)
	}
	for _, item := range n.Items {
		b.WriteString(indent + "-")
		item.writeBehind(b, indent)
	}
}

// writeBehind writes the value of a key or dash.
func (n *Node) writeBehind(b *strings.Builder, indent string) {
	if len(n.Entries)+len(n.Items) == 0 {
		b.WriteString(" " + n.written() + "\n")
		return
	}
	b.WriteString("\n")
	n.write(b, indent+"  ")
}

// safe matches texts that have the same meaning without quotes, for every YAML reader: words, numbers, and
// placeholders for either.
var safe = regexp.MustCompile(`^[A-Za-z0-9_$(][A-Za-z0-9_$().+/-]*$`)

// written returns a scalar, or an empty map or list, as YAML on one line.
func (n *Node) written() string {
	switch {
	case n.Form == Map:
		return "{}"
	case n.Form == List:
		return "[]"
	case n.Form == Null:
		return "null"
	case n.Form != Text, !n.Quoted && safe.MatchString(n.Value):
		return n.Value
	}
	return quoted(n.Value)
}

// quoted returns a text in double quotes.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(fmt.Sprintf("strictyaml: a text cannot be written: %v", err)) // every text can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
