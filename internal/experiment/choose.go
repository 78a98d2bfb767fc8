package experiment

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment/strictyaml"
)

// choose decodes a choice between kinds: a kind's name alone, or a map from the name to its parameters. The
// map may only have the further keys named in beside. choose returns the kind and the node of the kind's
// parameters. If the file gives no parameters, this node is a Null node.
func (l *loader) choose(n *strictyaml.Node, path, what string, kinds, beside []string) (kind string, params *strictyaml.Node, ok bool) {
	all := "known " + what + "s"
	if n.Form == strictyaml.Text {
		if !slices.Contains(kinds, n.Value) {
			l.file.Report(n, path, fmt.Sprintf("unknown %s %q", what, n.Value), l.unknown(what, n.Value, kinds))
			return "", nil, false
		}
		return n.Value, &strictyaml.Node{Form: strictyaml.Null, Line: n.Line, Column: n.Column}, true
	}
	if n.Form != strictyaml.Map {
		l.file.Report(n, path, fmt.Sprintf("expected a %s", what),
			fmt.Sprintf("write the kind of %s as a key: %s", what, strings.Join(kinds, ", ")))
		return "", nil, false
	}
	var chosen *strictyaml.Entry
	var strange []strictyaml.Entry
	for i, e := range n.Entries {
		switch {
		case slices.Contains(beside, e.Key.Value):
		case chosen == nil && slices.Contains(kinds, e.Key.Value):
			chosen = &n.Entries[i]
		default:
			strange = append(strange, e)
		}
	}
	for i, e := range strange {
		if chosen != nil || i == 0 {
			l.strange(e, chosen, path, what, kinds)
		}
	}
	if chosen == nil {
		if len(strange) == 0 {
			l.file.Report(n, path, fmt.Sprintf("the %s has no kind", what), strictyaml.Suggest("", all, kinds))
		}
		return "", nil, false
	}
	return chosen.Key.Value, chosen.Value, true
}

// strange reports a key that is neither a known kind nor listed in beside.
func (l *loader) strange(e strictyaml.Entry, chosen *strictyaml.Entry, path, what string, kinds []string) {
	key := e.Key.Value
	at := strictyaml.Join(path, key)
	switch {
	case chosen == nil:
		l.file.Report(e.Key, at, fmt.Sprintf("unknown %s %q", what, key), l.unknown(what, key, kinds))
	case chosen.Value.Form == strictyaml.Null && !slices.Contains(kinds, key):
		l.file.Report(e.Key, at, fmt.Sprintf("unexpected %q beside the %s %s", key, what, chosen.Key.Value),
			fmt.Sprintf("a parameter of %s is indented further than %s itself", chosen.Key.Value, chosen.Key.Value))
	case slices.Contains(kinds, key):
		l.file.Report(e.Key, at, fmt.Sprintf("a second %s, %s, in the same item", what, key), secondHint(what))
	default:
		l.file.Report(e.Key, at, fmt.Sprintf("unexpected %q beside the %s %s", key, what, chosen.Key.Value), "")
	}
}

// unknown returns the hint for a word that is no kind.
func (l *loader) unknown(what, word string, kinds []string) string {
	if l.kinds.Elsewhere != nil && strictyaml.Nearest(word, kinds) == "" {
		if where := l.kinds.Elsewhere(what, word); where != "" {
			return where + "; tare list " + what + "s names all"
		}
	}
	return strictyaml.Suggest(word, "known "+what+"s", kinds)
}

func secondHint(what string) string {
	if what == "testbed" {
		return "an experiment has one testbed"
	}
	return "begin a new item with -"
}
