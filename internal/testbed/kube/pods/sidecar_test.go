package pods

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/inventory"
)

func TestAddSidecar(t *testing.T) {
	pod := Plan(inventory.Owner("o"), experiment.NewKubernetes(), "client", "client")
	program := pod.Spec.Containers[0].DeepCopy()
	AddSidecar(pod, "tare:1", testbed.Sidecar{Name: "mtls", Image: "envoy:2", Capabilities: []string{"NET_ADMIN"}})
	if !slices.Equal(agentContainers(pod), []string{"tare", "tare-mtls"}) {
		t.Errorf("own containers %v", agentContainers(pod))
	}
	if got := pod.Spec.Containers[0]; got.SecurityContext.RunAsUser != nil || len(got.SecurityContext.Capabilities.Add) > 0 || len(got.VolumeMounts) != len(program.VolumeMounts) {
		t.Errorf("the container of programs became %+v", got)
	}
	side, first := pod.Spec.Containers[1], pod.Spec.InitContainers[0]
	if side.Image != "envoy:2" || first.Image != "tare:1" || ProgramIn(pod, "tare-mtls") != agent.Program || ProgramIn(pod, Container) != Program {
		t.Errorf("%+v, %+v", side, first)
	}
	s := side.SecurityContext
	if *s.RunAsUser != 0 || *s.RunAsNonRoot || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || !slices.Equal(s.Capabilities.Add, []corev1.Capability{"NET_ADMIN"}) {
		t.Errorf("%+v", s)
	}
	if names := (&Pod{now: pod}).SidecarNames(); len(names) > 0 {
		t.Errorf("%v count as sidecars of others", names)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "tare-mtls" && v.EmptyDir.Medium != corev1.StorageMediumMemory {
			t.Errorf("%+v reaches a disk", v)
		}
	}
}
