package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/testbed/kube/agent"
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

// program is where Tare is in its own image, and user the one that programs run
// as, there and in other images.
const (
	imageProgram = "/usr/bin/tare"
	user         = 65532
)

// graceSeconds is how long a pod is given to end: the agent ends at once.
const graceSeconds = 2

// planPod is a workload pod of the site before layers change it. It meets the
// level restricted of Pod Security, and is of the quality of service Guaranteed
// unless the experiment says otherwise.
func (s *Site) planPod(role string) *corev1.Pod {
	pod := s.bed.planPod(s.level, s.name(role), role)
	pod.Labels = s.bed.session.Owner.Labels(s.arm, role)
	pod.Labels[siteLabel] = s.unique
	pod.Namespace = s.Namespace()
	tare := &pod.Spec.Containers[0]
	tare.Resources = requirements(s.level.Resources)
	if image := s.needs.Image; image != "" && image != s.level.Image {
		install(pod, s.level.Image, image)
	}
	if role == roleClient && s.needs.Volume != nil {
		s.mount(pod)
	}
	return pod
}

// planPod is what all pods of Tare's have in common.
func (t *Testbed) planPod(level *experiment.Kubernetes, name, role string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: t.session.Owner.Labels("", role)},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(graceSeconds)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			DNSPolicy:                     corev1.DNSDefault, // names are no business of a measurement, and a cluster may have no DNS
			PriorityClassName:             level.Priority,
			Tolerations:                   tolerations(level.Tolerate),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:        new(true),
				RunAsUser:           new(int64(user)),
				RunAsGroup:          new(int64(user)),
				FSGroup:             new(int64(user)),
				FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{
				Name:            Container,
				Image:           level.Image,
				ImagePullPolicy: corev1.PullIfNotPresent,
				Command:         []string{imageProgram, "agent", "serve"},
				SecurityContext: confined(),
				VolumeMounts:    []corev1.VolumeMount{{Name: "agent", MountPath: agent.Dir}},
			}},
		},
	}
	for _, name := range level.Secrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return pod
}

// confined is the security context of a container that needs nothing.
func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// install has a pod run another image: Tare comes into it from its own image,
// before the container starts.
func install(pod *corev1.Pod, tare, image string) {
	container := &pod.Spec.Containers[0]
	first := *container.DeepCopy()
	first.Name, first.Image = "install", tare
	first.Command = []string{imageProgram, "agent", "install", agent.Program}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, first)
	container.Image = image
	container.Command = []string{agent.Program, "agent", "serve"}
}

// tareIn is the path of Tare in the pod.
func tareIn(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == Container && len(c.Command) > 0 {
			return c.Command[0]
		}
	}
	return imageProgram
}

func tolerations(given []experiment.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range given {
		op := corev1.TolerationOpEqual
		if t.Value == "" {
			op = corev1.TolerationOpExists
		}
		out = append(out, corev1.Toleration{Key: t.Key, Operator: op, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
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
