package pods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// If the nodes have too little CPU or memory left, the error says why, and what to change.
func TestStuckForWantOfRoom(t *testing.T) {
	unscheduled := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}}
	}
	hint := func(what string) string {
		return "; the pods of all arms are up at the same time, unless design.setups is every-trial: set it, lower " + what + "Request under testbed.kubernetes.resources, or choose other nodes"
	}
	const noCPU, noMemory = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector.", "0/1 nodes are available: 1 Insufficient memory."
	for _, c := range []struct {
		status corev1.PodStatus
		want   string
	}{
		{unscheduled(noCPU), "it cannot be scheduled: " + noCPU + hint("cpu")},
		{unscheduled(noMemory), "it cannot be scheduled: " + noMemory + hint("memory")},
		{unscheduled("0/1 nodes are available: 1 node(s) were unschedulable."), "it cannot be scheduled: 0/1 nodes are available: 1 node(s) were unschedulable."},
		{corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"}, "it has ended" + hint("cpu")},
		{corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, "it has ended"},
	} {
		if got, _ := stuck(&corev1.Pod{Status: c.status}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.status, got, c.want)
		}
	}
}
