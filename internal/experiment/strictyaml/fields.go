package strictyaml

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
)

// Field is a field of a struct that files can set, described by its tags (see the package comment).
type Field struct {
	Name     string // the name in the file
	Also     string // another name in the file; "": none
	Doc      string
	Required bool
	None     bool   // set for a pointer that the word none sets to nil
	Alone    bool   // set if the file may give this field's value in place of the struct's map
	Factor   string // the name of one level of a factor
	Enum     []string
	Pattern  string
	Form     string // the texts that Pattern matches, in words
	Bounds   Bounds
	Index    []int // the argument of reflect.Value.FieldByIndex
	Type     reflect.Type
}

// Bounds are the limits of a number or quantity, as text from the tags; "" means no limit.
type Bounds struct{ Min, Max, Above, Below string }

// Fields lists the fields of a struct type in their order. The fields of an embedded struct stand in its place.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct {
			for _, inner := range Fields(sf.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				fields = append(fields, inner)
			}
			continue
		}
		if name == "" || name == "-" || !sf.IsExported() {
			continue
		}
		tag := sf.Tag.Get
		f := Field{
			Name: name, Also: tag("also"), Doc: tag("doc"), Required: tag("required") == "true", None: tag("none") == "true", Alone: tag("alone") == "true",
			Factor: tag("factor"), Pattern: tag("pattern"), Form: tag("form"),
			Bounds: Bounds{Min: tag("min"), Max: tag("max"), Above: tag("above"), Below: tag("below")},
			Index:  []int{i}, Type: sf.Type,
		}
		if f.Factor == "" {
			f.Factor = name
		}
		if enum := tag("enum"); enum != "" {
			f.Enum = strings.Split(enum, ",")
		}
		fields = append(fields, f)
	}
	return fields
}

// Alone returns the index of the field whose value the file may give in place of the struct's map, or -1.
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

// described is a type that describes its valid texts in words.
type described interface{ Describe() string }

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// ReadsText reports whether UnmarshalText reads the values of a type.
func ReadsText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textUnmarshaler) }

// asked returns a value of a type as an interface, if the type implements the interface.
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
