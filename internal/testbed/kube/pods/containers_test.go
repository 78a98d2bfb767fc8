package pods

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSidecarNames(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "install"}, {Name: "istio-proxy", RestartPolicy: &always}},
		Containers:     []corev1.Container{{Name: Container}, {Name: "linkerd-proxy"}}}}
	if got := fmt.Sprint((&Pod{now: p}).SidecarNames()); got != "[linkerd-proxy istio-proxy]" {
		t.Error(got)
	}
}
