package churn

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/kubetest"
	"tare/internal/testbed/kube/sitetest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

// onCluster is a site on the test cluster, ready for trials. Close ends the site before the test ends.
func onCluster(t *testing.T, namespace string) (bed *kube.Testbed, site *kube.Site) {
	t.Helper()
	level := sitetest.Small(experiment.SameNode)
	level.Namespace = namespace
	bed = sitetest.Bed(t)
	site = sitetest.Open(t, bed, "plain", experiment.Needs{}, level)
	sitetest.Ready(t, site)
	return bed, site
}

// The test cluster has these images.
const (
	realPod = `
apiVersion: v1
kind: Pod
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
    - {name: main, image: "tare.test/pause:1", imagePullPolicy: IfNotPresent, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
`
	realDeployment = `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 2
  selector: {matchLabels: {app: "{{.Name}}"}}
  template:
    metadata: {labels: {app: "{{.Name}}"}}
    spec:
      terminationGracePeriodSeconds: 1
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - {name: main, image: "tare.test/pause:1", imagePullPolicy: IfNotPresent, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
`
	configMapTemplate = "apiVersion: v1\nkind: ConfigMap\ndata: {index: '{{.Index}}', revision: '{{.Revision}}'}\n"
	customTemplate    = "apiVersion: churn.tare.test/v1\nkind: Gauge\nspec: {revision: {{.Revision}}}\n"
)

// gauges is a custom kind.
var gauges = &unstructured.Unstructured{Object: map[string]any{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": map[string]any{"name": "gauges.churn.tare.test"},
	"spec": map[string]any{
		"group": "churn.tare.test", "scope": "Namespaced",
		"names": map[string]any{"plural": "gauges", "singular": "gauge", "kind": "Gauge", "listKind": "GaugeList"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
	},
}}

// define installs the kind for the test.
func define(t *testing.T, site *kube.Site) {
	t.Helper()
	cluster, err := site.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := at.Create(t.Context(), gauges.DeepCopy(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := at.Delete(context.WithoutCancel(t.Context()), gauges.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	err = site.Await(t.Context(), "the definition of gauges", func(ctx context.Context) (bool, string, error) {
		_, err := cluster.Client.Discovery().ServerResourcesForGroupVersion("churn.tare.test/v1")
		return err == nil, "not served", nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unique matches the part of names that differs from trial to trial.
var unique = regexp.MustCompile(`^churn-[0-9a-f]{6}-`)

// objects returns the names of the objects with the role churn in the site's namespace.
func objects(t *testing.T, site *kube.Site, at schema.GroupVersionResource) []string {
	t.Helper()
	cluster, err := site.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := cluster.Dynamic.Resource(at).Namespace(site.Namespace()).List(t.Context(), metav1.ListOptions{LabelSelector: inventory.RoleLabel + "=" + role})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, unique.ReplaceAllString(o.GetName(), "churn-"))
	}
	slices.Sort(names)
	return names
}

// patient is a config for a busy machine.
func patient(n int, templates ...string) *Config {
	c := config(n, templates...)
	c.Rate = factor.Of[quantity.Frequency](20)
	return c
}

func TestTrialsOnACluster(t *testing.T) {
	t.Parallel()
	_, site := onCluster(t, "")
	define(t, site)
	gvr := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	for _, test := range []struct {
		name, template string
		at             schema.GroupVersionResource
		operation      operation
		values         []string
		left           []string
	}{
		{"pods", realPod, gvr("", "v1", "pods"), recreate, []string{"create-latency-mean", "delete-latency-mean", "ready-mean"}, []string{"churn-0-2", "churn-1-1"}},
		{"deployments", realDeployment, gvr("apps", "v1", "deployments"), scale, []string{"update-latency-mean", "ready-mean"}, []string{"churn-0-1", "churn-1-1"}},
		{"services", serviceTemplate, gvr("", "v1", "services"), recreate, []string{"create-latency-mean"}, []string{"churn-0-2", "churn-1-1"}},
		{"config maps", configMapTemplate, gvr("", "v1", "configmaps"), Update, []string{"update-latency-mean", "ready-mean"}, []string{"churn-0-1", "churn-1-1"}},
		{"custom resources", customTemplate, gvr("churn.tare.test", "v1", "gauges"), Update, []string{"update-latency-mean", "ready-mean"}, []string{"churn-0-1", "churn-1-1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := patient(2, test.template)
			c.Churn, c.Operation = factor.Of[quantity.Percent](0.5), test.operation
			var raw workloadtest.Raw
			trial := &workload.Trial{Site: site, Raw: &raw}
			result, err := workloadtest.Run(t.Context(), c, trial)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range test.values {
				if result.Values[name] <= 0 {
					t.Errorf("values %v lack %s", result.Values, name)
				}
			}
			if result.Failed != 0 {
				t.Errorf("%v failed:\n%s", result.Failed, raw.Texts()["requests.csv"])
			}
			left := slices.DeleteFunc(objects(t, site, test.at), func(name string) bool { return name == "churn-0-1" && test.operation == recreate }) // the deletion of this object may not be complete yet
			if !slices.Equal(left, test.left) {
				t.Errorf("left %v, want %v", left, test.left)
			}
			if err := trial.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := objects(t, site, test.at); left != nil {
				t.Errorf("%v are there after clearing", left)
			}
		})
	}
}

func TestKindsOfAClusterThatAreRefused(t *testing.T) {
	t.Parallel()
	_, site := onCluster(t, "")
	for template, want := range map[string]string{
		"apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema": "flowcontrol.apiserver.k8s.io/v1 FlowSchema is not namespaced",
		"apiVersion: churn.tare.test/v9\nkind: Gauge":                   "the cluster has no churn.tare.test/v9 Gauge",
	} {
		_, err := patient(1, template).Prepare(t.Context(), &workload.Trial{Site: site, Raw: new(workloadtest.Raw)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestTry makes one object of each template, whatever the parameters of a trial are, and names the object that is
// refused or never ready.
func TestTry(t *testing.T) {
	t.Parallel()
	_, site := onCluster(t, "")
	for _, test := range []struct {
		name, template string
		want           []string
	}{
		{"works", realPod, nil},
		{"is refused", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: main, image: 'tare.test/pause:1'}]}\n",
			[]string{"make Pod " + site.Namespace() + "/churn-", `violates PodSecurity "restricted:latest"`}},
		{"is never ready", strings.ReplaceAll(realPod, "tare.test/pause:1", "tare.test/missing:1"),
			[]string{"Pod " + site.Namespace() + "/churn-", "is not ready 5s after it was asked for", "tare.test/missing:1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := patient(1000, test.template, configMapTemplate)
			c.Templates[1].Fixed, c.Settle, c.Churn = 500, quantity.Duration(time.Hour), factor.Of[quantity.Percent](0.5)
			c.Ready = quantity.Duration(5 * time.Second)
			if test.want == nil {
				c.Ready = quantity.Duration(time.Minute)
			}
			err := c.Try(t.Context(), site)
			if (err == nil) != (test.want == nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			for _, kind := range []string{"pods", "configmaps"} {
				if left := objects(t, site, schema.GroupVersionResource{Version: "v1", Resource: kind}); left != nil {
					t.Errorf("%v are left", left)
				}
			}
		})
	}
}

// TestNothingStaysInAGivenNamespace checks that the testbed removes objects that no trial has cleared.
func TestNothingStaysInAGivenNamespace(t *testing.T) {
	t.Parallel()
	_, other := onCluster(t, "")
	cluster, err := other.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := cluster.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "churn-given-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cluster.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), made.Name, metav1.DeleteOptions{})
	})
	bed, site := onCluster(t, made.Name)
	if _, err := workloadtest.Run(t.Context(), patient(3, configMapTemplate), &workload.Trial{Site: site, Raw: new(workloadtest.Raw)}); err != nil {
		t.Fatal(err)
	}
	at := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	if got := objects(t, site, at); len(got) != 3 {
		t.Fatalf("%v were made", got)
	}
	if err := bed.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := cluster.Dynamic.Resource(at).Namespace(made.Name).List(t.Context(), metav1.ListOptions{LabelSelector: inventory.ManagedBy + "=tare"})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%d objects are left (%v)", len(list.Items), err)
	}
}

// TestLostAPIServer kills the API server in the middle of a trial.
func TestLostAPIServer(t *testing.T) {
	kubetest.Breaks(t)
	_, site := onCluster(t, "")
	c := patient(100, configMapTemplate)
	c.Request = quantity.Duration(5 * time.Second)
	c.Ready = quantity.Duration(20 * time.Second)
	var raw workloadtest.Raw
	trial := &workload.Trial{Site: site, Raw: &raw}
	measured, err := c.Prepare(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		time.Sleep(time.Second) // the trial takes at least five seconds
		kubetest.Control(t, "kill", "control-plane", "kube-apiserver")
		kubetest.Control(t, "start", "control-plane", "kube-apiserver")
	}()
	result, err := measured(t.Context())
	<-killed
	var broken *workload.Invalid
	if !errors.As(err, &broken) && !(err == nil && result.Failed > 0) {
		t.Errorf("result %+v, error %v: neither a broken rule nor a failed request", result, err)
	}
	err = site.Await(t.Context(), "the API server", func(ctx context.Context) (bool, string, error) {
		err := trial.Clear(ctx)
		return err == nil, "not back", nil
	})
	if err != nil {
		t.Error(err)
	}
}
