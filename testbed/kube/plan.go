package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/experiment"
	"tare/testbed/kube/pods"
)

// siteLabel tells the pods of one site from those of another one of the same arm.
const siteLabel = "tare/site"

// The roles of pods, in their labels and names.
const (
	roleClient     = "client"
	roleServer     = "server"
	roleClientNode = "client-node"
	roleServerNode = "server-node"
)

// planPod is a workload pod of the site before layers change it. It meets the
// level restricted of Pod Security, and is of the quality of service Guaranteed
// unless the experiment says otherwise.
func (s *Site) planPod(role string) *corev1.Pod {
	pod := pods.Plan(s.run.session.Owner, s.level, s.name(role), role)
	pod.Labels = s.run.session.Owner.Labels(s.arm, role)
	pod.Labels[siteLabel] = s.unique
	pod.Namespace = s.Namespace()
	tare := &pod.Spec.Containers[0]
	tare.Resources = requirements(s.level.Resources)
	if image := s.needs.Image; image != "" && image != s.level.Image {
		pods.Install(pod, s.level.Image, image)
	}
	if role == roleClient && s.needs.Volume != nil {
		s.mount(pod)
	}
	return pod
}

// requirements are the limits, and as much as requests unless those are given.
func requirements(r experiment.Resources) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}}
	for _, one := range []struct {
		name           corev1.ResourceName
		limit, request string
	}{{corev1.ResourceCPU, r.CPU, r.CPURequest}, {corev1.ResourceMemory, r.Memory, r.MemoryRequest}} {
		if q, ok := amount(one.limit); ok {
			out.Limits[one.name], out.Requests[one.name] = q, q
		}
		if q, ok := amount(one.request); ok {
			out.Requests[one.name] = q
		}
	}
	return out
}

// amount reads a quantity whose form the experiment file was checked for;
// "none" and "" are none. Kubernetes knows a thousand as k only.
func amount(text string) (resource.Quantity, bool) {
	if n, ok := strings.CutSuffix(text, "K"); ok {
		text = n + "k"
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
