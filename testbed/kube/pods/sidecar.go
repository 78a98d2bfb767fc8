package pods

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/testbed"
	"tare/testbed/kube/agent"
)

// sidecarPrefix begins the names of sidecars of Tare's own.
const sidecarPrefix = Container + "-"

// Sidecar is the name of the container of a sidecar of Tare's own.
func Sidecar(name string) string { return sidecarPrefix + name }

// Own says whether a container is one of Tare's own, with an agent in it.
func Own(container string) bool {
	return container == Container || strings.HasPrefix(container, sidecarPrefix)
}

// ownContainers are their names in a pod, that of programs first.
func ownContainers(pod *corev1.Pod) []string {
	names := []string{Container}
	for _, c := range pod.Spec.Containers {
		if c.Name != Container && Own(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// AddSidecar gives a planned pod a container for processes of a layer's own. They are root's,
// since only root's have the capabilities of a container, and have no others. The agent comes
// from Tare's image. Files there are in memory, so that no secret reaches a disk.
func AddSidecar(pod *corev1.Pod, tare string, want testbed.Sidecar) {
	name := Sidecar(want.Name)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi"))}}})
	mounts := []corev1.VolumeMount{{Name: name, MountPath: agent.Dir}}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
		Name: "install-" + want.Name, Image: tare, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{Program, "install", agent.Program}, SecurityContext: confined(), VolumeMounts: mounts,
		Resources: sidecarResources(),
	})
	confined := confined()
	confined.RunAsUser, confined.RunAsGroup, confined.RunAsNonRoot = new(int64(0)), new(int64(0)), new(false)
	for _, c := range want.Capabilities {
		confined.Capabilities.Add = append(confined.Capabilities.Add, corev1.Capability(c))
	}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: name, Image: want.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{agent.Program, "serve"}, SecurityContext: confined, VolumeMounts: mounts,
		Env:       []corev1.EnvVar{{Name: "TMPDIR", Value: agent.Dir}},
		Resources: sidecarResources(),
	})
}

// sidecarResources are those of a mesh's sidecar: little is asked for, and no limit on CPU time
// holds it up.
func sidecarResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}
