package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"tare/examples"
)

// node is a part of the JSON Schema of the experiment file.
type node struct {
	Ref         string           `json:"$ref"`
	Description string           `json:"description"`
	Properties  map[string]*node `json:"properties"`
	Defs        map[string]*node `json:"$defs"`
	AnyOf       []*node          `json:"anyOf"`
	OneOf       []*node          `json:"oneOf"`
	Items       json.RawMessage  `json:"items"`
	Additional  json.RawMessage  `json:"additionalProperties"`
}

// fields are fields of the experiment file. A field that several kinds share, such as around, counts once: its
// key is its name and its description. The value is the place of one such field.
type fields map[string]string

// examined collects the fields of a part of the schema, or with a value those fields that the value has.
func (f fields) examined(root, n *node, path string, value any, used bool) {
	if def, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		if used {
			f.examined(root, root.Defs[def], def, value, used)
		}
		return
	}
	for _, part := range slices.Concat(n.AnyOf, n.OneOf) {
		f.examined(root, part, path, value, used)
	}
	switch v := value.(type) {
	case string: // a kind, by its name
		value = map[string]any{v: nil}
	case uint64: // a number of rounds
		value = map[string]any{"fixed": nil}
	}
	given, _ := value.(map[string]any)
	for name, property := range n.Properties {
		_, found := given[name]
		if strings.HasPrefix(property.Description, "the same as ") {
			continue // another name of a field
		}
		if found || !used {
			f[name+": "+property.Description] = path + "." + name
			f.examined(root, property, path+"."+name, given[name], used)
		}
	}
	for _, raw := range []json.RawMessage{n.Items, n.Additional} {
		var inner node
		if json.Unmarshal(raw, &inner) != nil {
			continue // none, or a bool
		}
		if !used {
			f.examined(root, &inner, path, nil, used)
		}
		list, _ := value.([]any)
		for _, item := range slices.Concat(list, slices.Collect(maps.Values(given))) {
			f.examined(root, &inner, path, item, used)
		}
	}
}

// TestEveryFieldHasAnExample checks that each field of the experiment file, of every layer, workload and testbed,
// occurs in a shipped example.
func TestEveryFieldHasAnExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/experiment.schema.json") // another test compares this file with the types
	if err != nil {
		t.Fatal(err)
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	all, used := fields{}, fields{}
	all.examined(&root, &root, "", nil, false)
	for name, def := range root.Defs {
		all.examined(&root, def, name, nil, false)
	}
	for _, name := range exampleNames(t) {
		text, err := examples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := yaml.Unmarshal(text, &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		used.examined(&root, &root, "", value, true)
	}
	var missing []string
	for key, path := range all {
		if used[key] == "" {
			missing = append(missing, fmt.Sprintf("%s (%s)", strings.TrimPrefix(path, "."), key))
		}
	}
	slices.Sort(missing)
	for _, field := range missing {
		t.Errorf("no example has the field %s", field)
	}
}
