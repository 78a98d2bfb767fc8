package strictyaml

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

type form int

const (
	Null form = iota // a key without a value, or the word null
	Text             // quoted text, or plain text that is neither a number nor a bool
	Number
	Bool
	List
	Map
)

// Node is a value of the file with its position: a scalar, a list or a map. Aliases and merge keys have been followed.
type Node struct {
	Form         form
	Line, Column int    // the position of the first character; for Null, of the key
	Value        string // the text of a scalar, without quotes
	Quoted       bool   // set if the text is in quotes or a block
	Items        []*Node
	Entries      []Entry // the entries of a map, in the order of the file; keys may repeat
	Key          *Node   // the key in front of this value in its map, or nil
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

// find follows a path such as "arms[1].name". If the file lacks a part of the path, exact is false, and the result is
// the node before this part.
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

// cutStep splits the first step off a path: "a.b[1]" becomes "a" and "b[1]". A key of the map n is one step, even with
// dots or brackets in it.
func (n *Node) cutStep(path string) (step, rest string) {
	end := strings.IndexAny(path[1:], ".[") + 1
	end = cmp.Or(end, len(path))
	for _, e := range n.Entries {
		if behind, ok := strings.CutPrefix(path, e.Key.Value); ok && (behind == "" || strings.IndexByte(".[", behind[0]) >= 0) {
			end = max(end, len(e.Key.Value))
		}
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// tree converts the parser's tree to Nodes. It follows aliases and merge keys, and limits the number of nodes.
type tree struct {
	file    *File
	anchors map[string]*Node // node of each anchor by name; nil: the anchor's definition has not ended yet
	count   int
	refused bool // set if a problem makes the tree unusable
}

func (t *tree) refuse(at *Node, message string) {
	if !t.refused {
		t.file.Report(at, "", message, "")
	}
	t.refused = true
}

// node converts one value. It never returns nil.
func (t *tree) node(n ast.Node, depth int) *Node {
	out := &Node{Line: 1, Column: 1}
	if n != nil {
		if tk := n.GetToken(); tk != nil {
			out.Line, out.Column, out.Value = tk.Position.Line, tk.Position.Column, tk.Value
		}
	}
	t.count++
	if t.count > maxNodes {
		t.refuse(out, fmt.Sprintf("the file has more than %d values", maxNodes))
	}
	if depth > maxDepth {
		t.refuse(out, fmt.Sprintf("values nest deeper than %d", maxDepth))
	}
	if t.refused {
		return out
	}
	switch n := n.(type) {
	case *ast.NullNode, nil:
		out.Form, out.Value = Null, ""
	case *ast.BoolNode:
		out.Form = Bool
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.Form = Number
	case *ast.MergeKeyNode:
		out.Form = Text
	case *ast.StringNode:
		out.Form, out.Value = Text, n.Value
		out.Quoted = n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		if strings.ContainsRune(n.Value, 0) {
			t.refuse(out, "the text has a zero byte, which no argument, name or variable can hold")
		}
	case *ast.LiteralNode:
		out.Form, out.Value, out.Quoted = Text, n.Value.Value, true
	case *ast.SequenceNode:
		out.Form = List
		for _, item := range n.Values {
			out.Items = append(out.Items, t.node(item, depth+1))
		}
	case *ast.MappingNode:
		t.mapping(out, n.Values, n.IsFlowStyle, depth)
	case *ast.MappingValueNode:
		t.mapping(out, []*ast.MappingValueNode{n}, false, depth)
	case *ast.AnchorNode:
		return t.anchor(n, depth)
	case *ast.AliasNode:
		return t.alias(n, out)
	default:
		t.refuse(out, "this kind of YAML is not used here")
	}
	return out
}

// mapping converts a map. It takes the keys of merges (<<) last, since merges add only keys that the map lacks.
func (t *tree) mapping(out *Node, values []*ast.MappingValueNode, flow bool, depth int) {
	out.Form, out.Value = Map, ""
	var merges []*Node
	for i, v := range values {
		key := t.node(v.Key, depth+1)
		if i == 0 && !flow {
			out.Line, out.Column = key.Line, key.Column
		}
		value := t.node(v.Value, depth+1)
		if t.refused {
			return
		}
		value.Key = key
		if value.Form == Null {
			value.Line, value.Column = key.Line, key.Column
		}
		if v.Key.IsMergeKey() {
			value.Line, value.Column = key.Line, key.Column
			merges = append(merges, value)
			continue
		}
		if key.Form == Null {
			key.Form, key.Value = Text, "null"
		}
		if !key.Scalar() {
			t.refuse(key, "a key must be plain text")
			return
		}
		out.Entries = append(out.Entries, Entry{Key: key, Value: value})
	}
	for _, m := range merges {
		t.merge(out, m)
	}
}

func (t *tree) merge(out, from *Node) {
	switch from.Form {
	case Map:
		for _, e := range from.Entries {
			if out.Get(e.Key.Value) == nil {
				out.Entries = append(out.Entries, Entry{Key: e.Key, Value: e.Value})
			}
			if t.count++; t.count > maxNodes {
				t.refuse(out, fmt.Sprintf("the file has more than %d values", maxNodes))
				return
			}
		}
	case List:
		for _, item := range from.Items {
			if item.Form != Map {
				t.refuse(from, "<< takes a map, or a list of maps")
				return
			}
			t.merge(out, item)
		}
	default:
		t.refuse(from, "<< takes a map, or a list of maps")
	}
}

func (t *tree) anchor(n *ast.AnchorNode, depth int) *Node {
	name := n.Name.GetToken().Value
	t.anchors[name] = nil
	value := t.node(n.Value, depth+1)
	t.anchors[name] = value
	return value
}

// alias returns a copy of the value that an alias, such as *name, stands for. The copy's nodes are counted again.
func (t *tree) alias(n *ast.AliasNode, at *Node) *Node {
	name := n.Value.GetToken().Value
	value, known := t.anchors[name]
	if !known {
		t.refuse(at, fmt.Sprintf("no &%s is defined above", shorten(name)))
		return at
	}
	if value == nil {
		t.refuse(at, fmt.Sprintf("*%s stands inside its own definition", shorten(name)))
		return at
	}
	t.count += value.size(maxNodes)
	copied := *value // a copy, since each alias belongs to its own key, and a Null has its key's position
	return &copied
}

// size counts the node and all nodes below it, up to about the limit.
func (n *Node) size(limit int) int {
	count := 1
	for _, item := range n.Items {
		if count <= limit {
			count += item.size(limit - count)
		}
	}
	for _, e := range n.Entries {
		if count <= limit {
			count += 1 + e.Value.size(limit-count)
		}
	}
	return count
}
