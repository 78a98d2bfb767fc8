package strictyaml

import (
	"strconv"
	"strings"
)

// form is the form of a node.
type form int

// The forms of nodes.
const (
	Null form = iota // a key without a value, or the word null
	Text             // quoted text, or plain text that is neither a number nor a bool
	Number
	Bool
	List
	Map
)

// Node is a value of the file with its position: a scalar, a list or a map. Aliases and merge keys have been
// followed.
type Node struct {
	Form         form
	Line, Column int     // the position of its first character, or of the key for Null
	Value        string  // the text of a scalar, without quotes
	Quoted       bool    // set if the text is in quotes or a block
	Items        []*Node // the items of a list
	Entries      []Entry // the entries of a map, in the order of the file; keys may repeat
	Key          *Node   // the key whose value the node is, or nil
}

// Entry is a key of a map with its value.
type Entry struct {
	Key   *Node // a scalar
	Value *Node
}

// Scalar reports whether the node is a single value.
func (n *Node) Scalar() bool { return n.Form == Text || n.Form == Number || n.Form == Bool }

// Get returns the value of a key of a map, or nil.
func (n *Node) Get(key string) *Node {
	for _, e := range n.Entries {
		if e.Key.Value == key {
			return e.Value
		}
	}
	return nil
}

// found describes the node for messages.
func (n *Node) found() string {
	switch n.Form {
	case Null:
		return "empty"
	case List:
		return "a list"
	case Map:
		return "a map"
	case Number, Bool:
		return shorten(n.Value)
	}
	return strconv.Quote(shorten(n.Value))
}

// find follows a path ("arms[1].name") as far as the file has it. exact reports whether it reached the end.
func (n *Node) find(path string) (at *Node, exact bool) {
	for path != "" {
		step, rest := n.cutStep(path)
		var next *Node
		switch {
		case n.Form == List && step[0] == '[':
			if i, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && i >= 0 && i < len(n.Items) {
				next = n.Items[i]
			}
		case n.Form == Map:
			next = n.Get(step)
		}
		if next == nil {
			return n, false
		}
		n, path = next, rest
	}
	return n, true
}

// cutStep splits the first step off a path: "a.b[1]" gives "a" and "b[1]", "b[1].c" gives "b" and "[1].c",
// "[1].c" gives "[1]" and "c". A key of the map is one step even if it contains dots or brackets.
func (n *Node) cutStep(path string) (step, rest string) {
	end := strings.IndexAny(path[1:], ".[") + 1
	if end == 0 {
		end = len(path)
	}
	for _, e := range n.Entries {
		if behind, ok := strings.CutPrefix(path, e.Key.Value); ok && (behind == "" || strings.IndexByte(".[", behind[0]) >= 0) {
			end = max(end, len(e.Key.Value))
		}
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

// shorten shortens a value for a message.
func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
