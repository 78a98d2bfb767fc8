package pods

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/agent"
)

// Pods have the tolerations of the experiment. A toleration without a value is for any value.
func TestPlanTolerates(t *testing.T) {
	level := experiment.NewKubernetes()
	level.Tolerate = []experiment.Toleration{{Key: "pool", Value: "big", Effect: "NoSchedule"}, {Key: "spot"}}
	want := []corev1.Toleration{
		{Key: "pool", Operator: corev1.TolerationOpEqual, Value: "big", Effect: corev1.TaintEffectNoSchedule},
		{Key: "spot", Operator: corev1.TolerationOpExists},
	}
	if d := cmp.Diff(want, Plan("me", level, "client", "client").Spec.Tolerations); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// Every volume that Tare's pods fill has a size limit, which leaves room for the agent's outputs.
func TestPlanHasSizes(t *testing.T) {
	plan := Plan("me", experiment.NewKubernetes(), "client", "client")
	Install(plan, "tare:latest", "other:1")
	for _, v := range plan.Spec.Volumes {
		if v.EmptyDir == nil {
			continue
		}
		if size := v.EmptyDir.SizeLimit; size == nil || size.Value() <= agent.StoreLimit {
			t.Errorf("volume %s is of size %v, and the agent keeps up to %d", v.Name, size, agent.StoreLimit)
		}
	}
}

// An injected sidecar looks up its control plane by the cluster's names, also in a pod on its node's network.
func TestPlanKnowsTheClustersNames(t *testing.T) {
	pod := Plan("me", experiment.NewKubernetes(), "client", "client")
	if got := pod.Spec.DNSPolicy; got != corev1.DNSClusterFirst {
		t.Errorf("a pod asks %s", got)
	}
	OnHost(pod)
	if got := pod.Spec.DNSPolicy; got != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("a pod on its node's network asks %s", got)
	}
}
