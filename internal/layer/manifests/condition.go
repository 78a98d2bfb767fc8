package manifests

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/layer/placeholder"
)

// condition is what an object must show. Either its status condition of a type is True, or its field at a
// path has a value.
type condition struct {
	kind  string // type of the status condition; "" for a field
	path  []string
	value string
}

// conditionType allows the characters of a condition's type, which has at most longestType of them. A length in the
// expression would cost every start of Tare 3 ms.
var conditionType = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.\-/]*$`)

const longestType = 317

// parseCondition parses a text such as Ready or status.phase=Ready. A dot within a key is written \. as in
// kubectl: metadata.annotations.example\.org/state=on.
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

// parsePath parses the path of a field, such as metadata.annotations.example\.org/state.
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

// holds reports whether the condition holds for an object, and describes the object's present state.
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

// conditionHolds reports whether the object's condition of a type is True in status.conditions.
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

// stale reports whether the object's controller has not seen its current generation yet. The status then
// describes an older generation. Controllers that do not report the generation they saw are never stale.
func stale(u *unstructured.Unstructured) (behind bool, now string) {
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err != nil || !found || observed >= u.GetGeneration() {
		return false, ""
	}
	return true, fmt.Sprintf("the object has generation %d, and its controller has seen %d", u.GetGeneration(), observed)
}
