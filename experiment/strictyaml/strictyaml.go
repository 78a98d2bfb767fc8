// Package strictyaml decodes YAML into Go structs and reports every problem of
// a file at once, each at its line and column with a hint what to write
// instead. Decoders of YAML libraries stop at the first problem, and know
// nothing of units, nearest matches or swept parameters.
//
// The way is Read (text to a tree of Nodes with positions), then File.Decode
// (tree to a Go value, by reflection). Problems gather in the File.
//
// # How a struct says what it accepts
//
//	yaml:"name"        the field's name in the file; fields without it are not
//	                   decoded. An embedded struct without it lends its fields.
//	also:"other"       another name of the field, which others know it by
//	doc:"…"            what the field is, for error messages and the JSON Schema
//	required:"true"    the field must be there
//	min:"1" max:"9"    least and greatest value of a number or unit, written as
//	                   in the file; for lists and factors, of every element
//	above:"0%" below:"100%"  the same, with the bound itself excluded
//	pattern:"^…$"      regular expression that a text must match, described by
//	form:"…"           ("lower-case letters, digits and dashes")
//	enum:"a,b"         allowed values of a text
//	alone:"true"       one value in place of the struct's map sets this field
//	none:"true"        on a pointer: the word none sets it to nil
//	factor:"protocol"  name of one level of a factor.Levels field, where the
//	                   field's own name is a plural ("protocols")
//
// Keys of the whole file that begin with x- are not read: anchors stand there.
//
// Values that a struct holds before decoding are its defaults: a field that the
// file does not mention keeps its value, and lists and maps are replaced, not
// added to. Supported types are bool, whole numbers, floats, text, structs,
// slices, maps with text keys, pointers to these, factor.Levels of a scalar, Document,
// every type with UnmarshalText and Describe (the units of package quantity),
// and text types with a method Values() []string, which lists an enumeration:
//
//	type Mode string
//
//	func (Mode) Values() []string { return []string{"auto", "kernel"} }
//
// A type of lists may have Words(text string) []string: the items that a text means which stands
// in place of the list, for the hint. A type with UnmarshalText may also have Pattern() string, a regular
// expression of what it accepts, for the JSON Schema.
package strictyaml

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Bounds on what is read. They are far above any sensible experiment and keep
// hostile files from using memory or stack.
const (
	maxBytes    = 256 << 10
	maxTokens   = 10_000  // the parser takes quadratic time for some input
	maxDepth    = 64      // nested lists and maps
	maxIndent   = 1000    // column of a key or a dash
	maxNodes    = 100_000 // after aliases are followed
	maxProblems = 100
)

// File is a YAML file that has been read, with the problems found so far.
type File struct {
	// Root is the document; nil when the file could not be read as YAML.
	Root *Node
	// Custom decodes types in a way of their own, in place of reflection. The
	// value is settable and holds the defaults.
	Custom map[reflect.Type]func(n *Node, path string, v reflect.Value)

	name     string
	lines    []string
	problems Problems
	dropped  bool         // more than maxProblems
	trying   bool         // what a hint would say is being decoded
	hidden   map[int]bool // lines that no problem may show
}

// Problems gives what was found, in the order of the file.
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

// ReportAt adds a problem at the value with that path ("arms[1].name"), or at
// the nearest thing around it where the file has no such value.
func (f *File) ReportAt(path, message, hint string) {
	n, _ := f.find(path)
	f.Report(n, path, message, hint)
}

// ReportKey is ReportAt for problems of the key itself rather than its value.
func (f *File) ReportKey(path, message, hint string) {
	n, exact := f.find(path)
	if exact && n.Key != nil {
		n = n.Key
	}
	f.Report(n, path, message, hint)
}

// Has says whether the file gives a value at the path.
func (f *File) Has(path string) bool {
	_, exact := f.find(path)
	return exact
}

// Troubled says whether a problem was already found at the path, inside of it,
// or at the place in the file where a problem of that path would be shown.
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

// report adds a problem with its position brought inside the file.
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

// name is what messages call a node by: the key that it is the value of, which
// may hold dots.
func name(n *Node, path string) string {
	if n.Key != nil {
		return shorten(n.Key.Value)
	}
	return label(path)
}

// in says in which map something is, for messages; "" for the file's own.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + label(path)
}

// label is the last part of a path, which messages call the value by.
func label(path string) string {
	return path[strings.LastIndexByte(path, '.')+1:]
}
