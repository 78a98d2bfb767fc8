package pods

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/inventory"
)

// Container is the name of the container in which the programs of trials run.
const Container = "tare"

// Program is the path of the agent in Tare's image.
const Program = "/usr/bin/tare-agent"

// User is the user id of programs, in every image.
const User = 65532

// graceSeconds is the pods' grace period, in seconds. The agent needs no time to end.
const graceSeconds = 2

// Plan returns a pod with the properties that all of Tare's pods have.
func Plan(owner inventory.Owner, level *experiment.Kubernetes, name, role string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: owner.Labels("", role)},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(graceSeconds)),
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			DNSPolicy:         corev1.DNSClusterFirst, // injected sidecars must find their control plane
			PriorityClassName: level.Priority,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(User)), RunAsGroup: new(int64(User)), FSGroup: new(int64(User)),
				FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(agentVolumeSize, resource.BinarySI)},
			}}},
			Containers: []corev1.Container{{
				Name: Container, Image: level.Image, ImagePullPolicy: corev1.PullIfNotPresent,
				Command: []string{Program, "serve"}, SecurityContext: unprivileged(),
				VolumeMounts: []corev1.VolumeMount{{Name: "agent", MountPath: agent.Dir}},
			}},
		},
	}
	for _, t := range level.Tolerate {
		op := corev1.TolerationOpEqual
		if t.Value == "" {
			op = corev1.TolerationOpExists
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations,
			corev1.Toleration{Key: t.Key, Operator: op, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	for _, name := range level.Secrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return pod
}

// agentVolumeSize is the size of the agent's volume in bytes. It has room for the outputs and 256 MiB more. The
// kubelet evicts a pod that exceeds it.
const agentVolumeSize = agent.StoreLimit + 256<<20

// OnHost makes a pod use its node's network.
func OnHost(pod *corev1.Pod) {
	pod.Spec.HostNetwork, pod.Spec.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// Install makes a pod run another image than Tare's. An init container copies the agent from Tare's image.
func Install(pod *corev1.Pod, tare, image string) {
	container := &pod.Spec.Containers[0]
	first := *container.DeepCopy()
	first.Name, first.Image = "install", tare
	first.Command = []string{Program, "install", agent.Program}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, first)
	container.Image = image
	container.Command = []string{agent.Program, "serve"}
}

// ProgramIn returns the path of the agent in a container of the pod.
func ProgramIn(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == container && len(c.Command) > 0 {
			return c.Command[0]
		}
	}
	return Program
}

const sidecarPrefix = Container + "-"

// Sidecar returns the name of the container of a Tare sidecar with this name.
func Sidecar(name string) string { return sidecarPrefix + name }

// HasAgent reports whether a container is the one for programs or one of Tare's own sidecars, and so has an agent.
func HasAgent(container string) bool {
	return container == Container || strings.HasPrefix(container, sidecarPrefix)
}

// agentContainers lists the names of the containers with an agent. The container for programs is the first.
func agentContainers(pod *corev1.Pod) []string {
	names := []string{Container}
	for _, c := range pod.Spec.Containers {
		if c.Name != Container && HasAgent(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// AddSidecar adds a container for a layer's own processes to a planned pod. The processes run as root, since the
// requested capabilities apply only to root. The agent is copied from Tare's image. Its directory is in memory, so
// that no secret is stored on a disk.
func AddSidecar(pod *corev1.Pod, tare string, want testbed.Sidecar) {
	name := Sidecar(want.Name)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi")),
		}}})
	// As in a service mesh, a sidecar has small requests. It has no CPU limit, which would throttle it.
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
	first := corev1.Container{
		Name: "install-" + want.Name, Image: tare, ImagePullPolicy: corev1.PullIfNotPresent, Resources: resources,
		Command: []string{Program, "install", agent.Program}, SecurityContext: unprivileged(),
		VolumeMounts: []corev1.VolumeMount{{Name: name, MountPath: agent.Dir}},
	}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, first)
	sidecar := *first.DeepCopy()
	sidecar.Name, sidecar.Image, sidecar.Command = name, want.Image, []string{agent.Program, "serve"}
	sidecar.Env = []corev1.EnvVar{{Name: "TMPDIR", Value: agent.Dir}}
	security := sidecar.SecurityContext
	security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = new(int64(0)), new(int64(0)), new(false)
	for _, c := range want.Capabilities {
		security.Capabilities.Add = append(security.Capabilities.Add, corev1.Capability(c))
	}
	pod.Spec.Containers = append(pod.Spec.Containers, sidecar)
}
