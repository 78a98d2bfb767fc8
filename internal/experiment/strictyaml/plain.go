package strictyaml

import (
	"encoding"
	"reflect"

	"tare/internal/experiment/factor"
)

// Plain converts a value into maps, lists and scalars under the names of its yaml tags, for encoding/json. The
// result is the complete form of a file that Decode would read. A factor with one level becomes that level's
// value. Structs lack nil pointers, empty lists, empty maps and empty text.
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

// blank reports whether a value is empty. Numbers and bools never are.
func blank(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	}
	return false
}
