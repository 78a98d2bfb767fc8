package inventory

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/safetext"
)

// Item is one object that a run has made or is about to make. Without a name it is
// all objects of a kind in a namespace that carry the owner's label.
type Item struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Namespace is a namespace as an item.
func Namespace(name string) Item { return Item{Version: "v1", Resource: "namespaces", Name: name} }

// Core is an object of the core group as an item.
func Core(resource, namespace, name string) Item {
	return Item{Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

func (i Item) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: i.Group, Version: i.Version, Resource: i.Resource}
}

// String names the object as kubectl takes it.
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

// same says whether both are the same object, whatever version they are asked for in.
func (i Item) same(o Item) bool {
	return i.Group == o.Group && i.Resource == o.Resource && i.Namespace == o.Namespace && i.Name == o.Name
}

// maxItems is how many items a record may list.
const maxItems = 1000

// maxPathName is the longest name of an object that is taken.
const maxPathName = 253

// readItems reads the items of a record. The record is read with the rights of
// whoever cleans, and may have been written by anyone who may write ConfigMaps. So
// an item must be able to name an object and nothing else, such as a path through a
// proxy.
func readItems(text string) (items []Item, err error) {
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, fmt.Errorf("its inventory: %w", err)
	}
	if len(items) > maxItems {
		return nil, fmt.Errorf("its inventory lists %d things, more than the %d that a run does", len(items), maxItems)
	}
	for _, i := range items {
		if why := i.invalid(); why != "" {
			return nil, fmt.Errorf("its inventory lists %q, which is no object: %s", safetext.Head(i.String(), 200), safetext.Head(why, 200))
		}
	}
	return items, nil
}

// invalid says why an item cannot be an object, or the objects of a kind in a
// namespace; "" if it can.
func (i Item) invalid() string {
	first := func(what string, reasons []string) string {
		if len(reasons) == 0 {
			return ""
		}
		return what + ": " + reasons[0]
	}
	if i.Group != "" {
		if why := first("group", validation.IsDNS1123Subdomain(i.Group)); why != "" {
			return why
		}
	}
	if why := first("version", validation.IsDNS1123Label(i.Version)); why != "" {
		return why
	}
	if why := first("resource", validation.IsDNS1123Label(i.Resource)); why != "" {
		return why
	}
	if i.Namespace != "" {
		if why := first("namespace", validation.IsDNS1123Label(i.Namespace)); why != "" {
			return why
		}
	}
	switch {
	case i.Name == "" && i.Namespace == "":
		return "neither a name nor a namespace"
	case len(i.Name) > maxPathName:
		return "name: longer than a name can be"
	}
	return first("name", path.IsValidPathSegmentName(i.Name))
}
