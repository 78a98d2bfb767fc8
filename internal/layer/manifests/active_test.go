package manifests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
	"tare/internal/layer"
)

// fake is a cluster in memory: objects by identity, shared by all sites of the cluster.
type fake struct {
	namespace string
	objects   map[string]*unstructured.Unstructured
	log       *[]string
	change    func(*unstructured.Unstructured) // applied to each object that is stored
	awaited   func()                           // called before each read of a wait
}

func key(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

func (f *fake) note(format string, args ...any) {
	*f.log = append(*f.log, fmt.Sprintf(format, args...))
}

func (f *fake) Namespace() string { return f.namespace }

func (f *fake) Namespaced(_ context.Context, like *unstructured.Unstructured) (bool, error) {
	if like.GetKind() == "Unknown" {
		return false, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Unknown"}}
	}
	return like.GetKind() != "ClusterRole", nil
}

func (f *fake) Apply(_ context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var got []*unstructured.Unstructured
	for _, u := range objects {
		if old := f.objects[key(u)]; old != nil && old.GetLabels()["other"] != "" {
			return nil, fmt.Errorf("%s exists and is not of this run", key(u))
		}
		f.note("apply %s", key(u))
		made := u.DeepCopy()
		if f.change != nil {
			f.change(made)
		}
		f.objects[key(u)] = made
		got = append(got, made)
	}
	return got, nil
}

func (f *fake) Get(_ context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	at := like.DeepCopy()
	if at.GetNamespace() == "" && at.GetKind() != "ClusterRole" {
		at.SetNamespace(f.namespace)
	}
	if u := f.objects[key(at)]; u != nil {
		return u.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: like.GetKind()}, like.GetName())
}

func (f *fake) Delete(_ context.Context, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		f.note("delete %s", key(u))
		delete(f.objects, key(u))
	}
	return nil
}

func (f *fake) Await(ctx context.Context, what string, done func(context.Context) (bool, string, error)) error {
	now := ""
	for range 3 {
		if f.awaited != nil {
			f.awaited()
		}
		ok, said, err := done(ctx)
		if ok || err != nil {
			return err
		}
		now = said
	}
	return fmt.Errorf("%s: not after 3 looks: %s", what, now)
}

func newFake(namespace string) *fake {
	return &fake{namespace: namespace, objects: map[string]*unstructured.Unstructured{}, log: new([]string)}
}

// at returns the same cluster for the site of another arm.
func (f *fake) at(namespace string) *fake {
	return &fake{namespace: namespace, objects: f.objects, log: f.log}
}

func with(inline string, set ...func(*config)) *config {
	c := Kind.New().(*config)
	c.Inline = strictyaml.Document(inline)
	for _, s := range set {
		s(c)
	}
	return c
}

const (
	policy = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy}\ndata: {mode: STRICT}\n"
	role   = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"
	other  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mesh, namespace: istio-system}\n"
)

func exclusive(c *config) { c.Exclusive = true }
func ownArm(c *config)    { c.Scope = OwnArm }

// Objects in the arm's namespace exist for its arm, and not for the other.
func TestOwnNamespace(t *testing.T) {
	f := newFake("tare-a")
	c := with(policy)
	a := &active{config: c, on: f}
	if err := a.up(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	on := layer.Check{Layer: name, Name: "ConfigMap policy", Expected: "exists as applied", Observed: "exists as applied", OK: true}
	off := layer.Check{Layer: name, Name: "ConfigMap policy", Expected: "not there", Observed: "not there", OK: true}
	expect(t, a, on)
	expectOff(t, c, f.at("tare-b"), off)

	stuck := off
	stuck.OK, stuck.Observed = false, "ConfigMap policy in tare-a there"
	expectOff(t, c, f, stuck)

	held := f.objects["ConfigMap tare-a/policy"]
	held.Object["data"].(m)["mode"] = "PERMISSIVE"
	changed := on
	changed.OK, changed.Observed = false, `ConfigMap policy in tare-a: data.mode is "PERMISSIVE" instead of "STRICT"`
	expect(t, a, changed)

	delete(f.objects, "ConfigMap tare-a/policy")
	gone := on
	gone.OK, gone.Observed = false, "ConfigMap policy in tare-a does not exist"
	expect(t, a, gone)

	if err := a.down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"apply ConfigMap tare-a/policy", "delete ConfigMap tare-a/policy"}, *f.log); diff != "" {
		t.Error(diff)
	}
	if err := a.down(t.Context()); err != nil || len(*f.log) != 2 {
		t.Errorf("down twice: %v, %q", err, *f.log)
	}
}

func expect(t *testing.T, a *active, want ...layer.Check) {
	t.Helper()
	got, err := a.before(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("on: %s", diff)
	}
}

func expectOff(t *testing.T, c *config, f *fake, want layer.Check) {
	t.Helper()
	got, err := c.absent(t.Context(), f, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("off: %s", diff)
	}
}

func TestExclusive(t *testing.T) {
	f := newFake("tare-a")
	c := with(other, exclusive)
	a := &active{config: c, on: f}
	if err := a.up(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if len(*f.log) != 0 {
		t.Fatalf("after Up: %q", *f.log)
	}
	off := layer.Check{Layer: name, Name: "ConfigMap mesh", Expected: "not there", Observed: "not there", OK: true}
	for range 2 {
		for range 2 {
			if err := a.apply(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, a, layer.Check{Layer: name, Name: "ConfigMap mesh", Expected: "exists as applied", Observed: "exists as applied", OK: true})
		there := off
		there.OK, there.Observed = false, "ConfigMap mesh in istio-system there"
		expectOff(t, c, f.at("tare-b"), there)
		for range 2 {
			if err := a.down(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		expectOff(t, c, f.at("tare-b"), off)
	}
	if err := a.down(t.Context()); err != nil {
		t.Fatal(err)
	}
	turn := []string{"apply ConfigMap istio-system/mesh", "delete ConfigMap istio-system/mesh"}
	if diff := cmp.Diff(append(turn, turn...), *f.log); diff != "" {
		t.Error(diff)
	}
}

// Objects of somebody else are neither adopted nor deleted.
func TestOthersObjects(t *testing.T) {
	f := newFake("tare-a")
	theirs := &unstructured.Unstructured{Object: m{"apiVersion": "v1", "kind": "ConfigMap", "metadata": m{"name": "mesh", "namespace": "istio-system", "labels": m{"other": "x"}}}}
	f.objects[key(theirs)] = theirs
	for text, c := range map[string]*config{
		"ConfigMap mesh in istio-system exists already, and this run has not created it: delete it first; tare clean --context deletes it if it is a leftover of an earlier run": with(other, exclusive),
		"ConfigMap istio-system/mesh exists and is not of this run": with(other, ownArm),
	} {
		a := &active{config: c, on: f}
		if err := a.up(t.Context(), false); err == nil || err.Error() != text {
			t.Errorf("got  %v\nwant %s", err, text)
		}
		if err := a.down(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if f.objects[key(theirs)] == nil || len(*f.log) != 0 {
		t.Errorf("it was touched: %q", *f.log)
	}
}

func TestOutsideOfTheNamespace(t *testing.T) {
	const choice = ", so that other arms would get it too: set exclusive: true to have it in the cluster during the trials of this arm only, or scope: arm if it affects only this arm"
	tests := []struct {
		name   string
		config *config
		given  bool
		want   string
	}{
		{"the whole cluster's", with(role), false, "ClusterRole r: it belongs to the whole cluster" + choice},
		{"another namespace", with(other), false, "ConfigMap mesh in istio-system: it is in namespace istio-system, and not in the arm's own" + choice},
		{"a namespace of all arms", with(policy), true, "ConfigMap policy in tare-a: all arms share the namespace tare-a" + choice},
		{"this arm's", with(role, ownArm), false, ""},
		{"this arm's in a namespace of all arms", with(policy, ownArm), true, ""},
		{"exclusive", with(role, exclusive), false, ""},
		{"no such kind", with("apiVersion: v1\nkind: Unknown\nmetadata: {name: a}\n"), false, `the cluster does not know the kind Unknown of v1: is its CustomResourceDefinition installed? no matches for kind "Unknown" in group ""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := (&active{config: test.config, on: newFake("tare-a")}).up(t.Context(), test.given)
			if got := fmt.Sprint(err); test.want != "" && got != test.want || test.want == "" && err != nil {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	// Objects declared to be the arm's own stay during the trials of others, and the check says that their effect was
	// not checked.
	got, err := with(role+"---\n"+policy, ownArm).absent(t.Context(), newFake("tare-b"), false, nil)
	want := layer.Check{Layer: name, Name: "ClusterRole r and 1 more", Expected: "not there", Observed: "not there", OK: true,
		Caveat: "the experiment declares that ClusterRole affects this arm only (scope: arm); Tare does not check that"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	// A cluster without the kind has no objects of the kind.
	got, err = with("apiVersion: v1\nkind: Unknown\nmetadata: {name: a}\n").absent(t.Context(), newFake("tare-b"), false, nil)
	want = layer.Check{Layer: name, Name: "objects", Expected: "not there", Observed: "the cluster does not know their kind", OK: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWaits(t *testing.T) {
	f := newFake("tare-a")
	looks := 0
	f.awaited = func() {
		if looks++; looks == 2 {
			f.objects["ConfigMap tare-a/policy"].Object["status"] = m{"phase": "Ready"}
		}
	}
	c := with(policy, func(c *config) { c.Wait = []wait{{Kind: "ConfigMap", Name: "policy", Condition: "status.phase=Ready"}} })
	a := &active{config: c, on: f}
	if err := a.up(t.Context(), false); err != nil || looks != 2 {
		t.Fatalf("%v after %d looks", err, looks)
	}
	there := layer.Check{Layer: name, Name: "ConfigMap policy", Expected: "exists as applied", Observed: "exists as applied", OK: true}
	expect(t, a, there, layer.Check{Layer: name, Name: "ConfigMap policy", Expected: "status.phase=Ready", Observed: "status.phase=Ready", OK: true})
	f.objects["ConfigMap tare-a/policy"].Object["status"] = m{"phase": "Failed"}
	expect(t, a, there, layer.Check{Layer: name, Name: "ConfigMap policy", Expected: "status.phase=Ready", Observed: "status.phase=Failed"})

	// One condition is about an object that was not applied, and one object never appears.
	f = newFake("tare-a")
	c.Wait = []wait{{Kind: "ArmorProfile", APIVersion: "crd.varmor.org/v1beta1", Name: "p-$(TARE_NAMESPACE)", Condition: "Ready"}}
	err := (&active{config: c, on: f}).up(t.Context(), false)
	if want := "Ready of ArmorProfile p-$(TARE_NAMESPACE): not after 3 looks: it does not exist"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(f.objects) != 0 {
		t.Errorf("left behind: %v", f.objects)
	}
}

// The API server drops a field that the kind does not know. The policy would then do less than it says.
func TestNotTakenAsGiven(t *testing.T) {
	f := newFake("tare-a")
	f.change = func(u *unstructured.Unstructured) { delete(u.Object, "data") }
	err := (&active{config: with(policy), on: f}).up(t.Context(), false)
	want := "the cluster changed ConfigMap policy in tare-a when it was applied: data is missing (is the field unknown to its kind? does a webhook change it?)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(f.objects) != 0 {
		t.Errorf("left behind: %v", f.objects)
	}
}

func TestAfterPods(t *testing.T) {
	f := newFake("tare-a")
	a := &active{config: with(policy, func(c *config) { c.When = afterPods }), on: f}
	if err := a.up(t.Context(), false); err != nil || len(*f.log) != 0 {
		t.Fatalf("%v, %q", err, *f.log)
	}
	if _, err := a.settle(t.Context()); err != nil || len(*f.log) != 1 {
		t.Fatalf("%v, %q", err, *f.log)
	}
}

func TestValidate(t *testing.T) {
	read := func(files map[string]string) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fmt.Errorf("open %s: no such file", name)
		}
	}
	tests := []struct {
		name   string
		config *config
		files  map[string]string
		want   []experiment.FieldError
	}{
		{"inline", with(policy), nil, nil},
		{"a file", with("", func(c *config) { c.Files = []file{{Name: "a.yaml"}} }), map[string]string{"a.yaml": policy + "---\n" + role}, nil},
		{"nothing", with("# comment\n---\n"), nil, []experiment.FieldError{{Message: "there is no object: list files, or write objects below inline"}}},
		{"no such file", with(policy, func(c *config) { c.Files = []file{{Name: "a.yaml"}} }), nil, []experiment.FieldError{{Field: "files[0]", Message: "open a.yaml: no such file"}}},
		{"twice", with(policy, func(c *config) { c.Files = []file{{Name: "a.yaml"}} }), map[string]string{"a.yaml": role + "---\n" + policy},
			[]experiment.FieldError{{Field: "inline", Message: "inline:1: ConfigMap policy appears twice, first in a.yaml:5"}}},
		{"problems", with("a: b\n"), nil, []experiment.FieldError{{Field: "inline",
			Message: "inline:1:1: apiVersion is missing, or not a text; inline:1:1: kind is missing, or not a text; inline:1:1: metadata.name is missing, or not a text"}}},
		{"exclusive and not", with(policy, exclusive, ownArm, func(c *config) { c.When = afterPods }), nil, []experiment.FieldError{
			{Field: "exclusive", Message: "objects that affect this arm only (scope: arm) can stay during the trials of others"},
			{Field: "when", Message: "exclusive objects are applied before every trial of their arm, when its pods exist already"}}},
		{"waits", with(policy, func(c *config) {
			c.Wait = []wait{{Kind: "Pod", Name: "x", Condition: "Ready"}, {Kind: "ConfigMap", Name: "policy", Condition: "no ready"}, {Kind: "Pod", APIVersion: "v1", Name: "$(TARE_ARM)", Condition: "Ready"}}
		}), nil, []experiment.FieldError{
			{Field: "wait[0]", Message: "Pod x is not one of the objects: set its apiVersion"},
			{Field: "wait[1].condition", Message: `"no ready" is neither the type of a condition, such as Ready, nor a field and its value, such as status.phase=Ready`},
			{Field: "wait[2].name", Message: "$(TARE_ARM) is not known here: known is $(TARE_NAMESPACE)"}}},
		{"too large", with(strings.Repeat("#", maxText+1)), nil, []experiment.FieldError{{Message: "the manifests have 1048577 bytes; the limit is 1048576"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := append(test.config.readFiles(read(test.files)), test.config.validate()...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	var many strings.Builder
	for i := range maxObjects + 1 {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", i)
	}
	if diff := cmp.Diff([]experiment.FieldError{{Message: "there are 101 objects; the limit is 100"}}, with(many.String()).validate()); diff != "" {
		t.Error(diff)
	}
}

func TestRights(t *testing.T) {
	c := with(policy+"---\n"+other+"---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny}\n", func(c *config) {
		c.Wait = []wait{{Kind: "ArmorProfile", APIVersion: "crd.varmor.org/v1beta1", Name: "p", Condition: "Ready"}}
	})
	const why = "the layer manifests applies "
	verbs := []string{"create", "delete", "get", "patch"}
	want := []experiment.Right{
		{Resource: "configmaps", Verbs: verbs, Namespace: "given", Why: why + "ConfigMap"},
		{Resource: "configmaps", Verbs: verbs, Namespace: "istio-system", Why: why + "ConfigMap"},
		{Group: "networking.k8s.io", Resource: "networkpolicies", Verbs: verbs, Namespace: "given", Why: why + "NetworkPolicy"},
		{Group: "crd.varmor.org", Resource: "armorprofiles", Verbs: []string{"get"}, Namespace: "given", Why: why + "ArmorProfile"},
	}
	if diff := cmp.Diff(want, c.rights("given")); diff != "" {
		t.Error(diff)
	}
}

// In an arm with its own layer of the kind, the objects of that layer are left out.
func TestAbsentBesideOwn(t *testing.T) {
	f := newFake("tare-a")
	a := &active{config: with(policy), on: f}
	if err := a.up(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	both := with(policy + "---\n" + strings.Replace(policy, "name: ", "name: more-", 1))
	got, err := both.absent(t.Context(), f, false, a.config)
	if err != nil || !got.OK || !strings.Contains(got.Name, "more-") || strings.Contains(got.Name, "more objects") {
		t.Errorf("got %+v (%v)", got, err)
	}
	if got, err := both.absent(t.Context(), f, false, nil); err != nil || got.OK {
		t.Errorf("what is there passes for absent: %+v (%v)", got, err)
	}
	if got, err := a.config.absent(t.Context(), f, false, both); err != nil || got.Name != "" {
		t.Errorf("nothing is left to show, and got %+v (%v)", got, err)
	}
	b := &active{config: both, on: f}
	if err := b.up(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got, err := both.absent(t.Context(), f, false, a.config); err != nil || got.OK {
		t.Errorf("what is there passes for absent beside the own one: %+v (%v)", got, err)
	}
}
