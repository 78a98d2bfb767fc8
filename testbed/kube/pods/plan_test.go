package pods

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"tare/experiment"
)

// What the experiment tolerates is what its pods do; without a value, any value.
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
