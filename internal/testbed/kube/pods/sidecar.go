package pods

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
)

const sidecarPrefix = Container + "-"

// Sidecar returns the name of the container that one of Tare's own sidecars has.
func Sidecar(name string) string { return sidecarPrefix + name }

// HasAgent reports whether a container is one of Tare's own, in which an agent runs.
func HasAgent(container string) bool {
	return container == Container || strings.HasPrefix(container, sidecarPrefix)
}

// agentContainers lists the names of Tare's own containers in a pod. The container in which programs run is
// the first.
func agentContainers(pod *corev1.Pod) []string {
	names := []string{Container}
	for _, c := range pod.Spec.Containers {
		if c.Name != Container && HasAgent(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// AddSidecar adds a container for a layer's own processes to a planned pod. The processes run as root, since
// a container's capabilities apply only to root. They have no other capabilities than the requested ones. The
// agent comes from Tare's image. The agent's directory is in memory, so that no secret is written to a disk.
func AddSidecar(pod *corev1.Pod, tare string, want testbed.Sidecar) {
	name := Sidecar(want.Name)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi")),
		}}})
	mounts := []corev1.VolumeMount{{Name: name, MountPath: agent.Dir}}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
		Name: "install-" + want.Name, Image: tare, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{Program, "install", agent.Program}, SecurityContext: unprivileged(), VolumeMounts: mounts,
		Resources: sidecarResources(),
	})
	security := unprivileged()
	security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = new(int64(0)), new(int64(0)), new(false)
	for _, c := range want.Capabilities {
		security.Capabilities.Add = append(security.Capabilities.Add, corev1.Capability(c))
	}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: name, Image: want.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{agent.Program, "serve"}, SecurityContext: security, VolumeMounts: mounts,
		Env:       []corev1.EnvVar{{Name: "TMPDIR", Value: agent.Dir}},
		Resources: sidecarResources(),
	})
}

// sidecarResources returns the resources of a sidecar. They are like those in a service mesh: a small
// request, and no CPU limit, since a CPU limit would throttle the sidecar.
func sidecarResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}
