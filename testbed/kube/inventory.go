package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A record is read with the rights of whoever cleans, and may have been written by
// anyone who may write ConfigMaps: it names objects, and must not be able to name
// anything else, such as a path through a proxy.

// maxItems is how many things a record may list.
const maxItems = 1000

// maxPathName is the longest name of an object that is taken.
const maxPathName = 253

// readRecord reads the record of any run.
func readRecord(c *corev1.ConfigMap) (h holder, renewed time.Time, items []item, err error) {
	if v := c.Labels[recordLabel]; v != recordVersion {
		return h, renewed, nil, fmt.Errorf("a record of version %q, which this Tare does not know", printable(v, 64))
	}
	h, err = readHolder(c.Data[keyHolder])
	items, badItems := readItems(c.Data[keyInventory])
	renewed, badTime := time.Parse(time.RFC3339, c.Data[keyRenewed])
	if len(c.ManagedFields) > 0 {
		renewed = time.Time{} // the API server's clock, which all share, tells better
	}
	for _, f := range c.ManagedFields {
		if f.Time != nil && f.Time.After(renewed) {
			renewed = f.Time.Time // by the API server's clock
		}
	}
	return h, renewed, items, errors.Join(err, badItems, badTime)
}

// readItems reads an inventory.
func readItems(text string) (items []item, err error) {
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, fmt.Errorf("its inventory: %w", err)
	}
	if len(items) > maxItems {
		return nil, fmt.Errorf("its inventory lists %d things, more than the %d that a run does", len(items), maxItems)
	}
	for _, i := range items {
		if why := i.invalid(); why != "" {
			return nil, fmt.Errorf("its inventory lists %q, which is no object: %s", printable(i.String(), 200), printable(why, 200))
		}
	}
	return items, nil
}

// invalid says why an item cannot be an object, or the objects of a kind in a
// namespace; "" if it can.
func (i item) invalid() string {
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
