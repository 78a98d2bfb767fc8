// Package pairs compares labels, annotations and the like with what they are to be, for
// the proofs of layers.
package pairs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"tare/experiment"
)

// Among counts the pairs of want that has holds.
func Among(want, has map[string]string) int {
	n := 0
	for k, v := range want {
		if got, ok := has[k]; ok && got == v {
			n++
		}
	}
	return n
}

// Written shows the keys of want with their values in has. A value that has nothing to
// do with the layer is not shown: it may be a secret.
func Written(want, has map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		switch v, ok := has[k]; {
		case !ok:
			out = append(out, k+" absent")
		case v != want[k]:
			out = append(out, k+" of another value")
		default:
			out = append(out, fmt.Sprintf("%s=%q", k, v))
		}
	}
	return strings.Join(out, ", ")
}

// Reserved says whether a key is one by which Tare knows its own things again.
func Reserved(key string) bool {
	return strings.HasPrefix(key, "tare/") || key == "app.kubernetes.io/managed-by"
}

// Validate reports every problem of the pairs of a field. Labels have values of a certain form; taken says of a key who
// needs it, so that it is not to be given, or "".
func Validate(errs *experiment.FieldErrors, field string, given map[string]string, labels bool, taken func(key string) string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		at := field + "." + key
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			errs.Add(at, "%q is no key: %s", key, wrong[0])
		}
		if wrong := validation.IsValidLabelValue(given[key]); labels && len(wrong) > 0 {
			errs.Add(at, "%q is no value: %s", given[key], wrong[0])
		}
		if why := taken(key); why != "" {
			errs.Add(at, "%s", why)
		}
	}
}

// With are the pairs of a map, which may be nil, and others; it is nil if there are none.
func With(m, add map[string]string) map[string]string {
	out := maps.Clone(m)
	if out == nil && len(add) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, add)
	return out
}
