package kube

import (
	"context"
	"errors"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/kubetest"
	"tare/internal/testbed/kube/placement"
)

// If a node is drained, the eviction of a pod makes the trial invalid, with the reason, until the node takes pods
// again. If the node is deleted, the run ends.
func TestDrainedNode(t *testing.T) {
	kubetest.Breaks(t)
	bed := onCluster(t)
	s := ready(t, bed, "drained", pair, parameters())
	p := s.pods[testbed.ServerPod]
	node, core := p.Node(), clusterClient(t).CoreV1()
	cordon := func(on string) {
		t.Helper()
		_, err := core.Nodes().Patch(context.Background(), node, types.MergePatchType, []byte(`{"spec":{"unschedulable":`+on+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	evict := func() {
		t.Helper()
		err := core.Pods(p.Plan().Namespace).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Plan().Name, Namespace: p.Plan().Namespace}})
		if err != nil {
			t.Fatal(err)
		}
		fit.Await(t, "the evicted pod to be gone", func() bool {
			_, err := p.Get(t.Context())
			return apierrors.IsNotFound(err)
		})
	}
	t.Cleanup(func() { // the node, as it was
		if _, err := core.Nodes().Get(context.Background(), node, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			kubetest.Control(t, "stop", node, "kubelet")
			kubetest.Control(t, "start", node, "kubelet")
		}
		fit.Await(t, "the node to be ready", func() bool {
			n, err := core.Nodes().Get(context.Background(), node, metav1.GetOptions{})
			return err == nil && (placement.PodNeeds{Pod: p.Plan()}).Misfit(n) == ""
		})
	})

	cordon("true")
	evict()
	err := s.Mend(t.Context())
	cordon("false")
	var lost *testbed.Disturbance
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "it cannot be scheduled: ") || !strings.Contains(err.Error(), "unschedulable") {
		t.Errorf("on a node that takes no pods: %v", err)
	}
	if err := s.Mend(t.Context()); err != nil || p.Node() != node {
		t.Fatalf("on the node that takes pods again: on %s, %v", p.Node(), err)
	}
	evict()
	must(t, core.Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}))
	err = s.Mend(t.Context())
	if err == nil || errors.As(err, &lost) || !strings.Contains(err.Error(), "and so is its node "+node) {
		t.Errorf("on a node that is gone: %v", err)
	}
}
