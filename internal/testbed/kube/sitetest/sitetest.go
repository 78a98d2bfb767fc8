// Package sitetest gives tests a site on the test cluster. If there is no cluster, the test is skipped (package
// kubetest).
package sitetest

import (
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/kubetest"
)

// Bed returns a testbed on the test cluster. The testbed is closed at the end of the test.
func Bed(t testing.TB) *kube.Testbed {
	t.Helper()
	bed, err := kube.New(kube.Options{Kubeconfig: kubetest.Kubeconfig(t), Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return bed
}

// Small returns parameters for small pods with long timeouts, for parallel tests on a busy machine.
func Small(placement experiment.Placement) *experiment.Kubernetes {
	level := experiment.NewKubernetes()
	level.Placement = factor.Of(placement)
	level.Resources = experiment.Resources{CPU: "50m", Memory: "64Mi"}
	level.Timeouts.Delete = quantity.Duration(2 * time.Minute)
	level.Timeouts.Request, level.Timeouts.Connect = quantity.Duration(time.Minute), quantity.Duration(time.Minute)
	return level
}

// Unlimited returns parameters for pods without a CPU limit, for tests that measure.
func Unlimited() *experiment.Kubernetes {
	level := experiment.NewKubernetes()
	level.Resources = experiment.Resources{CPU: "none", Memory: "128Mi", CPURequest: "20m"}
	return level
}

// Open opens a site of an arm. Ready makes its pods.
func Open(t testing.TB, bed *kube.Testbed, arm string, needs experiment.Needs, level *experiment.Kubernetes) *kube.Site {
	t.Helper()
	site, err := bed.Open(t.Context(), testbed.Request{Name: arm, Needs: needs, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return site.(*kube.Site)
}

// Ready makes a site's objects and waits until its pods are ready.
func Ready(t testing.TB, site *kube.Site) {
	t.Helper()
	if err := site.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}
