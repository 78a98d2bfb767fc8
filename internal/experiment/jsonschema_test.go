package experiment

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
)

// JSONSchema returns a JSON Schema (draft 2020-12) of the experiment file, for editors. It is made from the
// types that Load decodes into. Load refuses every file that the schema refuses. Load also checks conditions
// that a schema cannot express (names that must differ, metrics that must exist, quantities within bounds).
func JSONSchema(kinds Kinds) ([]byte, error) {
	s := schema{kinds: kinds}
	x := defaults()
	x.Design.Rounds.Fixed = defaultRounds
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Tare experiment"},
		{"description", "What Tare runs and compares: docs/experiment.md explains it."},
	}
	root = append(root, s.structure(reflect.ValueOf(x))...)
	root = append(root, member{"patternProperties", object{{"^x-", object{{"description", "not read: for anchors"}}}}})
	root = append(root, member{"$defs", s.definitions()})
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(root)
	return out.Bytes(), err
}

// object is a JSON object that keeps the order of its members, in which editors offer completions.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(m.name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// schema builds one schema.
type schema struct{ kinds Kinds }

// definitions returns the schemas of layers and workloads.
func (s schema) definitions() object {
	var defs object
	layers, workloads := map[string]reflect.Value{}, map[string]reflect.Value{}
	for _, kind := range slices.Sorted(maps.Keys(s.kinds.Layers)) {
		layers[kind] = reflect.ValueOf(s.kinds.Layers[kind]()).Elem()
		defs = append(defs, member{"layer-" + kind, s.structure(layers[kind])})
	}
	for _, kind := range slices.Sorted(maps.Keys(s.kinds.Workloads)) {
		workloads[kind] = reflect.ValueOf(s.kinds.Workloads[kind]()).Elem()
		defs = append(defs, member{"workload-" + kind, s.structure(workloads[kind])})
	}
	name, _ := reflect.TypeFor[WorkloadItem]().FieldByName("Name")
	label, _ := reflect.TypeFor[WorkloadItem]().FieldByName("Label")
	text := func(f reflect.StructField) object {
		return object{{"type", "string"}, {"pattern", f.Tag.Get("pattern")}, {"description", f.Tag.Get("doc")}}
	}
	return append(defs,
		member{"layer", choice("layer", layers, nil)},
		member{"workload", choice("workload", workloads, object{
			{"name", text(name)}, {"label", text(label)},
		})})
}

// choice returns the schema of an item that names one kind: the name alone if the kind needs no parameters, or
// a key with its parameters.
func choice(what string, kinds map[string]reflect.Value, beside object) object {
	bare, one, properties := []string{}, []object{}, beside
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if !mustBeGiven(kinds[kind].Type()) {
			bare = append(bare, kind)
		}
		one = append(one, object{{"required", []string{kind}}})
		properties = append(properties, member{kind, object{{"$ref", "#/$defs/" + what + "-" + kind}}})
	}
	if len(one) == 0 {
		return object{{"not", object{}}}
	}
	forms := []object{{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}, {"oneOf", one}}}
	if len(bare) > 0 {
		forms = append(forms, object{{"enum", bare}})
	}
	return object{{"anyOf", forms}}
}

// structure returns the schema of a struct with its defaults. The value null means an empty struct, as in
// "wireguard:".
func (s schema) structure(defaults reflect.Value) object {
	fields := strictyaml.Fields(defaults.Type())
	properties, required := object{}, []string{}
	for _, f := range fields {
		properties = append(properties, member{f.Name, s.property(f, defaults.FieldByIndex(f.Index))})
		if f.Also != "" {
			other := f
			other.Doc = "the same as " + f.Name
			properties = append(properties, member{f.Also, s.property(other, reflect.Zero(f.Type))})
		}
		if f.Required {
			required = append(required, f.Name)
		}
	}
	if len(required) > 0 {
		return object{{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}
	}
	return object{{"type", []string{"object", "null"}}, {"properties", properties}, {"additionalProperties", false}}
}

// property returns the schema of a field, with its description and default.
func (s schema) property(f strictyaml.Field, standard reflect.Value) object {
	out := s.value(f, f.Type, standard)
	description := f.Doc
	if says := strictyaml.Describe(elementOf(f.Type)); strictyaml.ReadsText(elementOf(f.Type)) {
		description += " (" + says + ")"
	}
	if f.Form != "" {
		description += " (" + f.Form + ")"
	}
	if description != "" {
		out = append(object{{"description", description}}, out...)
	}
	if structural(f.Type) {
		return out
	}
	switch {
	case f.None && standard.IsNil():
		out = append(out, member{"default", "none"})
	case !standard.IsZero() || f.None:
		out = append(out, member{"default", strictyaml.Plain(standard.Interface())})
	}
	return out
}

// elementOf returns the type of a scalar behind pointers and factors.
func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || factor.Is(t) {
		t = t.Elem()
	}
	return t
}

// structural reports whether a type's own schema contains its defaults.
func structural(t reflect.Type) bool {
	t = elementOf(t)
	return t.Kind() == reflect.Struct && !strictyaml.ReadsText(t)
}

// value returns the schema of a type, within the limits of a field.
func (s schema) value(f strictyaml.Field, t reflect.Type, standard reflect.Value) object {
	switch t {
	case reflect.TypeFor[Testbed]():
		return s.testbed(reflect.ValueOf(Testbed{Local: defaultLocal(), Kubernetes: NewKubernetes()}))
	case reflect.TypeFor[LayerItem]():
		return object{{"$ref", "#/$defs/layer"}}
	case reflect.TypeFor[WorkloadItem]():
		return object{{"$ref", "#/$defs/workload"}}
	case reflect.TypeFor[Factor](): // a layer in the form of an arm's layer, or a name with layers
		return object{{"anyOf", []object{{{"$ref", "#/$defs/layer"}}, s.structure(reflect.ValueOf(Factor{}))}}}
	case reflect.TypeFor[strictyaml.Document]():
		return object{{"type", []string{"string", "object", "array"}}}
	case reflect.TypeFor[quantity.Limit](): // a count is a number in YAML
		return object{{"type", []string{"string", "number"}}, {"pattern", patternOf(t)}, {"minimum", 0}}
	}
	switch {
	case t.Kind() == reflect.Int && patternOf(t) != "": // a word, or a number in YAML
		return object{{"type", []string{"string", "integer"}}, {"pattern", patternOf(t)}, {"minimum", 1}}
	case t.Kind() == reflect.Pointer:
		inner := s.value(f, t.Elem(), pointed(standard, t))
		if f.None {
			return object{{"anyOf", []object{inner, {{"const", "none"}}}}}
		}
		return inner
	case factor.Is(t):
		one := s.value(f, t.Elem(), reflect.Zero(t.Elem()))
		return object{{"anyOf", []object{one, {{"type", "array"}, {"items", one}, {"minItems", 1}, {"uniqueItems", true}}}}}
	case strictyaml.ReadsText(t):
		if pattern := patternOf(t); pattern != "" {
			return object{{"type", "string"}, {"pattern", pattern}}
		}
		return object{{"type", []string{"string", "number", "boolean"}}}
	case t.Kind() == reflect.Struct:
		fields := strictyaml.Fields(t)
		if i := strictyaml.Alone(fields); i >= 0 {
			return object{{"anyOf", []object{s.value(fields[i], fields[i].Type, reflect.Zero(fields[i].Type)), s.structure(standard)}}}
		}
		return s.structure(standard)
	case t.Kind() == reflect.Slice:
		return object{{"type", "array"}, {"items", s.value(f, t.Elem(), reflect.Zero(t.Elem()))}}
	case t.Kind() == reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", s.value(f, t.Elem(), reflect.Zero(t.Elem()))}}
	}
	return scalar(f, t)
}

// pointed returns the value behind a pointer, or the zero value.
func pointed(v reflect.Value, t reflect.Type) reflect.Value {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		return v.Elem()
	}
	return reflect.Zero(t.Elem())
}

// testbed returns the schema of the choice of a testbed.
func (s schema) testbed(standard reflect.Value) object {
	properties, names, one := object{}, []string{}, []object{}
	for _, f := range strictyaml.Fields(standard.Type()) {
		properties = append(properties, member{f.Name, s.property(f, standard.FieldByIndex(f.Index))})
		names = append(names, f.Name)
		one = append(one, object{{"required", []string{f.Name}}})
	}
	return object{{"anyOf", []object{
		{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}, {"oneOf", one}},
		{{"enum", names}},
	}}}
}

// scalar returns the schema of a bool, a number or a text. A text may be written without quotes, so that YAML
// reads it as a number or a bool.
func scalar(f strictyaml.Field, t reflect.Type) object {
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		return object{{"type", "boolean"}}
	case kind == reflect.String:
		values := f.Enum
		if values == nil {
			values = strictyaml.EnumOf(t)
		}
		if values != nil {
			return object{{"enum", values}}
		}
		if f.Pattern != "" {
			return object{{"type", "string"}, {"pattern", f.Pattern}}
		}
		return object{{"type", []string{"string", "number", "boolean"}}}
	case strings.HasPrefix(kind.String(), "float"):
		return append(object{{"type", "number"}}, limits(f.Bounds)...)
	case strings.HasPrefix(kind.String(), "uint") && f.Bounds.Min == "":
		f.Bounds.Min = "0"
	}
	return append(object{{"type", "integer"}}, limits(f.Bounds)...)
}

// mustBeGiven reports whether a struct type has required fields, so that it cannot be empty.
func mustBeGiven(t reflect.Type) bool {
	return slices.ContainsFunc(strictyaml.Fields(t), func(f strictyaml.Field) bool { return f.Required })
}

// patternOf returns the regular expression of a type that has one, or "".
func patternOf(t reflect.Type) string {
	if p, ok := reflect.New(t).Interface().(interface{ Pattern() string }); ok {
		return p.Pattern()
	}
	return ""
}

// limits returns the bounds of a number.
func limits(b strictyaml.Bounds) object {
	var out object
	for _, m := range []member{
		{"minimum", b.Min}, {"maximum", b.Max}, {"exclusiveMinimum", b.Above}, {"exclusiveMaximum", b.Below},
	} {
		if m.value != "" {
			out = append(out, member{m.name, json.Number(m.value.(string))})
		}
	}
	return out
}
