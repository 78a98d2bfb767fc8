package inventory

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/text/safetext"
)

// Item is one object that a run has made or is about to make. Without a name, it stands for all objects of a
// kind in a namespace with the owner's label.
type Item struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Namespace returns the item of a namespace.
func Namespace(name string) Item { return Item{Version: "v1", Resource: "namespaces", Name: name} }

// Core returns the item of an object in the core group.
func Core(resource, namespace, name string) Item {
	return Item{Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

func (i Item) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: i.Group, Version: i.Version, Resource: i.Resource}
}

// String returns the object's name in kubectl's form.
func (i Item) String() string {
	kind := i.Resource
	if i.Group != "" {
		kind += "." + i.Group
	}
	switch {
	case i.Name == "":
		return fmt.Sprintf("%s with Tare's labels in namespace %s", kind, i.Namespace)
	case i.Namespace != "":
		return fmt.Sprintf("%s/%s in namespace %s", kind, i.Name, i.Namespace)
	}
	return kind + "/" + i.Name
}

// same reports whether two items are the same object. Their versions need not be equal.
func (i Item) same(o Item) bool {
	return i.Group == o.Group && i.Resource == o.Resource && i.Namespace == o.Namespace && i.Name == o.Name
}

const maxItems = 1000

const maxPathName = 253

// readItems parses the items of a record and validates them. Everyone who may write ConfigMaps can write a
// record, and tare clean uses it with other rights. Each item must be an object, not a path through a proxy.
func readItems(text string) (items []Item, err error) {
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, fmt.Errorf("its inventory: %w", err)
	}
	if len(items) > maxItems {
		return nil, fmt.Errorf("its inventory lists %d things, more than the %d of a run", len(items), maxItems)
	}
	for _, i := range items {
		if why := i.invalid(); why != "" {
			return nil, fmt.Errorf("its inventory lists %q, which is no object: %s",
				safetext.Head(i.String(), 200), safetext.Head(why, 200))
		}
	}
	return items, nil
}

// invalid returns the reason why an item cannot exist on a cluster; "" if it can exist.
func (i Item) invalid() string {
	for _, part := range []struct {
		name, text string
		optional   bool
		problems   func(string) []string
	}{
		{"group", i.Group, true, validation.IsDNS1123Subdomain},
		{"version", i.Version, false, validation.IsDNS1123Label},
		{"resource", i.Resource, false, validation.IsDNS1123Label},
		{"namespace", i.Namespace, true, validation.IsDNS1123Label},
	} {
		if part.text == "" && part.optional {
			continue
		}
		if problems := part.problems(part.text); len(problems) > 0 {
			return part.name + ": " + problems[0]
		}
	}
	switch {
	case i.Name == "" && i.Namespace == "":
		return "neither a name nor a namespace"
	case len(i.Name) > maxPathName:
		return "name: longer than a name can be"
	}
	if problems := path.IsValidPathSegmentName(i.Name); len(problems) > 0 {
		return "name: " + problems[0]
	}
	return ""
}
