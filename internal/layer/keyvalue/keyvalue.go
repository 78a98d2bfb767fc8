// Package keyvalue compares labels, annotations and similar maps with wanted values, for the proofs of layers.
package keyvalue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/experiment"
)

// Among counts the keys of want that has also contains, with equal values.
func Among(want, has map[string]string) int {
	n := 0
	for k, v := range want {
		if got, ok := has[k]; ok && got == v {
			n++
		}
	}
	return n
}

// Written describes, for each key of the first map, its value in the second. A different value may be a secret: its
// text is "KEY with another value".
func Written(want, has map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		switch v, ok := has[k]; {
		case !ok:
			out = append(out, k+" absent")
		case v != want[k]:
			out = append(out, k+" with another value")
		default:
			out = append(out, fmt.Sprintf("%s=%q", k, v))
		}
	}
	return strings.Join(out, ", ")
}

// Reserved reports whether Tare uses a key to identify its own objects.
func Reserved(key string) bool {
	return strings.HasPrefix(key, "tare/") || key == "app.kubernetes.io/managed-by"
}

// Validate adds to errs every problem of a field's keys and, with labels = true, of its values as Kubernetes labels.
// taken returns why users may not set a key; "" if they may.
func Validate(errs *experiment.FieldErrors, field string, given map[string]string, labels bool, taken func(key string) string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		at := field + "." + key
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			errs.Add(at, "%q is not a valid key: %s", key, wrong[0])
		}
		if wrong := validation.IsValidLabelValue(given[key]); labels && len(wrong) > 0 {
			errs.Add(at, "%q is not a valid value: %s", given[key], wrong[0])
		}
		if why := taken(key); why != "" {
			errs.Add(at, "%s", why)
		}
	}
}

// With returns a map with the entries of both maps. If a key is in both, its value comes from the second map. Either
// map may be nil.
func With(m, add map[string]string) map[string]string {
	out := maps.Clone(m)
	if out == nil && len(add) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, add)
	return out
}
