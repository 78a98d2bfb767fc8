package churn

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition says when an object counts as ready. It is written as one word:
//
//	auto               pods: the condition Ready; deployments and the like: available;
//	                   everything else: exists
//	exists             as soon as the watch shows it
//	available          as many replicas are available as the object asks for
//	condition=NAME     the condition of this name is True
//	status.PATH=VALUE  the field of the status has this value
type Condition struct {
	how   means
	name  string // of the condition, or the path below status
	value string
}

// means is a way to tell that an object is ready.
type means int

const (
	auto means = iota
	exists
	available
	condition
	field
)

// words are the means that are written as one.
var words = map[means]string{auto: "auto", exists: "exists", available: "available"}

var (
	conditionForm = regexp.MustCompile(`^condition=([A-Za-z0-9]([-A-Za-z0-9_./]{0,126}[A-Za-z0-9])?)$`)
	fieldForm     = regexp.MustCompile(`^status((\.[A-Za-z0-9_-]{1,63}){1,10})=([^\s]{1,253})$`)
)

// Describe says what a Condition accepts.
func (Condition) Describe() string {
	return "auto, exists, available, condition=NAME or status.PATH=VALUE"
}

// Pattern is the regular expression of a Condition.
func (Condition) Pattern() string {
	strip := func(r *regexp.Regexp) string { return strings.Trim(r.String(), "^$") }
	return "^(auto|exists|available|" + strip(conditionForm) + "|" + strip(fieldForm) + ")$"
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
	if m := conditionForm.FindStringSubmatch(s); m != nil {
		*c = Condition{how: condition, name: m[1]}
		return nil
	}
	if m := fieldForm.FindStringSubmatch(s); m != nil {
		*c = Condition{how: field, name: m[1][1:], value: m[3]}
		return nil
	}
	return fmt.Errorf("%q is not %s", text, c.Describe())
}

// MarshalText gives the written form.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String gives the written form.
func (c Condition) String() string {
	switch c.how {
	case condition:
		return "condition=" + c.name
	case field:
		return "status." + c.name + "=" + c.value
	}
	return words[c.how]
}

// replicated are the kinds that count their replicas.
var replicated = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true}

// of settles auto for a kind of object.
func (c Condition) of(k kind) Condition {
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

// seen is what is read of an object in a watch. Spec and status stay unread
// until something is asked of them.
type seen struct {
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

// status is what is read of a status of any kind.
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

// met says whether an object is ready. One that is on its way out never is. What
// cannot be read is not ready: kinds are free to put into a status what they like.
func (c Condition) met(o *seen) bool {
	if o.Metadata.DeletionTimestamp != "" {
		return false
	}
	if c.how == exists {
		return true
	}
	observed, known := o.observed()
	if known && observed < o.Metadata.Generation {
		return false // what the status says is of an earlier state of the object
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

// observed is the generation that the status is about, if it tells it.
func (o *seen) observed() (generation int64, known bool) {
	var s struct {
		Observed *int64 `json:"observedGeneration"`
	}
	if json.Unmarshal(o.Status, &s) != nil || s.Observed == nil {
		return 0, false
	}
	return *s.Observed, true
}

// condition is the one of that name; without one, it is the zero value.
func (s *status) condition(name string) (have statusCondition) {
	if i := slices.IndexFunc(s.Conditions, func(c statusCondition) bool { return c.Type == name }); i >= 0 {
		have = s.Conditions[i]
	}
	return have
}

// complete says whether the status has as many replicas, all of them up to date,
// as the spec asks for.
func (s status) complete(o *seen) bool {
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

// fieldMet compares a field of the status as text.
func (c Condition) fieldMet(o *seen) bool {
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
