package manifests

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/sitetest"
)

// opened returns a site that has not been created yet. The tests here need no pods.
func opened(t *testing.T, bed *kube.Testbed, arm string) *kube.Site {
	t.Helper()
	return sitetest.Open(t, bed, arm, experiment.Needs{Network: true}, sitetest.Small(experiment.SameNode))
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// defined installs a CustomResourceDefinition for the test.
func defined(t *testing.T, site *kube.Site, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, problems := decode(file, string(text))
	if len(problems) > 0 || len(objects) != 1 {
		t.Fatalf("%d objects: %v", len(objects), problems)
	}
	cluster, err := site.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := cluster.Dynamic.Resource(definitions)
	crd := &objects[0].Unstructured
	if _, err := at.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := at.Delete(context.WithoutCancel(t.Context()), crd.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	err = site.Await(t.Context(), "the definition of "+crd.GetName(), func(ctx context.Context) (bool, string, error) {
		got, err := at.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		ok, now := conditionHolds(got, "Established")
		return ok, now, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checks(t *testing.T, want []string, got []layer.Check) {
	t.Helper()
	var lines []string
	for _, c := range got {
		lines = append(lines, fmt.Sprintf("%s: %s: %s: %v", c.Name, c.Expected, c.Observed, c.OK))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// TestPolicyOnCluster applies an object of a published kind, whose field the API server validates. Then somebody else
// changes and deletes it.
func TestPolicyOnCluster(t *testing.T) {
	t.Parallel()
	bed := sitetest.Bed(t)
	site, other := opened(t, bed, "strict"), opened(t, bed, "plain")
	defined(t, site, "../../../examples/kubernetes/crds/peerauthentications.yaml")
	text := func(mode string) string {
		return "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: strict, labels: {of: $(TARE_NAMESPACE)}}\nspec: {mtls: {mode: " + mode + "}}\n"
	}
	if _, err := with(text("STRICTLY")).Up(t.Context(), new(layer.Run).At(site)); err == nil || !strings.Contains(err.Error(), `Unsupported value: "STRICTLY"`) {
		t.Errorf("a value that the kind does not know: %v", err)
	}
	_, err := with(strings.Replace(text("STRICT"), "mtls: {", "mtls: {mood: good, ", 1)).Up(t.Context(), new(layer.Run).At(site))
	if err == nil || !strings.Contains(err.Error(), "the cluster changed PeerAuthentication strict in "+site.Namespace()+" when it was applied: spec.mtls.mood is missing") {
		t.Errorf("a field that the kind does not know: %v", err)
	}

	c := with(text("STRICT"))
	up := layertest.Up(t, c, site)
	on := []string{"PeerAuthentication strict: exists as applied: exists as applied: true"}
	checks(t, on, layertest.Before(t, up, site))
	checks(t, []string{"PeerAuthentication strict: not there: not there: true"}, layertest.Off(t, c, other))
	checks(t, []string{"PeerAuthentication strict: not there: PeerAuthentication strict in " + site.Namespace() + " there: false"}, layertest.Off(t, c, site))

	cluster, err := site.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "security.istio.io", Version: "v1", Resource: "peerauthentications"}).Namespace(site.Namespace())
	live, err := at.Get(t.Context(), "strict", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if live.GetLabels()["of"] != site.Namespace() || live.GetLabels()[inventory.OwnerLabel] == "" {
		t.Errorf("labels %v", live.GetLabels())
	}
	if err := unstructured.SetNestedField(live.Object, "PERMISSIVE", "spec", "mtls", "mode"); err != nil {
		t.Fatal(err)
	}
	if _, err := at.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	checks(t, []string{"PeerAuthentication strict: exists as applied: PeerAuthentication strict in " + site.Namespace() + `: spec.mtls.mode is "PERMISSIVE" instead of "STRICT": false`}, layertest.Before(t, up, site))
	if err := up.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := at.Get(t.Context(), "strict", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after Down: %v", err)
	}
}

// TestExclusiveOnCluster creates a cluster-wide object for the trials of its own arm only.
func TestExclusiveOnCluster(t *testing.T) {
	t.Parallel()
	bed := sitetest.Bed(t)
	site, other := opened(t, bed, "role"), opened(t, bed, "plain")
	c := with(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $(TARE_NAMESPACE)}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
`, exclusive)
	up := layertest.Up(t, c, site)
	title := "ClusterRole " + site.Namespace()
	for range 2 {
		if err := up.Switch.On(t.Context()); err != nil {
			t.Fatal(err)
		}
		checks(t, []string{title + ": exists as applied: exists as applied: true"}, layertest.Before(t, up, site))
		if err := up.Switch.Off(t.Context()); err != nil {
			t.Fatal(err)
		}
		checks(t, []string{title + ": not there: not there: true"}, layertest.Off(t, c, site))
	}
	if err := up.Switch.On(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := up.Down(t.Context()); err != nil {
		t.Fatal(err)
	}

	// The next objects are the same one, not exclusive, and one of somebody else.
	c.Exclusive = false
	if _, err := c.Up(t.Context(), new(layer.Run).At(other)); err == nil || !strings.Contains(err.Error(), "it belongs to the whole cluster, so that other arms would get it too: set exclusive: true") {
		t.Errorf("not exclusive: %v", err)
	}
	theirs := with("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-public, labels: {mine: \"true\"}}\n", ownArm)
	if _, err := theirs.Up(t.Context(), new(layer.Run).At(other)); err == nil || !strings.Contains(err.Error(), "apply Namespace kube-public: it exists already and is not of this run") {
		t.Errorf("somebody else's: %v", err)
	}
	theirs = with("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-public}\n", exclusive)
	if _, err := theirs.Up(t.Context(), new(layer.Run).At(other)); err == nil || !strings.Contains(err.Error(), "Namespace kube-public exists already, and this run has not created it") {
		t.Errorf("somebody else's, exclusively: %v", err)
	}
}

// TestWaitOnCluster waits for the effects of controllers on an object.
func TestWaitOnCluster(t *testing.T) {
	t.Parallel()
	bed := sitetest.Bed(t)
	site := opened(t, bed, "waits")
	budget := "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {minAvailable: 0, selector: {matchLabels: {a: b}}}\n"
	c := with(budget, func(c *config) {
		c.Wait = []wait{
			{Kind: "PodDisruptionBudget", Name: "b", Condition: "status.observedGeneration=1"},
			{Kind: "ConfigMap", APIVersion: "v1", Name: "kube-root-ca.crt", Condition: "metadata.namespace=$(TARE_NAMESPACE)"},
		}
	})
	up := layertest.Up(t, c, site)
	checks(t, []string{
		"PodDisruptionBudget b: exists as applied: exists as applied: true",
		"PodDisruptionBudget b: status.observedGeneration=1: status.observedGeneration=1: true",
		"ConfigMap kube-root-ca.crt: metadata.namespace=$(TARE_NAMESPACE): metadata.namespace=" + site.Namespace() + ": true",
	}, layertest.Before(t, up, site))
}

// TestSweptOnCluster has policies of the same text at two levels next to each other, and compares the items of a list
// with those that the cluster stores.
func TestSweptOnCluster(t *testing.T) {
	t.Parallel()
	bed := sitetest.Bed(t)
	const text = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: rules}
spec:
  podSelector: {matchLabels: {rules: "$(rules)"}}
  policyTypes: [Egress]
  egress:
    - {to: [{ipBlock: {cidr: 192.0.2.$(item)/32}}], ports: [{port: $(item)}]}
`
	at := func(level factor.Word) *config {
		return with(text, func(c *config) {
			c.Factors = factor.Named{"rules": factor.Of(level)}
			c.Repeat = map[string]factor.Word{"spec.egress": "rules"}
		})
	}
	few, many := opened(t, bed, "few"), opened(t, bed, "many")
	for site, level := range map[*kube.Site]factor.Word{few: "0", many: "3"} {
		up := layertest.Up(t, at(level), site)
		checks(t, []string{"NetworkPolicy rules: exists as applied: exists as applied: true"}, layertest.Before(t, up, site))
	}
	cluster, err := many.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live, err := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}).
		Namespace(many.Namespace()).Get(t.Context(), "rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var cidrs []string
	egress, _, _ := unstructured.NestedSlice(live.Object, "spec", "egress")
	for _, e := range egress {
		cidr, _, _ := unstructured.NestedString(e.(map[string]any)["to"].([]any)[0].(map[string]any), "ipBlock", "cidr")
		port := e.(map[string]any)["ports"].([]any)[0].(map[string]any)["port"]
		cidrs = append(cidrs, fmt.Sprint(cidr, " ", port))
	}
	if diff := cmp.Diff([]string{"192.0.2.1/32 1", "192.0.2.2/32 2", "192.0.2.3/32 3"}, cidrs); diff != "" {
		t.Error(diff)
	}
}
