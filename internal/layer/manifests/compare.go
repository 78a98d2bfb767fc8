package manifests

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment/strictyaml"
	"tare/internal/layer/placeholder"
)

// differences lists applied fields that an object in the cluster lacks or has with another value. Added fields and
// other forms (1000m for 1, 1m0s for 60s) are ignored.
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

// pair returns the index of each wanted item's counterpart; nil if one is missing. Named items match by name, beside
// further items. Others match by position, in equally long lists.
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

func nameOf(v any) any {
	m, _ := v.(map[string]any)
	if name, ok := m["name"].(string); ok {
		return name
	}
	return nil
}

// same reports whether two single values are equal. Numbers, durations and quantities may differ in form, such as
// 1000m and 1.
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

// empty reports whether a value says no more than an absent field: null, "", 0, false, or an empty list or map. A
// cluster may leave such a field out.
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

// condition is a requirement on an object: a status condition that is True, or a value of a field.
type condition struct {
	kind  string // type of the status condition; "" for a field
	path  []string
	value string
}

// conditionType matches the characters of a condition's type. It does not limit their number: a limit would make
// every start of Tare 3 ms slower.
var conditionType = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.\-/]*$`)

const longestType = 317

// parseCondition parses a text such as Ready or status.phase=Ready. A dot within a key is \. as in kubectl:
// metadata.annotations.example\.org/state=on.
func parseCondition(text string) (condition, error) {
	left, value, isField := strings.Cut(text, "=")
	if !isField {
		if len(text) > longestType || !conditionType.MatchString(text) {
			return condition{}, fmt.Errorf("%q is neither the type of a condition, such as Ready, nor a field and its value, such as status.phase=Ready", text)
		}
		return condition{kind: text}, nil
	}
	path, err := parsePath(left)
	if err != nil {
		return condition{}, fmt.Errorf("%q: %w", text, err)
	}
	if value == "" {
		return condition{}, fmt.Errorf("%q has no value", text)
	}
	return condition{path: path, value: value}, nil
}

func parsePath(text string) ([]string, error) {
	const dot = "\x00"
	path := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "."), `\.`, dot), ".")
	for i := range path {
		path[i] = strings.ReplaceAll(path[i], dot, ".")
		if path[i] == "" {
			return nil, fmt.Errorf("a part of the path is empty")
		}
	}
	return path, nil
}

func (c condition) holds(u *unstructured.Unstructured, values placeholder.Values) (ok bool, now string) {
	if behind, now := stale(u); behind {
		return false, now
	}
	if c.kind != "" {
		return conditionHolds(u, c.kind)
	}
	want, err := values.Fill(c.value)
	if err != nil {
		return false, err.Error()
	}
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, c.path...)
	at := strings.Join(c.path, ".")
	if err != nil || !found {
		return false, "no " + at
	}
	switch value.(type) {
	case map[string]any, []any:
		return false, at + " is not a single value"
	}
	got := fmt.Sprint(value)
	return got == want, at + "=" + got
}

func conditionHolds(u *unstructured.Unstructured, kind string) (ok bool, now string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, each := range conditions {
		c, _ := each.(map[string]any)
		if c["type"] != kind {
			continue
		}
		now = fmt.Sprintf("%s is %v", kind, c["status"])
		for _, more := range []string{"reason", "message"} {
			if text, _ := c[more].(string); text != "" {
				now += ": " + text
			}
		}
		return c["status"] == "True", now
	}
	return false, "no condition " + kind
}

// stale reports whether an object's controller has not yet seen its current generation, so that its status is out of
// date. The text tells both generations.
func stale(u *unstructured.Unstructured) (behind bool, now string) {
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err != nil || !found || observed >= u.GetGeneration() {
		return false, ""
	}
	return true, fmt.Sprintf("the object has generation %d, and its controller has seen %d", u.GetGeneration(), observed)
}
