package pods

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
)

// A run whose record is gone makes nothing more.
func TestCleanedAway(t *testing.T) {
	c := &cluster.Cluster{Context: "test", Client: fake.NewClientset()}
	session, err := inventory.NewSession("")
	if err != nil {
		t.Fatal(err)
	}
	limits := experiment.NewKubernetes().Timeouts
	m := &Maker{On: c, Record: inventory.NewRecord(c, session, limits), Owner: session.Owner, Limits: limits}
	if err := m.Record.Begin(t.Context(), "given"); err != nil {
		t.Fatal(err)
	}
	p := m.New(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client", Namespace: "given", Labels: m.Owner.Labels("", "")}})
	if err := p.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := c.Client.CoreV1().Pods("given")
	if err := list.Delete(t.Context(), "client", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.CoreV1().ConfigMaps("given").Delete(t.Context(), "tare-"+string(m.Owner), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.create(t.Context()); !errors.Is(err, inventory.ErrCleaned) || !strings.Contains(err.Error(), "this run was cleaned away by tare clean") {
		t.Errorf("create: %v", err)
	}
	if now, err := list.List(t.Context(), metav1.ListOptions{}); err != nil || len(now.Items) != 0 {
		t.Errorf("pods %v, %v; want none", now.Items, err)
	}
}
