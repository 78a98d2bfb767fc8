package inventory

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/safetext"
)

// readRecord reads the record of any run: who holds it, when that was last true, and
// what it lists.
func readRecord(c *corev1.ConfigMap) (h holder, renewed time.Time, items []Item, err error) {
	if v := c.Labels[recordLabel]; v != recordVersion {
		return h, renewed, nil, fmt.Errorf("a record of version %q, which this Tare does not know", safetext.Head(v, 64))
	}
	h, err = readHolder(c.Data[keyHolder])
	items, badItems := readItems(c.Data[keyInventory])
	renewed, badTime := time.Parse(time.RFC3339, c.Data[keyRenewed])
	if len(c.ManagedFields) > 0 {
		renewed = time.Time{} // when the API server saw the last change is better: all share its clock
	}
	for _, f := range c.ManagedFields {
		if f.Time != nil && f.Time.After(renewed) {
			renewed = f.Time.Time
		}
	}
	return h, renewed, items, errors.Join(err, badItems, badTime)
}
