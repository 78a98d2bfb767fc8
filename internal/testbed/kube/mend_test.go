package kube

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
)

// A run whose record is gone mends no pod.
func TestMendCleanedAway(t *testing.T) {
	c := &cluster.Cluster{Context: "test", Client: fake.NewClientset()}
	bed, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := bed.session
	on := newClusterRun(c, session, "", parameters().Timeouts)
	must(t, on.record.Begin(t.Context(), "given"))
	must(t, c.Client.CoreV1().ConfigMaps("given").Delete(t.Context(), "tare-"+string(session.Owner), metav1.DeleteOptions{}))
	if err := on.record.Add(t.Context(), inventory.Core("pods", "given", "client")); !errors.Is(err, inventory.ErrCleaned) {
		t.Fatal(err)
	}
	s := &Site{bed: bed, on: on}
	if err := s.Mend(t.Context()); !errors.Is(err, inventory.ErrCleaned) {
		t.Errorf("mend: %v", err)
	}
}
