package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxDepth is the maximum depth of nested JSON. Tare's own documents have about ten levels; printing a
// document with ten thousand would exhaust memory.
const maxDepth = 64

// object is an open object or list during a scan.
type object struct {
	list  bool
	names [][]byte        // the first names
	many  map[string]bool // all names of an object with more than smallObject names
}

// smallObject is the maximum number of names that are compared one by one, without a map.
const smallObject = 32

// strict returns an error if an object has two members of one name, or if the document is nested too
// deeply. Repeated names are valid JSON, but parsers disagree: they take the first member, the last, or
// a mixture. Names of the outermost object are compared without case, as Go does.
func strict(document []byte) error {
	var path []object
	name := false // whether the next string is the name of a member
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '{', '[':
			list := document[i] == '['
			if len(path) == maxDepth {
				return fmt.Errorf("more than %d levels deep", maxDepth)
			}
			path, name = append(path, object{list: list}), !list
		case '}', ']':
			path, name = path[:len(path)-1], false
		case ',':
			name = !path[len(path)-1].list
		case '"':
			end := i + 1
			for document[end] != '"' {
				if document[end] == '\\' {
					end++
				}
				end++
			}
			if name {
				if err := path[len(path)-1].add(document[i:end+1], len(path) == 1); err != nil {
					return err
				}
			}
			i, name = end, false
		}
	}
	return nil
}

// add adds a name, given in its quotes, to the object. A repeated name is an error.
func (o *object) add(quoted []byte, fold bool) error {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var text string
		if err := json.Unmarshal(quoted, &text); err != nil {
			return err
		}
		name = []byte(text)
	}
	if o.has(name, fold) {
		return fmt.Errorf("the member %.60q is there twice", name)
	}
	return nil
}

// has reports whether the object has this name, and adds the name.
func (o *object) has(name []byte, fold bool) bool {
	if len(o.names) < smallObject {
		o.names = append(o.names, name)
		return slices.ContainsFunc(o.names[:len(o.names)-1], func(n []byte) bool {
			return bytes.Equal(n, name) || fold && bytes.EqualFold(n, name)
		})
	}
	form := func(name []byte) string {
		if fold {
			name = bytes.ToLower(bytes.ToUpper(name)) // some letters have more than two cases
		}
		return string(name)
	}
	if o.many == nil {
		o.many = map[string]bool{}
		for _, n := range o.names {
			o.many[form(n)] = true
		}
	}
	key := form(name)
	known := o.many[key]
	o.many[key] = true
	return known
}
