package strictyaml

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"tare/internal/experiment/factor"
)

// extension is the beginning of top-level keys that are not decoded. A file may define anchors below such keys.
const extension = "x-"

// Decode decodes a node into a value that holds the defaults. into points to this value. A part with a problem leaves
// its default unchanged.
func (f *File) Decode(n *Node, path string, into any) {
	f.value(n, path, reflect.ValueOf(into).Elem(), Field{})
}

// value decodes a node into a settable value. The argument field holds the limits of the value.
func (f *File) value(n *Node, path string, v reflect.Value, field Field) {
	t := v.Type()
	if custom, ok := f.Custom[t]; ok {
		custom(n, path, v)
		return
	}
	switch {
	case t.Kind() == reflect.Pointer:
		f.pointer(n, path, v, field)
	case t == documentType:
		f.document(n, path, v)
	case factor.Is(t):
		f.levels(n, path, v, field)
	case ReadsText(t):
		f.text(n, path, v, field)
	case t.Kind() == reflect.Struct:
		f.structure(n, path, v, field)
	case t.Kind() == reflect.Slice:
		f.list(n, path, v, field)
	case t.Kind() == reflect.Map:
		f.mapping(n, path, v, field)
	default:
		f.scalar(n, path, v, field)
	}
}

func (f *File) wrong(n *Node, path string, expected string, field Field, hint string) {
	if n.Form == Null {
		hint = "give a value, or leave the line out"
		if field.Required {
			hint = field.Name + ": " + field.Doc
		}
		f.Report(n, path, fmt.Sprintf("%s has no value; expected %s", name(n, path), expected), hint)
		return
	}
	what := name(n, path)
	what = cmp.Or(what, "the file")
	f.Report(n, path, fmt.Sprintf("%s is %s; expected %s", what, n.found(), expected), hint)
}

func (f *File) pointer(n *Node, path string, v reflect.Value, field Field) {
	if field.None && n.Form == Text && n.Value == "none" {
		v.SetZero()
		return
	}
	fresh := reflect.New(v.Type().Elem())
	if !v.IsNil() {
		fresh.Elem().Set(v.Elem())
	}
	f.value(n, path, fresh.Elem(), field)
	v.Set(fresh)
}

// structure decodes a map into a struct. An empty value keeps all defaults.
func (f *File) structure(n *Node, path string, v reflect.Value, field Field) {
	fields := Fields(v.Type())
	if i := Alone(fields); i >= 0 && n.Scalar() {
		f.value(n, path, v.FieldByIndex(fields[i].Index), fields[i])
		return
	}
	if n.Form != Map && n.Form != Null {
		f.wrong(n, path, Describe(v.Type()), field, "")
		return
	}
	byName := map[string]Field{}
	for _, field := range fields {
		byName[field.Name] = field
		if field.Also != "" {
			byName[field.Also] = field
		}
	}
	given := map[string]*Node{}
	for i, e := range n.Entries {
		field, known := byName[e.Key.Value]
		if !known && path == "" && strings.HasPrefix(e.Key.Value, extension) {
			continue
		}
		if !known {
			f.Report(e.Key, Join(path, e.Key.Value), fmt.Sprintf("unknown field %q%s", shorten(e.Key.Value), in(path)),
				suggest(e.Key.Value, "fields here", Names(fields), func(name string) bool { return n.Get(name) == nil }))
			continue
		}
		if e.Key.Value != field.Name { // the file may use another name (Also); the code below knows only the main name
			key := *e.Key
			key.Value = field.Name
			e.Key = &key
			n.Entries[i].Key = e.Key
		}
		if f.repeated(e.Key, path, given) {
			continue
		}
		f.value(e.Value, Join(path, field.Name), v.FieldByIndex(field.Index), field)
	}
	for _, field := range fields {
		if field.Required && given[field.Name] == nil {
			f.Report(n, Join(path, field.Name), field.Name+" is missing"+in(path), field.Name+": "+field.Doc)
		}
	}
}

// repeated returns true if the key was given before, and reports this as a problem. Otherwise it adds the key to given.
func (f *File) repeated(key *Node, path string, given map[string]*Node) bool {
	first := given[key.Value]
	if first == nil {
		given[key.Value] = key
		return false
	}
	f.Report(key, Join(path, key.Value), fmt.Sprintf("%s is given twice", shorten(key.Value)),
		fmt.Sprintf("it was first given in line %d", first.Line))
	return true
}

func (f *File) list(n *Node, path string, v reflect.Value, field Field) {
	if n.Form != List {
		hint := ""
		if n.Scalar() {
			hint = f.bracketed(n, path, v.Type(), field)
		}
		if n.Form == Map {
			hint = "begin each item with a dash"
		}
		f.wrong(n, path, "a list", field, hint)
		return
	}
	out, distinct := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)), factor.Is(v.Type())
	for i, item := range n.Items {
		at, before := Index(path, i), len(f.problems)
		if item.Form == Null && out.Index(i).Kind() != reflect.Struct {
			f.Report(n, at, label(at)+" is empty; expected "+expectedOf(v.Type().Elem(), field), "")
		} else {
			f.value(item, at, out.Index(i), field)
		}
		for j := range i {
			if distinct && len(f.problems) == before && reflect.DeepEqual(out.Index(i).Interface(), out.Index(j).Interface()) {
				f.Report(item, at, fmt.Sprintf("%s lists %s twice", label(path), shorten(item.Value)), "every level is run once per round")
			}
		}
	}
	v.Set(out)
}

// levels decodes a factor: one value, or a list of distinct values.
func (f *File) levels(n *Node, path string, v reflect.Value, field Field) {
	if n.Form == Null {
		f.wrong(n, path, expectedOf(v.Type().Elem(), field)+", or a list of such values", field, "")
		return
	}
	if n.Form != List {
		out := reflect.MakeSlice(v.Type(), 1, 1)
		f.value(n, path, out.Index(0), field)
		v.Set(out)
		return
	}
	if len(n.Items) == 0 {
		f.Report(n, path, label(path)+" is an empty list; expected at least one value", "leave the line out for the default")
		return
	}
	f.list(n, path, v, field)
}

func (f *File) mapping(n *Node, path string, v reflect.Value, field Field) {
	if n.Form != Map {
		f.wrong(n, path, Describe(v.Type()), field, "")
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	given := map[string]*Node{}
	for _, e := range n.Entries {
		if f.repeated(e.Key, path, given) {
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		f.value(e.Value, Join(path, e.Key.Value), value, field)
		out.SetMapIndex(reflect.ValueOf(e.Key.Value).Convert(v.Type().Key()), value)
	}
	v.Set(out)
}

// Plain converts a value into maps, lists and scalars for encoding/json, in a form that Decode would accept. A factor
// with one level becomes the level. Nil and empty fields are left out.
func Plain(v any) any { return plain(reflect.ValueOf(v)) }

func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err == nil {
			return string(text)
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for _, field := range Fields(v.Type()) {
			value := v.FieldByIndex(field.Index)
			if !blank(value) {
				out[field.Name] = plain(value)
			}
		}
		return out
	case reflect.Slice, reflect.Array:
		if factor.Is(v.Type()) && v.Len() == 1 {
			return plain(v.Index(0))
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, key := range v.MapKeys() {
			out[key.String()] = plain(v.MapIndex(key))
		}
		return out
	case reflect.String:
		return v.String()
	}
	return v.Interface()
}

// blank reports whether a value is empty, such as nil or an empty list. Numbers and bools are never empty.
func blank(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	}
	return false
}
