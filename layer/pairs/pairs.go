// Package pairs compares labels, annotations and the like with what they are to be, for
// the proofs of layers.
package pairs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// With are the pairs of a map, which may be nil, and others; it is nil if there are none.
func With(m, add map[string]string) map[string]string {
	out := maps.Clone(m)
	if out == nil && len(add) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, add)
	return out
}
