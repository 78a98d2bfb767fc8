package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// deepest is how deep a document of a run may be nested. Those that Tare writes have some
// ten levels; printing one with ten thousand would take all memory.
const deepest = 64

// object is where a scan is within an object or a list.
type object struct {
	list  bool
	names [][]byte        // the first of them
	many  map[string]bool // all, where there are many
}

// few names are compared one by one.
const few = 32

// strict refuses what valid JSON may hold and no program agrees on: an object with two
// members of one name, of which readers take the first, the last, or a mixture. Names of
// the outermost object are compared without case, as Go reads them.
func strict(document []byte) error {
	var path []object
	name := false // the next string is a member's name
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '{', '[':
			list := document[i] == '['
			if len(path) == deepest {
				return fmt.Errorf("more than %d levels deep", deepest)
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

// add takes the next name of an object, in its quotes.
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

// has says whether the object has a name already, and takes it up.
func (o *object) has(name []byte, fold bool) bool {
	if len(o.names) < few {
		o.names = append(o.names, name)
		return slices.ContainsFunc(o.names[:len(o.names)-1], func(n []byte) bool {
			return bytes.Equal(n, name) || fold && bytes.EqualFold(n, name)
		})
	}
	form := func(name []byte) string {
		if fold {
			name = bytes.ToLower(bytes.ToUpper(name)) // some letters have more than two forms
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
