package kube

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// A run whose record is gone makes nothing more.
func TestCleanedAway(t *testing.T) {
	c := &cluster.Cluster{Context: "test", Client: fake.NewClientset()}
	bed, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	on := newPresence(bed, c, parameters().Timeouts)
	if err := on.record.Begin(t.Context(), "given"); err != nil {
		t.Fatal(err)
	}
	owner := bed.session.Owner
	p := on.newPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client", Namespace: "given", Labels: owner.Labels("", "")}})
	if err := p.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	pods := c.Client.CoreV1().Pods("given")
	if err := pods.Delete(t.Context(), "client", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.CoreV1().ConfigMaps("given").Delete(t.Context(), "tare-"+string(owner), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.create(t.Context()); !errors.Is(err, inventory.ErrCleaned) || !strings.Contains(err.Error(), "this run was cleaned away by tare clean") {
		t.Errorf("create: %v", err)
	}
	if list, err := pods.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("pods %v, %v; want none", list.Items, err)
	}
	s := &Site{bed: bed, on: on}
	if err := s.Mend(t.Context()); !errors.Is(err, inventory.ErrCleaned) {
		t.Errorf("mend: %v", err)
	}
}
