package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// object is a Kubernetes object of the test.
func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}}
	for k, v := range fields {
		o.Object[k] = v
	}
	return o
}

// Objects are applied in the site's namespace and in the cluster, changed, and deleted. Objects of other owners stay
// unchanged.
func TestApply(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	s := open(t, bed, "objects", experiment.Needs{}, parameters())
	name := "tare-test-" + string(bed.session.Owner)
	config := object("v1", "ConfigMap", "settings", map[string]any{"data": map[string]any{"a": "1", "b": "2"}})
	class := object("scheduling.k8s.io/v1", "PriorityClass", name, map[string]any{"value": int64(1)})
	definition := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things."+name+".example", map[string]any{"spec": map[string]any{
		"group": name + ".example", "scope": "Namespaced", "names": map[string]any{"kind": "Thing", "plural": "things"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}})
	thing := object(name+".example/v1", "Thing", "one", nil)
	all := []*unstructured.Unstructured{config, class, definition, thing}
	now, err := s.Apply(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if len(now) != 4 || now[0].GetNamespace() != s.Namespace() || now[1].GetUID() == "" || now[3].GetLabels()[inventory.OwnerLabel] != string(bed.session.Owner) {
		t.Errorf("applied: %v", now)
	}

	config.Object["data"] = map[string]any{"b": "3"}
	if _, err := s.Apply(t.Context(), []*unstructured.Unstructured{config}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if data, _, _ := unstructured.NestedStringMap(got.Object, "data"); len(data) != 1 || data["b"] != "3" {
		t.Errorf("the changed object holds %v, want b=3 alone", data)
	}

	foreign := object("v1", "ConfigMap", "kube-root-ca.crt", map[string]any{"data": map[string]any{"ca.crt": "mine"}})
	if _, err := s.Apply(t.Context(), []*unstructured.Unstructured{foreign}); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), "apply ConfigMap kube-root-ca.crt in namespace "+s.Namespace()) {
		t.Errorf("an object of another: %v", err)
	}
	must(t, s.Delete(t.Context(), []*unstructured.Unstructured{foreign}))
	if _, err := s.Get(t.Context(), foreign); err != nil {
		t.Errorf("an object of another was deleted: %v", err)
	}

	must(t, s.Delete(t.Context(), all[2:]))
	if _, err := s.Get(t.Context(), config); err != nil {
		t.Error(err)
	}
	must(t, bed.Close())
	for _, gone := range []error{
		func() error {
			_, err := allGroups(t, connected(t)).SchedulingV1().PriorityClasses().Get(t.Context(), name, metav1.GetOptions{})
			return err
		}(),
	} {
		if !apierrors.IsNotFound(gone) {
			t.Errorf("after Close: %v", gone)
		}
	}
}

// For a kind that the cluster does not know, the error names what may be missing.
func TestApplyUnknownKind(t *testing.T) {
	t.Parallel()
	s := open(t, onCluster(t), "unknown", experiment.Needs{}, parameters())
	_, err := s.Apply(t.Context(), []*unstructured.Unstructured{object("crd.varmor.org/v1beta1", "VarmorPolicy", "demo", nil)})
	if err == nil || !strings.Contains(err.Error(), "the kind VarmorPolicy of crd.varmor.org/v1beta1: the cluster does not know it: is its CustomResourceDefinition installed?") {
		t.Errorf("got %v", err)
	}
}

// If a namespace cannot be removed, the error names the reason. When the reason is gone, tare clean removes the
// namespace.
func TestStuckNamespace(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	level := parameters()
	level.Timeouts.Delete = quantity.Duration(5 * time.Second)
	s := open(t, bed, "stuck", experiment.Needs{}, level)
	held := object("v1", "ConfigMap", "held", nil)
	if _, err := s.Apply(t.Context(), []*unstructured.Unstructured{held}); err != nil {
		t.Fatal(err)
	}
	maps := clusterClient(t).CoreV1().ConfigMaps(s.Namespace())
	set := func(finalizers ...string) {
		t.Helper()
		got, err := maps.Get(context.Background(), "held", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got.Finalizers = finalizers
		if _, err := maps.Update(context.Background(), got, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set("tare.test/held")
	if err := clusterClient(t).CoreV1().Namespaces().Delete(t.Context(), s.Namespace(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	fit.Await(t, "the cluster to say what holds the namespace", func() bool {
		namespace, err := clusterClient(t).CoreV1().Namespaces().Get(t.Context(), s.Namespace(), metav1.GetOptions{})
		return err == nil && strings.Contains(fmt.Sprint(namespace.Status.Conditions), "tare.test/held")
	})
	err := bed.Close()
	set()
	for _, want := range []string{"not gone after 5s", "namespaces/" + s.Namespace(), "tare.test/held", "tare clean --context tare-"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("close does not say %q: %v", want, err)
		}
	}
	fit.Await(t, "the namespace to end", func() bool {
		_, err := clusterClient(t).CoreV1().Namespaces().Get(t.Context(), s.Namespace(), metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// Layers change the namespace, the pods and the volume. They cannot change the labels with the owner.
func TestShapes(t *testing.T) {
	t.Parallel()
	s := open(t, onCluster(t), "shaped", alone, parameters())
	if _, err := s.Apply(t.Context(), []*unstructured.Unstructured{object("v1", "ConfigMap", "first", nil)}); err != nil {
		t.Fatal(err)
	}
	if err := s.ShapeNamespace(func(n *corev1.Namespace) { n.Labels = map[string]string{"team": "a"} }); err != nil {
		t.Fatal(err)
	}
	s.ShapePods(func(p *corev1.Pod) error {
		p.Annotations = map[string]string{"layer": p.Labels[inventory.RoleLabel]}
		return nil
	})
	s.ShapeVolume(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("local") })
	must(t, s.Ready(t.Context()))
	ns, err := clusterClient(t).CoreV1().Namespaces().Get(t.Context(), s.Namespace(), metav1.GetOptions{})
	if err != nil || ns.Labels["team"] != "a" || ns.Labels[inventory.OwnerLabel] != string(s.bed.session.Owner) {
		t.Errorf("namespace %v, %v", ns.Labels, err)
	}
	made, err := s.Pods(t.Context())
	if err != nil || made[testbed.ClientPod].Annotations["layer"] != "client" {
		t.Errorf("pods %v, %v", made, err)
	}
	bound, err := s.bound(t.Context(), s.volumes()[0])
	if err != nil || *bound.Claim.Spec.StorageClassName != "local" {
		t.Errorf("claim %v, %v", bound.Claim, err)
	}
	if out, err := runIn(t, s, testbed.ClientPod, pods.Program, "install", s.Volume()+"/written"); err != nil {
		t.Errorf("write to the volume: %q, %v", out, err)
	}
}
