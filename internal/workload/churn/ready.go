package churn

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition says when an object counts as ready. In a file it is one of these texts:
//
//	auto               pods: the condition Ready; deployments and the like: available;
//	                   everything else: exists
//	exists             the watch has shown the object
//	available          as many replicas are available as the object asks for
//	condition=NAME     the condition of this name is True
//	status.PATH=VALUE  the field of the status has this value
type Condition struct {
	how   conditionKind
	name  string // name of the condition, or the path of the field below status
	value string
}

// conditionKind is a kind of Condition, such as exists.
type conditionKind int

const (
	auto conditionKind = iota
	exists
	available
	condition
	field
)

// words holds the texts of the kinds of Condition that have no name or value.
var words = map[conditionKind]string{auto: "auto", exists: "exists", available: "available"}

// The regular expressions below take 2 ms to compile. They are therefore compiled only for a file that has a condition.
const (
	conditionForm = `condition=([A-Za-z0-9]([-A-Za-z0-9_./]{0,126}[A-Za-z0-9])?)`
	fieldForm     = `status((\.[A-Za-z0-9_-]{1,63}){1,10})=([^\s]{1,253})`
)

var (
	isCondition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + conditionForm + "$") })
	isField     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + fieldForm + "$") })
)

// Describe returns the accepted texts.
func (Condition) Describe() string {
	return "auto, exists, available, condition=NAME or status.PATH=VALUE"
}

// Pattern returns a regular expression for the accepted texts.
func (Condition) Pattern() string {
	return "^(auto|exists|available|" + conditionForm + "|" + fieldForm + ")$"
}

// UnmarshalText parses a condition.
func (c *Condition) UnmarshalText(text []byte) error {
	s := string(text)
	for how, word := range words {
		if s == word {
			*c = Condition{how: how}
			return nil
		}
	}
	if m := isCondition().FindStringSubmatch(s); m != nil {
		*c = Condition{how: condition, name: m[1]}
		return nil
	}
	if m := isField().FindStringSubmatch(s); m != nil {
		*c = Condition{how: field, name: m[1][1:], value: m[3]}
		return nil
	}
	return fmt.Errorf("%q is not %s", text, c.Describe())
}

// MarshalText returns the condition as it is written in a file.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns the condition as it is written in a file.
func (c Condition) String() string {
	switch c.how {
	case condition:
		return "condition=" + c.name
	case field:
		return "status." + c.name + "=" + c.value
	}
	return words[c.how]
}

// replicated holds the kinds whose status counts replicas.
var replicated = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true}

// forKind returns the condition to use for a kind of object. It replaces auto by the kind's usual condition, and
// returns any other condition unchanged.
func (c Condition) forKind(k kind) Condition {
	switch {
	case c.how != auto:
		return c
	case k.group == "" && k.name == "Pod":
		return Condition{how: condition, name: "Ready"}
	case replicated[k.name] && (k.group == "apps" || k.group == ""):
		return Condition{how: available}
	}
	return Condition{how: exists}
}

// watchedObject holds the fields of a watched object that Tare reads. The spec and the status stay encoded until a
// condition needs them.
type watchedObject struct {
	Metadata struct {
		Name              string            `json:"name"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Annotations       map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// status holds the fields of an object's status that conditions are checked against. It can be read from objects of any
// kind.
type status struct {
	Available  int64             `json:"availableReplicas"`
	Updated    *int64            `json:"updatedReplicas"`
	Replicas   int64             `json:"replicas"`
	Conditions []statusCondition `json:"conditions"`
}

type statusCondition struct {
	Type     string `json:"type"`
	Status   string `json:"status"`
	Observed *int64 `json:"observedGeneration"`
}

// met reports whether an object is ready. The result is false for an object that is being deleted, or whose status
// cannot be decoded.
func (c Condition) met(o *watchedObject) bool {
	if o.Metadata.DeletionTimestamp != "" {
		return false
	}
	if c.how == exists {
		return true
	}
	observed, known := o.observed()
	if known && observed < o.Metadata.Generation {
		return false // the object has changed since this status was written
	}
	if c.how == field {
		return c.fieldMet(o)
	}
	var s status
	if json.Unmarshal(o.Status, &s) != nil {
		return false
	}
	if c.how == available {
		return known && s.complete(o)
	}
	have := s.condition(c.name)
	return have.Status == "True" && (have.Observed == nil || *have.Observed >= o.Metadata.Generation)
}

// observed returns the status's field observedGeneration: the generation of the object that the status describes.
// Without this field, known is false.
func (o *watchedObject) observed() (generation int64, known bool) {
	var s struct {
		Observed *int64 `json:"observedGeneration"`
	}
	if json.Unmarshal(o.Status, &s) != nil || s.Observed == nil {
		return 0, false
	}
	return *s.Observed, true
}

// condition returns the condition with this name, or the zero value if there is none.
func (s *status) condition(name string) (have statusCondition) {
	if i := slices.IndexFunc(s.Conditions, func(c statusCondition) bool { return c.Type == name }); i >= 0 {
		have = s.Conditions[i]
	}
	return have
}

// complete reports whether all replicas that the spec asks for are available and up to date.
func (s status) complete(o *watchedObject) bool {
	var spec struct {
		Replicas *int64 `json:"replicas"`
	}
	if json.Unmarshal(o.Spec, &spec) != nil {
		return false
	}
	want := int64(1)
	if spec.Replicas != nil {
		want = *spec.Replicas
	}
	if s.Updated != nil && *s.Updated < want {
		return false
	}
	return s.Available == want && s.Replicas == want
}

// fieldMet reports whether a field of the status, as text, equals the value that the condition asks for.
func (c Condition) fieldMet(o *watchedObject) bool {
	var status map[string]any
	if json.Unmarshal(o.Status, &status) != nil {
		return false
	}
	at, _, _ := unstructured.NestedFieldNoCopy(status, strings.Split(c.name, ".")...)
	switch v := at.(type) {
	case string:
		return v == c.value
	case bool:
		return strconv.FormatBool(v) == c.value
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) == c.value
	}
	return false
}

// checkUpdate returns an error if the condition cannot show that an update is done: if only metadata change, the
// object's generation stays, and the state before the update already meets the condition.
func (s *source) checkUpdate() error {
	if s.ready.how != condition && s.ready.how != field {
		return nil
	}
	var states [2]map[string]any
	for i := range states {
		object, err := s.render(values{Name: "churn-0-1", Namespace: "tare", Objects: 1, Revision: i + 1})
		if err != nil {
			return err
		}
		delete(object, "metadata")
		delete(object, "status")
		states[i] = object
	}
	if reflect.DeepEqual(states[0], states[1]) {
		return fmt.Errorf("operation update changes only metadata, so that the state before the update already meets %v: put {{.Revision}} into a field outside metadata, or give ready: exists", s.ready)
	}
	return nil
}

// hasGeneration reports whether the status, or its entry for the condition, names its generation. Otherwise an update
// looks done at once.
func (c Condition) hasGeneration(o *watchedObject) bool {
	if c.how == exists {
		return true
	}
	if o.Metadata.Generation < 1 {
		return false
	}
	if _, known := o.observed(); known {
		return true
	}
	var s status
	if c.how != condition || json.Unmarshal(o.Status, &s) != nil {
		return false
	}
	return s.condition(c.name).Observed != nil
}

// noteUndated notes the first update on an object whose status lacks observedGeneration: its end is invisible. It
// returns true if requests[0] is one.
func (w *watch) noteUndated(requests []*timedRequest) bool {
	for _, o := range requests {
		if o.verb == update {
			w.undated.CompareAndSwap(nil, o)
			break
		}
	}
	return requests[0].verb == update
}

// checkUndated returns an error if an update may not be finished although the object's status counts as ready.
func (t *tracker) checkUndated() error {
	o := t.undated.Load()
	if o == nil {
		return nil
	}
	s := t.sources[o.source]
	return fmt.Errorf("templates[%d]: the status of %s has no observedGeneration, so that after an update %v may still describe the state before it: give ready: exists, or operation: recreate",
		o.source, s.kind, s.ready)
}
