package kube

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// A site that is closed and opened anew gets its earlier namespace and nodes, and new pods. Other sites are not
// affected.
func TestSiteIsOpenedAnew(t *testing.T) {
	t.Parallel()
	bed, level := onCluster(t), parameters()
	needs := experiment.Needs{Network: true, HostNetwork: true, Volume: &experiment.Volume{Size: 1 << 20}}
	other := ready(t, bed, "other", needs, level)
	one := ready(t, bed, "plain", needs, level)
	before, err := one.Pods(t.Context())
	if err != nil || len(before) != 4 {
		t.Fatalf("%d pods, %v", len(before), err)
	}
	claimed, err := one.bound(t.Context(), one.volumes()[0])
	if err != nil {
		t.Fatal(err)
	}
	nodes := one.nodes()
	for range 2 { // closed twice
		must(t, one.Close())
	}
	client := clusterClient(t)
	for _, p := range before {
		if _, err := client.CoreV1().Pods(p.Namespace).Get(context.Background(), p.Name, metav1.GetOptions{}); err == nil {
			t.Errorf("pod %s/%s is there still", p.Namespace, p.Name)
		}
	}
	if _, err := client.CoreV1().Services(one.Namespace()).Get(context.Background(), one.name("server"), metav1.GetOptions{}); err == nil {
		t.Error("the service is there still")
	}

	start := time.Now()
	again := ready(t, bed, "plain", needs, level)
	t.Logf("opened anew in %v", time.Since(start).Round(time.Millisecond))
	if again.Namespace() != one.Namespace() {
		t.Errorf("namespace %s, want %s", again.Namespace(), one.Namespace())
	}
	if got := again.nodes(); len(got) != 2 || got[0] != nodes[0] || got[1] != nodes[1] {
		t.Errorf("nodes %v, want %v", got, nodes)
	}
	now, err := again.Pods(t.Context())
	if err != nil || len(now) != len(before) {
		t.Fatalf("%d pods, %v", len(now), err)
	}
	for where, p := range now {
		if p.UID == before[where].UID {
			t.Errorf("the pod at %s is the old one", where)
		}
	}
	if b, err := again.bound(t.Context(), again.volumes()[0]); err != nil || b.Claim.UID == claimed.Claim.UID {
		t.Errorf("the volume is the old one, or %v", err)
	}
	for _, s := range []*Site{again, other} {
		transfer(t, s, testbed.PodToService)
		if err := s.Mend(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if third := open(t, bed, "plain", needs, level); third.Namespace() == again.Namespace() {
		t.Error("two open sites have one namespace")
	}
}
