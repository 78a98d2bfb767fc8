// Package strictyaml decodes YAML into Go structs. It reports all problems of a file at once, each at its line and
// column with a hint. Decoders of YAML libraries stop at the first problem, and know no units, nearest matches or swept
// parameters.
//
// Read converts the text to a tree of Nodes with positions. File.Decode converts the tree to a Go value, by reflection.
// The File collects the problems.
//
// # How a struct describes its valid values
//
//	yaml:"name"        the field's name in the file; fields without this tag are not
//	                   decoded. The fields of an embedded struct without a name
//	                   belong to the outer struct.
//	also:"other"       another name of the field, for users who know it by that name
//	doc:"…"            description of the field, for error messages and the JSON Schema
//	required:"true"    the file must have the field
//	min:"1" max:"9"    least and greatest value of a number or unit, written as
//	                   in the file; for lists and factors, of every element
//	above:"0%" below:"100%"  the same, with the bound itself excluded
//	pattern:"^…$"      regular expression that a text must match, with its description
//	form:"…"           ("lower-case letters, digits and dashes")
//	enum:"a,b"         allowed values of a text
//	alone:"true"       the file may give the value of this field in place of
//	                   the struct's map
//	none:"true"        on a pointer: the word none sets it to nil
//	factor:"protocol"  name of one level of a factor.Levels field, where the
//	                   field's own name is a plural ("protocols")
//
// Top-level keys that begin with x- are not read. A file may define anchors there.
//
// Values that a struct holds before decoding are its defaults. A field that the file does not mention keeps its value.
// Lists and maps are replaced, not added to.
//
// Supported types are bool, whole numbers, floats, text, structs, slices, maps with text keys, pointers to these,
// factor.Levels of a scalar, and Document. Every type with UnmarshalText and Describe is supported, such as the units
// of package quantity. A text type with a method Values() []string lists an enumeration:
//
//	type Mode string
//
//	func (Mode) Values() []string { return []string{"auto", "kernel"} }
//
// A list type may have a method Words(text string) []string. It splits a text in place of the list into items, and a
// hint shows these items. A type with UnmarshalText may have Pattern() string, a regular expression of its valid texts
// for the JSON Schema.
package strictyaml

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Limits on the size of a file, far above any sensible experiment. A hostile file cannot fill memory or stack.
const (
	maxBytes    = 256 << 10
	maxTokens   = 10_000  // tokens; the parser's time can grow with the square of their number
	maxDepth    = 64      // the nesting of lists and maps
	maxIndent   = 1000    // the column of a key or a dash
	maxNodes    = 100_000 // number of nodes, counted after aliases are followed
	maxProblems = 100
)

// File is a YAML file after reading, with the problems found so far.
type File struct {
	Root *Node // the document; nil if the file is no valid YAML
	// Custom has decoding functions for some types. Such a function gets a settable value, which holds the
	// defaults.
	Custom map[reflect.Type]func(n *Node, path string, v reflect.Value)

	name     string
	lines    []string
	problems Problems
	dropped  bool         // set if more than maxProblems problems were found
	trying   bool         // set while the text of a hint is tried
	hidden   map[int]bool // the lines that no problem may show
}

// Problems returns the problems, in the order of the file.
func (f *File) Problems() Problems {
	sorted := slices.Clone(f.problems)
	slices.SortStableFunc(sorted, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	if f.dropped {
		last := sorted[len(sorted)-1]
		last.Message, last.Hint = "more problems follow; only the first "+strconv.Itoa(maxProblems)+" are shown", ""
		sorted = append(sorted, last)
	}
	return sorted
}

// Report adds a problem at a node.
func (f *File) Report(n *Node, path, message, hint string) {
	f.report(n.Line, n.Column, path, message, hint)
}

// ReportAt adds a problem at the value with a path, such as "arms[1].name". If the file lacks this value, the innermost
// value on the path is taken.
func (f *File) ReportAt(path, message, hint string) {
	n, _ := f.find(path)
	f.Report(n, path, message, hint)
}

// ReportKey reports a problem of the key at a path, as ReportAt reports a problem of the key's value.
func (f *File) ReportKey(path, message, hint string) {
	n, exact := f.find(path)
	if exact && n.Key != nil {
		n = n.Key
	}
	f.Report(n, path, message, hint)
}

// Has reports whether the file has a value at the path.
func (f *File) Has(path string) bool {
	_, exact := f.find(path)
	return exact
}

// Troubled reports whether the file has a problem at the path or below it. A problem at this position of the file
// counts, whatever its path.
func (f *File) Troubled(path string) bool {
	n, _ := f.find(path)
	for _, p := range f.problems {
		rest, inside := strings.CutPrefix(p.Path, path)
		if inside && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
		if p.Line == n.Line && p.Column == n.Column {
			return true
		}
	}
	return false
}

func (f *File) find(path string) (n *Node, exact bool) {
	if f.Root == nil {
		return &Node{Line: 1, Column: 1}, false
	}
	return f.Root.find(path)
}

// report adds a problem to the file's problems. If the position is outside of the file, report takes the nearest
// position inside.
func (f *File) report(line, column int, path, message, hint string) {
	if len(f.problems) >= maxProblems {
		f.dropped = true
		return
	}
	line = min(max(line, 1), len(f.lines))
	source := f.lines[line-1]
	column = min(max(column, 1), len([]rune(source))+1)
	f.problems = append(f.problems, Problem{
		File: f.name, Line: line, Column: column,
		Path: path, Message: message, Hint: hint, Source: source,
	})
}

// Join extends a path by a key.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	if key == "" || key[0] == '[' {
		return path + key
	}
	return path + "." + key
}

// Index extends a path by a position in a list.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// name returns the name of a node in messages: its key, even with dots in it, or the last part of the path.
func name(n *Node, path string) string {
	if n.Key != nil {
		return shorten(n.Key.Value)
	}
	return label(path)
}

// in returns the words that tell in messages where a field is, such as " in link". The result is "" for a field at the
// top level.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + label(path)
}

// label returns the last part of a path, which names the value in messages.
func label(path string) string {
	return path[strings.LastIndexByte(path, '.')+1:]
}

// Field is a field of a struct, as its tags describe it (see the package comment). A file can set it.
type Field struct {
	Name     string
	Also     string // another name of the field in the file; "": there is none
	Doc      string
	Required bool
	None     bool   // set for a pointer that becomes nil by the word none
	Alone    bool   // set if the file may write this field's value in place of the struct's map: 12, not {fixed: 12}
	Factor   string // name of the field's factor for one level, such as protocol for the field protocols
	Enum     []string
	Pattern  string
	Form     string // words that describe the texts which Pattern matches
	Bounds   Bounds
	Index    []int // the argument of reflect.Value.FieldByIndex
	Type     reflect.Type
}

// Bounds are the limits of a number or quantity, as text from the tags; "" means no limit.
type Bounds struct{ Min, Max, Above, Below string }

// Fields lists the fields of a struct type in their order. The fields of an embedded struct stand in its place.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, sf := range reflect.VisibleFields(t) {
		tag := sf.Tag.Get
		name, _, _ := strings.Cut(tag("yaml"), ",")
		if name == "" || name == "-" || !sf.IsExported() {
			continue
		}
		f := Field{
			Name: name, Also: tag("also"), Doc: tag("doc"), Required: tag("required") == "true", None: tag("none") == "true", Alone: tag("alone") == "true",
			Factor: cmp.Or(tag("factor"), name), Pattern: tag("pattern"), Form: tag("form"),
			Bounds: Bounds{Min: tag("min"), Max: tag("max"), Above: tag("above"), Below: tag("below")},
			Index:  sf.Index, Type: sf.Type,
		}
		if enum := tag("enum"); enum != "" {
			f.Enum = strings.Split(enum, ",")
		}
		fields = append(fields, f)
	}
	return fields
}

// Alone returns the index of the field whose value the file may give in place of the struct's map. -1: there is no such
// field.
func Alone(fields []Field) int {
	return slices.IndexFunc(fields, func(f Field) bool { return f.Alone })
}

// Names lists the fields' names.
func Names(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

type described interface{ Describe() string }

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// ReadsText reports whether UnmarshalText reads the values of a type.
func ReadsText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textUnmarshaler) }

// asked returns a new zero value of type t as the interface I. It returns false if t does not implement I.
func asked[I any](t reflect.Type) (I, bool) {
	i, ok := reflect.New(t).Interface().(I)
	return i, ok
}

// EnumOf returns the values of an enumeration type, or nil.
func EnumOf(t reflect.Type) []string {
	if e, ok := asked[interface{ Values() []string }](t); ok && t.Kind() == reflect.String {
		return e.Values()
	}
	return nil
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return "one of " + strings.Join(values, ", ")
}

// Describe describes the valid texts of a type: "a whole number".
func Describe(t reflect.Type) string {
	if values := EnumOf(t); values != nil {
		return oneOf(values)
	}
	if d, ok := asked[described](t); ok {
		return d.Describe()
	}
	if t == documentType {
		return "YAML, as text or as a map"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Describe(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a map of names to values"
	case reflect.Struct:
		fields := Fields(t)
		text := "a map of " + strings.Join(Names(fields), ", ")
		if i := Alone(fields); i >= 0 {
			return Describe(fields[i].Type) + ", or " + text
		}
		return text
	}
	return "text"
}
