package kube

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/pods"
)

// Two nodes with four CPUs have room for any number of arms in turn, of which each needs one CPU on each node: the
// nodes need room for one arm. Close waits until the pods of an arm are gone, and what Inspect found stays.
func TestSitesInTurn(t *testing.T) {
	level := parameters()
	level.Resources.CPU = "1"
	needs := experiment.Needs{Network: true}
	s, on := onNodes(t, needs, level, "a", "b")
	scheme := runtime.NewScheme()
	must(t, corev1.AddToScheme(scheme))
	dynamic := dynamicfake.NewSimpleDynamicClient(scheme)
	on.Dynamic = dynamic
	must(t, on.record.Begin(t.Context(), "given"))
	left := map[string]int{} // times that a deleted pod is still there
	dynamic.PrependReactor("delete", "pods", func(a kubetesting.Action) (bool, runtime.Object, error) {
		left[a.(kubetesting.DeleteAction).GetName()] = 2
		return true, nil, nil
	})
	dynamic.PrependReactor("get", "pods", func(a kubetesting.Action) (bool, runtime.Object, error) {
		name := a.(kubetesting.GetAction).GetName()
		if n, deleted := left[name]; deleted {
			if left[name] = n - 1; n == 1 {
				must(t, dynamic.Tracker().Delete(a.GetResource(), a.GetNamespace(), name))
				delete(left, name)
			}
		}
		return false, nil, nil
	})
	list := func() int {
		found, err := on.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		return len(found.Items)
	}
	bed := s.bed
	for arm := range 26 {
		if arm > 0 {
			s = open(t, bed, fmt.Sprintf("arm-%d", arm), needs, level)
		}
		s.on = on
		plans, err := s.plans(t.Context(), on)
		if err != nil {
			t.Fatalf("arm %d: %v", arm, err)
		}
		if n := list(); n != 0 {
			t.Fatalf("arm %d: %d pods of other arms are there", arm, n)
		}
		s.pods = map[testbed.Place]*pods.Pod{}
		for where, plan := range plans {
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(plan)
			must(t, err)
			made := &unstructured.Unstructured{Object: object}
			made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			must(t, dynamic.Tracker().Add(made))
			s.pods[where] = on.pods.New(plan)
		}
		if n := list(); n != 2 {
			t.Fatalf("arm %d: %d pods, want 2", arm, n)
		}
		must(t, s.Close())
	}
	if n := len(bed.opened()); n != 0 || list() != 0 {
		t.Errorf("%d sites are open, %d pods are there", n, list())
	}
}
