package namespace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/keyvalue"
	"tare/internal/testbed"
)

func TestChecks(t *testing.T) {
	c := &config{Labels: map[string]string{"inject": "enabled", "mode": "strict"}, Annotations: map[string]string{"a": "1"}}
	named := func(labels, annotations map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}}
	}
	check := func(what, expected, observed string, ok bool) layer.Check {
		return layer.Check{Layer: name, Name: what + " of the namespace", Expected: expected, Observed: observed, OK: ok}
	}
	const labels, annotations = `inject="enabled", mode="strict"`, `a="1"`
	for _, test := range []struct {
		name    string
		ns      *corev1.Namespace
		on, off []layer.Check
	}{
		{"with all", named(c.Labels, c.Annotations),
			[]layer.Check{check("labels", labels, labels, true), check("annotations", annotations, annotations, true)},
			[]layer.Check{check("labels", "none of "+labels, labels, false), check("annotations", "none of "+annotations, annotations, false)}},
		{"with none", named(map[string]string{"other": "1"}, nil),
			[]layer.Check{check("labels", labels, "inject absent, mode absent", false), check("annotations", annotations, "a absent", false)},
			[]layer.Check{check("labels", "none of "+labels, "inject absent, mode absent", true), check("annotations", "none of "+annotations, "a absent", true)}},
		{"with some", named(map[string]string{"inject": "enabled", "mode": "hunter2"}, map[string]string{"a": "2"}),
			[]layer.Check{check("labels", labels, `inject="enabled", mode with another value`, false), check("annotations", annotations, "a with another value", false)},
			[]layer.Check{check("labels", "none of "+labels, `inject="enabled", mode with another value`, false), check("annotations", "none of "+annotations, "a with another value", true)}},
	} {
		if diff := cmp.Diff(test.on, c.checks(test.ns, true)); diff != "" {
			t.Errorf("%s, on (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.off, c.checks(test.ns, false)); diff != "" {
			t.Errorf("%s, off (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestLacking(t *testing.T) {
	c := &config{Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "2"}}
	ns := &corev1.Namespace{}
	for _, step := range []struct {
		change func()
		want   int
	}{{func() {}, 2}, {func() { ns.Labels = keyvalue.With(ns.Labels, c.Labels) }, 1}, {func() { ns.Annotations = keyvalue.With(ns.Annotations, c.Annotations) }, 0}} {
		step.change()
		if got := c.lacking(ns); got != step.want {
			t.Errorf("%v lacks %d, want %d", ns.ObjectMeta, got, step.want)
		}
	}
}

func TestValidate(t *testing.T) {
	bad := func(field, message string) []experiment.FieldError {
		return []experiment.FieldError{{Field: field, Message: message}}
	}
	for name, test := range map[string]struct {
		config config
		want   []experiment.FieldError
	}{
		"nothing":               {config{}, bad("", "there is no label and no annotation: the layer would do nothing")},
		"a label":               {config{Labels: map[string]string{"istio.io/dataplane-mode": "ambient"}}, nil},
		"an annotation of text": {config{Annotations: map[string]string{"a": "any text: {}"}}, nil},
		"a label of text":       {config{Labels: map[string]string{"a": "b c"}}, bad("labels.a", `"b c" is not a valid value: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`)},
		"Tare's own":            {config{Labels: map[string]string{"tare/owner": "x"}}, bad("labels.tare/owner", "Tare identifies namespaces by tare/owner")},
		"Kubernetes' own":       {config{Labels: map[string]string{"kubernetes.io/metadata.name": "x"}}, bad("labels.kubernetes.io/metadata.name", "Kubernetes identifies namespaces by kubernetes.io/metadata.name")},
	} {
		if diff := cmp.Diff(test.want, test.config.validate()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestElsewhere checks the error on other testbeds.
func TestElsewhere(t *testing.T) {
	c := &config{Labels: map[string]string{"a": "1"}}
	var site struct{ testbed.Site }
	_, err := c.Up(t.Context(), new(layer.Run).At(site))
	_, offErr := c.ProveOff(t.Context(), new(layer.Run).At(site))
	for _, err := range []error{err, offErr} {
		if err == nil || !strings.Contains(err.Error(), "cluster") {
			t.Errorf("got %v", err)
		}
	}
}

// Labels of another arm's layer are shown to be absent, except for keys that the arm's own layer sets.
func TestBesideOwn(t *testing.T) {
	other := &config{Labels: map[string]string{"a": "1", "b": "2"}, Annotations: map[string]string{"c": "3"}}
	rest := layer.Without(other, &config{Labels: map[string]string{"a": "9"}})
	want := &config{Labels: map[string]string{"b": "2"}, Annotations: map[string]string{"c": "3"}}
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Error(diff)
	}
	if len(other.Labels) != 2 {
		t.Error("the layer itself was changed")
	}
}
