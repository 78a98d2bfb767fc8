package manifests

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"tare/internal/experiment/strictyaml"
)

// differences lists the applied fields that an object in the cluster lacks, or that have other values there.
// A field that the cluster or others have added is no difference. Another form of the same value is none
// either (1000m for 1, 1m0s for 60s).
func differences(path string, applied, live any) []string {
	switch want := applied.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok && (live != nil || !empty(applied)) {
			return []string{fmt.Sprintf("%s is %s", path, shown(live))}
		}
		var found []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			value, there := have[key]
			switch at := strings.TrimPrefix(path+"."+key, "."); {
			case there:
				found = append(found, differences(at, want[key], value)...)
			case !empty(want[key]):
				found = append(found, at+" is missing")
			}
		}
		return found
	case []any:
		have, _ := live.([]any)
		pairs := pair(want, have)
		if pairs == nil {
			return []string{fmt.Sprintf("%s has %d items instead of the %d that were applied", path, len(have), len(want))}
		}
		var found []string
		for i := range want {
			found = append(found, differences(item(path, want[i], i), want[i], have[pairs[i]])...)
		}
		return found
	}
	if same(applied, live) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s instead of %s", path, shown(live), shown(applied))}
}

// pair finds for each item of want the item of have to compare it with, as an index. If all wanted items have
// names, items with the same name belong together, since others may add items to such a list (a container,
// for example). Otherwise items at the same position belong together, if the lists have the same length. The
// result is nil if an item of want has no counterpart.
func pair(want, have []any) []int {
	unnamed := func(v any) bool { return nameOf(v) == nil }
	byName := len(want) > 0 && !slices.ContainsFunc(want, unnamed)
	if !byName && len(want) != len(have) {
		return nil
	}
	pairs := make([]int, len(want))
	for i, w := range want {
		pairs[i] = i
		if byName {
			pairs[i] = slices.IndexFunc(have, func(h any) bool { return nameOf(h) == nameOf(w) })
		}
		if pairs[i] < 0 {
			return nil
		}
	}
	return pairs
}

// nameOf returns the name of an item of a list, as a text; nil if the item has no name.
func nameOf(v any) any {
	m, _ := v.(map[string]any)
	if name, ok := m["name"].(string); ok {
		return name
	}
	return nil
}

// same reports whether two single values are equal. Numbers, durations and quantities are compared by value.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x == y
	}
	if d, ok := duration(a); ok {
		if e, ok := duration(b); ok {
			return d == e
		}
	}
	p, errP := amount(a)
	q, errQ := amount(b)
	return errP == nil && errQ == nil && p.Cmp(q) == 0
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func duration(v any) (time.Duration, bool) {
	text, ok := v.(string)
	d, err := time.ParseDuration(text)
	return d, ok && err == nil
}

func amount(v any) (resource.Quantity, error) {
	switch v := v.(type) {
	case string:
		if len(v) > 64 {
			return resource.Quantity{}, resource.ErrFormatWrong
		}
		return resource.ParseQuantity(v)
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), nil
	case float64:
		return resource.ParseQuantity(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return resource.Quantity{}, resource.ErrFormatWrong
}

// empty reports whether a cluster may leave a value out without a change of the meaning.
func empty(v any) bool {
	value := reflect.ValueOf(v)
	if kind := value.Kind(); kind == reflect.Map || kind == reflect.Slice {
		return value.Len() == 0
	}
	return v == nil || value.IsZero()
}

func item(path string, v any, i int) string {
	if name := nameOf(v); name != nil {
		return fmt.Sprintf("%s[%s]", path, name)
	}
	return strictyaml.Index(path, i)
}

// shown returns a value as one short line for a message.
func shown(v any) string {
	const most = 60
	var text string
	switch v := v.(type) {
	case nil:
		return "not there"
	case string:
		text = strconv.Quote(v)
	case map[string]any:
		return fmt.Sprintf("a map of %d", len(v))
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	default:
		text = fmt.Sprint(v)
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}
