package churn

import (
	"encoding/json"
	"regexp"
	"testing"
)

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		condition, object string
		want              bool
	}{
		{"exists", `{}`, true},
		{"exists", `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, false},
		{"condition=Ready", `{}`, false},
		{"condition=Ready", `{"status":{"conditions":[{"type":"Other","status":"True"},{"type":"Ready","status":"True"}]}}`, true},
		{"condition=Ready", `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, false},
		{"condition=Ready", `{"metadata":{"generation":2},"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`, false},
		{"condition=Ready", `{"metadata":{"generation":2},"status":{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]}}`, true},
		{"condition=Ready", `{"status":{"conditions":"none"}}`, false},
		{"condition=Ready", `{"status":"text"}`, false},
		{"available", `{"spec":{"replicas":3},"status":{"observedGeneration":1,"replicas":3,"updatedReplicas":3,"availableReplicas":3}}`, true},
		{"available", `{"spec":{"replicas":3},"status":{"observedGeneration":1,"replicas":4,"updatedReplicas":3,"availableReplicas":3}}`, false},
		{"available", `{"spec":{"replicas":3},"status":{"observedGeneration":1,"replicas":3,"updatedReplicas":1,"availableReplicas":3}}`, false},
		{"available", `{"spec":{"replicas":3},"status":{"observedGeneration":1,"replicas":3,"availableReplicas":3}}`, true},
		{"available", `{"spec":{"replicas":0},"status":{"observedGeneration":1}}`, true},
		{"available", `{"spec":{"replicas":0}}`, false},
		{"available", `{"spec":{},"status":{"observedGeneration":1,"replicas":1,"availableReplicas":1}}`, true},
		{"available", `{"spec":{"replicas":"3"},"status":{"observedGeneration":1}}`, false},
		{"status.phase=Ready", `{"status":{"phase":"Ready"}}`, true},
		{"status.phase=Ready", `{"status":{"phase":"Pending"}}`, false},
		{"status.phase=Ready", `{}`, false},
		{"status.a.b=true", `{"status":{"a":{"b":true}}}`, true},
		{"status.a.b=12", `{"status":{"a":{"b":12}}}`, true},
		{"status.a.b=12", `{"status":{"a":[12]}}`, false},
		{"status.phase=Ready", `{"metadata":{"generation":2},"status":{"observedGeneration":1,"phase":"Ready"}}`, false},
		{"status.phase=Ready", `{"metadata":{"generation":2},"status":{"observedGeneration":2,"phase":"Ready"}}`, true},
		{"status.phase=Ready", `{"metadata":{"generation":2},"status":{"observedGeneration":"1","phase":"Ready"}}`, true}, // a generation must be a number
		{"condition=Ready", `{"metadata":{"generation":2},"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}}`, false},
		{"condition=Ready", `{"metadata":{"generation":2},"status":{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}}`, false},
		{"condition=Ready", `{"metadata":{"generation":2},"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":2}]}}`, true},
	} {
		var condition Condition
		if err := condition.UnmarshalText([]byte(c.condition)); err != nil {
			t.Fatal(err)
		}
		var o watchedObject
		if err := json.Unmarshal([]byte(c.object), &o); err != nil {
			t.Fatal(err)
		}
		if got := condition.met(&o); got != c.want {
			t.Errorf("%s of %s is %v", c.condition, c.object, got)
		}
	}
}

func TestDated(t *testing.T) {
	for _, c := range []struct {
		condition, object string
		want              bool
	}{
		{"exists", `{}`, true},
		{"status.phase=Ready", `{"metadata":{"generation":1},"status":{"phase":"Ready"}}`, false},
		{"status.phase=Ready", `{"metadata":{"generation":1},"status":{"phase":"Ready","observedGeneration":1}}`, true},
		{"status.phase=Ready", `{"status":{"phase":"Ready","observedGeneration":0}}`, false},
		{"condition=Ready", `{"metadata":{"generation":1},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, false},
		{"condition=Ready", `{"metadata":{"generation":1},"status":{"conditions":[{"type":"Other","observedGeneration":1},{"type":"Ready","status":"True"}]}}`, false},
		{"condition=Ready", `{"metadata":{"generation":1},"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}}`, true},
		{"condition=Ready", `{"metadata":{"generation":1},"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`, true},
		{"available", `{"metadata":{"generation":1},"status":{"observedGeneration":1}}`, true},
	} {
		var condition Condition
		if err := condition.UnmarshalText([]byte(c.condition)); err != nil {
			t.Fatal(err)
		}
		var o watchedObject
		if err := json.Unmarshal([]byte(c.object), &o); err != nil {
			t.Fatal(err)
		}
		if got := condition.hasGeneration(&o); got != c.want {
			t.Errorf("%s of %s is dated: %v", c.condition, c.object, got)
		}
	}
}

func TestAuto(t *testing.T) {
	for kind, want := range map[kind]string{
		{"", "v1", "Pod"}:                             "condition=Ready",
		{"apps", "v1", "Deployment"}:                  "available",
		{"apps", "v1", "StatefulSet"}:                 "available",
		{"", "v1", "Service"}:                         "exists",
		{"example.org", "v1", "Deployment"}:           "exists",
		{"crd.varmor.org", "v1beta1", "VarmorPolicy"}: "exists",
	} {
		if got := (Condition{}).forKind(kind).String(); got != want {
			t.Errorf("%v is ready by %s, want %s", kind, got, want)
		}
	}
	if got := (Condition{how: exists}).forKind(kind{"", "v1", "Pod"}); got.how != exists {
		t.Errorf("a condition that is given becomes %s", got)
	}
}

// FuzzCondition checks that a parsed condition prints as a text which parses to the same condition, and that the
// pattern accepts every text that parses.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"auto", "exists", "available", "condition=Ready", "status.phase=Ready", "status.a.b=c=d", "status=x", "condition="} {
		f.Add(text)
	}
	pattern := regexp.MustCompile(Condition{}.Pattern())
	f.Fuzz(func(t *testing.T, text string) {
		var first, second Condition
		if first.UnmarshalText([]byte(text)) != nil {
			if pattern.MatchString(text) {
				t.Errorf("%q matches the pattern and is not read", text)
			}
			return
		}
		if !pattern.MatchString(text) {
			t.Errorf("%q is read and does not match the pattern", text)
		}
		if err := second.UnmarshalText([]byte(first.String())); err != nil || first != second {
			t.Errorf("%q prints as %q, which is read as %v (%v)", text, first, second, err)
		}
	})
}
