package sidecar

import (
	"slices"
	"strings"
	"unique"
)

// names is a sorted set of resource names that a sidecar asks for. Sidecars with equal sets share one copy in memory,
// and equal sets compare as equal. The zero value is empty.
type names struct {
	joined unique.Handle[string]
	some   bool
}

// separator separates names. No name contains it.
const separator = "\x00"

// newNames makes names from a list, and may reorder the list.
func newNames(list []string) names {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return names{}
	}
	return names{unique.Make(strings.Join(list, separator)), true}
}

// none reports whether the set is empty.
func (n names) none() bool { return !n.some }

// list returns the names in order.
func (n names) list() []string {
	if n.none() {
		return nil
	}
	return strings.Split(n.joined.Value(), separator)
}

// difference returns the elements of a that are not in b. Both lists are sorted.
func difference(a, b []string) []string {
	var more []string
	for _, name := range a {
		if _, both := slices.BinarySearch(b, name); !both {
			more = append(more, name)
		}
	}
	return more
}

// share returns the text as a string; sidecars with the same text share one copy in memory.
func share(text []byte) string { return unique.Make(string(text)).Value() }
