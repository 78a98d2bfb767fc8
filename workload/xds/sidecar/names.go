package sidecar

import (
	"slices"
	"strings"
	"unique"
)

// names are resources that a sidecar asks for, in order and each once. Sidecars that ask for the
// same ones hold them once together, and two are equal where they hold the same. The zero value
// holds none.
type names struct {
	joined unique.Handle[string]
	some   bool
}

// between stands between names, and in none.
const between = "\x00"

// naming makes names of a list, which it may change.
func naming(list []string) names {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return names{}
	}
	return names{unique.Make(strings.Join(list, between)), true}
}

// none says that there are none.
func (n names) none() bool { return !n.some }

// list are the names.
func (n names) list() []string {
	if n.none() {
		return nil
	}
	return strings.Split(n.joined.Value(), between)
}

// difference is what the first of two lists in order has more.
func difference(a, b []string) []string {
	var more []string
	for _, name := range a {
		if _, both := slices.BinarySearch(b, name); !both {
			more = append(more, name)
		}
	}
	return more
}

// share gives a text that sidecars hold once together.
func share(text []byte) string { return unique.Make(string(text)).Value() }
