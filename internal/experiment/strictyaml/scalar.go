package strictyaml

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (f *File) text(n *Node, path string, v reflect.Value, field Field) {
	expected := Describe(v.Type())
	if field.None {
		expected += ", or none"
	}
	if !n.Scalar() {
		f.wrong(n, path, expected, field, "")
		return
	}
	fresh := reflect.New(v.Type())
	if err := fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
		if _, says := asked[described](v.Type()); says {
			f.wrong(n, path, expected, field, f.unitHint(n, path, v.Type(), field))
			return
		}
		f.Report(n, path, fmt.Sprintf("%s: %v", name(n, path), err), "")
		return
	}
	if f.within(n, path, fresh.Elem(), field) {
		v.Set(fresh.Elem())
	}
}

func (f *File) scalar(n *Node, path string, v reflect.Value, field Field) {
	if !n.Scalar() {
		f.wrong(n, path, expectedOf(v.Type(), field), field, "")
		return
	}
	fresh := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		if !f.word(n, path, v.Type(), field) {
			return
		}
		fresh.SetString(n.Value)
	case reflect.Bool:
		if n.Form != Bool {
			f.wrong(n, path, "true or false", field, f.otherwise(n, path, v.Type(), field))
			return
		}
		fresh.SetBool(strings.EqualFold(n.Value, "true"))
	default:
		if !number(n, fresh) {
			f.wrong(n, path, Describe(v.Type()), field, f.otherwise(n, path, v.Type(), field))
			return
		}
		if !f.within(n, path, fresh, field) {
			return
		}
	}
	v.Set(fresh)
}

// expectedOf describes the valid values of a field: by the field's Enum or Form if it has one, otherwise by its type.
func expectedOf(t reflect.Type, field Field) string {
	if field.Enum != nil {
		return oneOf(field.Enum)
	}
	if field.Form != "" {
		return field.Form
	}
	return Describe(t)
}

func (f *File) word(n *Node, path string, t reflect.Type, field Field) bool {
	values := field.Enum
	if values == nil {
		values = EnumOf(t)
	}
	if values != nil {
		if slices.Contains(values, n.Value) {
			return true
		}
		f.wrong(n, path, oneOf(values), field, f.meant(n, path, t, field, Nearest(n.Value, values)))
		return false
	}
	if field.Pattern == "" {
		return true
	}
	if n.Form != Text {
		f.wrong(n, path, field.Form, field, f.otherwise(n, path, t, field))
		return false
	}
	if !regexp.MustCompile(field.Pattern).MatchString(n.Value) {
		f.wrong(n, path, field.Form, field, "")
		return false
	}
	return true
}

func number(n *Node, v reflect.Value) bool {
	if n.Form != Number {
		return false
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(n.Value, v.Type().Bits())
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return false
		}
		v.SetFloat(x)
		return true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := strconv.ParseUint(n.Value, 10, v.Type().Bits())
		v.SetUint(x)
		return err == nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		v.SetInt(x)
		return err == nil
	}
	panic("strictyaml: fields of type " + v.Type().String() + " are not supported")
}

func (f *File) within(n *Node, path string, v reflect.Value, field Field) bool {
	b := field.Bounds
	x := magnitude(v)
	broken := func(bound, words string, ok func(limit float64) bool) bool {
		if bound == "" || ok(limitOf(bound, v.Type())) {
			return false
		}
		f.Report(n, path, fmt.Sprintf("%s is %s; it must be %s %s", label(path), shorten(n.Value), words, bound), field.Doc)
		return true
	}
	return !broken(b.Min, "at least", func(l float64) bool { return x >= l }) &&
		!broken(b.Max, "at most", func(l float64) bool { return x <= l }) &&
		!broken(b.Above, "above", func(l float64) bool { return x > l }) &&
		!broken(b.Below, "below", func(l float64) bool { return x < l })
}

func limitOf(bound string, t reflect.Type) float64 {
	v := reflect.New(t)
	if u, ok := v.Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(bound)); err != nil {
			panic("strictyaml: bound " + bound + ": " + err.Error())
		}
		return magnitude(v.Elem())
	}
	x, err := strconv.ParseFloat(bound, 64)
	if err != nil {
		panic("strictyaml: bound " + bound + " is not a number")
	}
	return x
}

// magnitude returns v as a number, whatever type of number it is. For all other types, it returns 0.
func magnitude(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	}
	return 0
}

// Document is a YAML text for another program, such as a Kubernetes object. In the file it is a text, a map, or a list
// of maps (documents between ---).
type Document string

var documentType = reflect.TypeFor[Document]()

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

// writeBehind writes the value that follows a key or a dash.
func (n *Node) writeBehind(b *strings.Builder, indent string) {
	if len(n.Entries)+len(n.Items) == 0 {
		b.WriteString(" " + n.written() + "\n")
		return
	}
	b.WriteString("\n")
	n.write(b, indent+"  ")
}

// safe matches texts that every YAML reader takes for the same text without quotes: words, numbers, placeholders.
var safe = regexp.MustCompile(`^[A-Za-z0-9_$(][A-Za-z0-9_$().+/-]*$`)

// written returns a scalar as YAML on one line. It also takes an empty map or list.
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

func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(fmt.Sprintf("strictyaml: a text cannot be written: %v", err)) // every text can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
