package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/layer/placeholder"
)

type m = map[string]any
type l = []any

func TestDifferences(t *testing.T) {
	tests := []struct {
		name          string
		applied, live any
		want          []string
	}{
		{"added by others", m{"a": "x"}, m{"a": "x", "b": "y"}, nil},
		{"another value", m{"spec": m{"mode": "STRICT"}}, m{"spec": m{"mode": "PERMISSIVE"}}, []string{`spec.mode is "PERMISSIVE" instead of "STRICT"`}},
		{"not there", m{"spec": m{"mode": "STRICT"}}, m{"spec": m{}}, []string{"spec.mode is missing"}},
		{"nothing of it", m{"spec": m{"mode": "STRICT"}}, m{"spec": "x"}, []string{`spec is "x"`}},
		{"left out as empty", m{"a": m{}, "b": l{}, "c": "", "d": false, "e": int64(0)}, m{}, nil},
		{"empty, but not there", m{"a": l{}}, m{"a": l{"x"}}, []string{"a has 1 items instead of the 0 that were applied"}},
		{"true is not left out", m{"a": true}, m{}, []string{"a is missing"}},
		{"forms of quantities", m{"cpu": int64(1), "memory": "1024Mi", "n": 0.5}, m{"cpu": "1000m", "memory": "1Gi", "n": "500m"}, nil},
		{"another quantity", m{"cpu": "1"}, m{"cpu": "1001m"}, []string{`cpu is "1001m" instead of "1"`}},
		{"forms of durations", m{"t": "60s"}, m{"t": "1m0s"}, nil},
		{"forms of numbers", m{"n": int64(2)}, m{"n": 2.0}, nil},
		{"false for a text", m{"a": "false"}, m{"a": false}, []string{`a is false instead of "false"`}},
		{"a container that was added", m{"containers": l{m{"name": "b", "image": "x"}}}, m{"containers": l{m{"name": "sidecar"}, m{"name": "b", "image": "x"}}}, nil},
		{"a named item that was changed", m{"containers": l{m{"name": "b", "image": "x"}}}, m{"containers": l{m{"name": "b", "image": "y"}}},
			[]string{`containers[b].image is "y" instead of "x"`}},
		{"a named item that is gone", m{"c": l{m{"name": "b"}}}, m{"c": l{m{"name": "a"}}}, []string{"c has 1 items instead of the 1 that were applied"}},
		{"a rule that was added", m{"rules": l{m{"from": "a"}}}, m{"rules": l{m{"from": "a"}, m{"from": "b"}}}, []string{"rules has 2 items instead of the 1 that were applied"}},
		{"order", m{"rules": l{"a", "b"}}, m{"rules": l{"b", "a"}}, []string{`rules[0] is "b" instead of "a"`, `rules[1] is "a" instead of "b"`}},
		{"a list for a text", m{"a": "x"}, m{"a": l{"x"}}, []string{`a is a list of 1 instead of "x"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, differences("", test.applied, test.live)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCondition(t *testing.T) {
	ready := func(status string, more ...any) m {
		c := m{"type": "Ready", "status": status}
		for i := 0; i < len(more); i += 2 {
			c[more[i].(string)] = more[i+1]
		}
		return m{"status": m{"conditions": l{m{"type": "Other", "status": "True"}, c}}}
	}
	tests := []struct {
		name, text string
		object     m
		want       bool
		now        string
	}{
		{"a condition", "Ready", ready("True"), true, "Ready is True"},
		{"that does not hold", "Ready", ready("False", "reason", "Pending", "message", "no agent"), false, "Ready is False: Pending: no agent"},
		{"that there is not", "Available", ready("True"), false, "no condition Available"},
		{"without a status", "Ready", m{}, false, "no condition Ready"},
		{"a field", "status.phase=Ready", m{"status": m{"phase": "Ready"}}, true, "status.phase=Ready"},
		{"of another value", ".status.phase=Ready", m{"status": m{"phase": "Pending"}}, false, "status.phase=Pending"},
		{"a number", "status.count=2", m{"status": m{"count": int64(2)}}, true, "status.count=2"},
		{"true", "status.ready=true", m{"status": m{"ready": true}}, true, "status.ready=true"},
		{"a field that there is not", "status.phase=Ready", m{}, false, "no status.phase"},
		{"a list", "status.phase=Ready", m{"status": m{"phase": l{}}}, false, "status.phase is not a single value"},
		{"a key with dots", `metadata.annotations.example\.org/state=on`, m{"metadata": m{"annotations": m{"example.org/state": "on"}}}, true, "metadata.annotations.example.org/state=on"},
		{"a placeholder", "status.profile=p-$(TARE_NAMESPACE)", m{"status": m{"profile": "p-ns"}}, true, "status.profile=p-ns"},
		{"behind", "Ready", m{"metadata": m{"generation": int64(3)}, "status": m{"observedGeneration": int64(2), "conditions": l{m{"type": "Ready", "status": "True"}}}},
			false, "the object has generation 3, and its controller has seen 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := parseCondition(test.text)
			if err != nil {
				t.Fatal(err)
			}
			got, now := c.holds(&unstructured.Unstructured{Object: test.object}, placeholder.Values{placeholder.Namespace: "ns"})
			if got != test.want || now != test.now {
				t.Errorf("got %v, %s; want %v, %s", got, now, test.want, test.now)
			}
		})
	}
	for text, want := range map[string]string{
		"":          `"" is neither the type of a condition, such as Ready, nor a field and its value, such as status.phase=Ready`,
		"Ready now": `"Ready now" is neither the type of a condition, such as Ready, nor a field and its value, such as status.phase=Ready`,
		"a..b=c":    `"a..b=c": a part of the path is empty`,
		"a.b=":      `"a.b=" has no value`,
	} {
		if _, err := parseCondition(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzCondition(f *testing.F) {
	f.Add("status.phase=Ready", "Ready")
	f.Add(`a\.b.c=$(TARE_NAMESPACE)`, "ns")
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := parseCondition(text)
		if err != nil || c.kind != "" {
			return
		}
		object := m{}
		if unstructured.SetNestedField(object, value, c.path...) != nil {
			return
		}
		want, err := (placeholder.Values{placeholder.Namespace: "ns"}).Fill(c.value)
		if err != nil {
			return
		}
		got, now := c.holds(&unstructured.Unstructured{Object: object}, placeholder.Values{placeholder.Namespace: "ns"})
		if _, isStale := object["status"].(m); !isStale && got != (value == want) {
			t.Errorf("%q of %q: %v, %s", text, value, got, now)
		}
	})
}
