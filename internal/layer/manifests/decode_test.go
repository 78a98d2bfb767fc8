package manifests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/layer/placeholder"
)

func TestDecode(t *testing.T) {
	const text = `# the licence
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-$(TARE_NAMESPACE)
  labels: {app: "yes"}
data:
  text: |
    ---indented
    two
  mode: "0644"
---   # the second
# with a comment
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: other, annotations: }
spec:
  replicas: 2
  template:
    spec:
      volumes:
        - {name: v, secret: {defaultMode: 0644, optional: True}}
      nothing: ~
      share: 0.5
      big: 9007199254740993
---
`
	objects, problems := decode("two.yaml", text)
	if problems != nil {
		t.Fatal(problems.Error())
	}
	want := []object{
		{source: "two.yaml", line: 3, Unstructured: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "settings-$(TARE_NAMESPACE)", "labels": map[string]any{"app": "yes"}},
			"data":     map[string]any{"text": "---indented\ntwo\n", "mode": "0644"},
		}}},
		{source: "two.yaml", line: 15, Unstructured: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "server", "namespace": "other"},
			"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{
				"volumes": []any{map[string]any{"name": "v", "secret": map[string]any{"defaultMode": int64(0o644), "optional": true}}},
				"share":   0.5, "big": int64(9007199254740993),
			}}},
		}}},
	}
	if diff := cmp.Diff(want, objects, cmp.AllowUnexported(object{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeProblems(t *testing.T) {
	object := func(extra string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + extra
	}
	tests := []struct {
		name, text string
		want       []string // line:column: message
	}{
		{"not YAML", object("data: [a\n"), []string{"4:7: the list that opens here is not closed"}},
		{"in the second document", object("---\n") + object("data: {a: 1, a: 2}\n"), []string{"8:14: a appears twice, first 0 lines above"}},
		{"no object", "- a\n", []string{"1:1: a document must be an object: a map with apiVersion, kind and metadata"}},
		{"nothing that is needed", "a: b\n", []string{"1:1: apiVersion is missing, or not a text", "1:1: kind is missing, or not a text", "1:1: metadata.name is missing, or not a text"}},
		{"forms", "apiVersion: apps\nkind: deployment\nmetadata: {name: a/b, namespace: A b}\n", []string{
			`1:13: apiVersion is "apps"; expected a version such as v1 or apps/v1`, `2:7: kind is "deployment"; expected a kind such as ConfigMap`,
			`3:18: metadata.name is "a/b"; expected a name without spaces, slashes and percent signs`,
			`3:34: metadata.namespace is "A b"; expected lower-case letters, digits and dashes`}},
		{"numbers for texts", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1, namespace: 2, labels: {a: 1}}\n", []string{
			"3:18: metadata.name is missing, or not a text", "3:32: metadata.namespace is not a text", "3:47: metadata.labels.a is not a text"}},
		{"a copy from a cluster", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, uid: x, resourceVersion: \"1\"}\nstatus: {a: b}\n", []string{
			"3:26: metadata.uid is set by the cluster, and ignored in a manifest",
			"3:46: metadata.resourceVersion is set by the cluster, and ignored in a manifest",
			"4:9: status is set by the cluster, and ignored in a manifest"}},
		{"a secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: b}\n", []string{
			"2:7: a Secret: the run stores every manifest as written, and would store the secret, too"}},
		{"a list", "apiVersion: v1\nkind: List\nmetadata: {name: a}\nitems: []\n", []string{"2:7: a List: write each of its objects as a document of its own"}},
		{"words", object("data: {a: yes, b: \"yes\", c: off}\n"), []string{
			"4:11: yes is a text to some readers of YAML, and true or false to others", "4:29: off is a text to some readers of YAML, and true or false to others"}},
		{"numbers", object("a: 1_000\nb: .inf\nc: 99999999999999999999\n"), []string{
			"4:4: readers of YAML disagree about the number 1_000",
			"5:4: readers of YAML disagree about the number .inf",
			"6:4: readers of YAML disagree about the number 99999999999999999999"}},
		{"placeholders", object("data: {a: $(TARE_NAMESPACE), b: $$(TARE_X), c: $(POD_IP), d: x$(TARE_ARM)}\n"), []string{
			"4:62: $(TARE_ARM) is not known here: known is $(TARE_NAMESPACE)"}},
		{"Tare's labels", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {tare/owner: me}}\n", []string{
			"3:42: metadata.labels.tare/owner: names that start with tare/ are reserved for Tare"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := decode("f.yaml", test.text)
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlaced(t *testing.T) {
	objects, problems := decode("f.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-$(TARE_NAMESPACE)}\ndata: {a: $(TARE_NAMESPACE), b: $$(TARE_NAMESPACE), \"$(TARE_NAMESPACE)\": c, l: [$(TARE_NAMESPACE)]}\n")
	if problems != nil {
		t.Fatal(problems.Error())
	}
	for namespaced, want := range map[bool]map[string]any{
		true:  {"name": "a-tare-1", "namespace": "tare-1"},
		false: {"name": "a-tare-1"},
	} {
		u, err := objects[0].placed(placeholder.Values{placeholder.Namespace: "tare-1"}, namespaced)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": want,
			"data": map[string]any{"a": "tare-1", "b": "$(TARE_NAMESPACE)", "$(TARE_NAMESPACE)": "c", "l": []any{"tare-1"}}}, u.Object); diff != "" {
			t.Errorf("namespaced %v: %s", namespaced, diff)
		}
	}
	objects[0].Object["metadata"].(map[string]any)["namespace"] = "x"
	_, err := objects[0].placed(placeholder.Values{placeholder.Namespace: "tare-1"}, false)
	if want := "f.yaml:1: ConfigMap a-$(TARE_NAMESPACE) in x has a namespace, but its kind belongs to the whole cluster"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Decoded objects can be sent to an API server unchanged, whatever a file contains, and messages contain no control
// sequences for a terminal.
func FuzzDecode(f *testing.F) {
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: &x b, c: *x}\n---\n--- # c\n")
	f.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: \"a\x1b[31m\"}\n")
	f.Add("a: [0644, 0x1F, 1e400, .nan, ~, on]\n---\nb: |\n  ---\n")
	f.Add("---\r\napiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: $(TARE_NAMESPACE)\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		objects, problems := decode("f.yaml", text)
		lines := strings.Count(strings.ReplaceAll(text, "\r", "\n"), "\n") + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines {
				t.Errorf("a problem in line %d of %d: %s", p.Line, lines, p.Message)
			}
			for _, r := range p.String() {
				if r != '\n' && r != '\t' && !unicode.IsPrint(r) && r != unicode.ReplacementChar {
					t.Errorf("%q holds %U", p.String(), r)
				}
			}
		}
		for _, o := range objects {
			u, err := o.placed(placeholder.Values{placeholder.Namespace: "ns"}, true)
			if err != nil {
				t.Fatalf("%v: %v", o, err)
			}
			// The dynamic client copies objects like this. DeepCopyJSON panics on other types.
			sent, err := json.Marshal(u.DeepCopy().Object)
			if err != nil {
				t.Fatal(err)
			}
			back := &unstructured.Unstructured{}
			if err := back.UnmarshalJSON(sent); err != nil {
				t.Fatalf("%s: %v", sent, err)
			}
			if found := differences("", u.Object, back.Object); found != nil {
				t.Errorf("an object differs from itself: %v", found)
			}
		}
	})
}
