// Package pods makes the pods of a run and holds the connections to their agents.
//
// Plan returns a pod. Maker.Launch makes pods and waits until they are ready. Pod.Mend makes a lost pod again on its
// node. If a pod does not become ready, the error has the reason, the pod's events and its last log lines.
package pods

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

// Maker makes pods of a run on one cluster.
type Maker struct {
	On      *cluster.Cluster
	Record  *inventory.Record // record to which a pod is added before it is made
	Owner   inventory.Owner
	Limits  experiment.Timeouts
	Version string // version of Tare; the agents must have the same version
}

// Pod is one of Tare's pods, with the connections to its agents. A lost pod can be made again from the plan.
type Pod struct {
	maker *Maker
	plan  *corev1.Pod

	mu     sync.Mutex
	now    *corev1.Pod // state when the pod was made or last seen ready; nil before the pod is made
	node   string      // node on which the pod was last ready; "": it was not ready yet
	agents map[string]*agent.Client
	facts  *agent.Facts // result of the method Facts; nil before the first call
}

func (p *Pod) String() string { return "pod " + p.plan.Namespace + "/" + p.plan.Name }

// Agent returns the connection to the agent in the container for programs.
func (p *Pod) Agent() *agent.Client { return p.AgentIn(Container) }

// AgentIn returns the connection to the agent in one of Tare's own containers.
func (p *Pod) AgentIn(container string) *agent.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agents[container]
}

// Agents returns the connections to all agents in the pod, the agent in the container for programs first.
func (p *Pod) Agents() []*agent.Client {
	return lists.Map(agentContainers(p.plan), p.AgentIn)
}

// Item returns the pod as an item of the record of the run's objects.
func (p *Pod) Item() inventory.Item { return inventory.Core("pods", p.plan.Namespace, p.plan.Name) }

// Disconnect ends the connections to the agents. Callers use it when they delete the pod.
func (p *Pod) Disconnect() {
	for _, a := range p.Agents() {
		_ = a.Close()
	}
}

// Get reads the pod from the API server.
func (p *Pod) Get(ctx context.Context) (*corev1.Pod, error) {
	return p.maker.On.Client.CoreV1().Pods(p.plan.Namespace).Get(ctx, p.plan.Name, metav1.GetOptions{})
}

// Plan returns the pod as Tare planned it.
func (p *Pod) Plan() *corev1.Pod { return p.plan }

// Seen returns the pod's state when it was made or last seen ready. Before the pod is made, it returns the plan.
func (p *Pod) Seen() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.now, p.plan)
}

// UID returns the UID of the pod, which is new when the pod is made again.
func (p *Pod) UID() string { return string(p.Seen().UID) }

// Node returns the name of the node on which the pod is, or was before it was lost.
func (p *Pod) Node() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil && p.now.Spec.NodeName != "" {
		return p.now.Spec.NodeName
	}
	return p.node
}

// Address returns the pod's IP address; the zero value if the pod has no address.
func (p *Pod) Address() netip.Addr {
	a, _ := netip.ParseAddr(p.Seen().Status.PodIP)
	return a
}

// New returns a pod that has not been made yet.
func (m *Maker) New(plan *corev1.Pod) *Pod {
	p := &Pod{maker: m, plan: plan}
	p.agents = p.connect()
	return p
}

func (p *Pod) connect() map[string]*agent.Client {
	all := map[string]*agent.Client{}
	for _, name := range agentContainers(p.plan) {
		dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
			command := []string{ProgramIn(p.plan, name), "connect"}
			return p.maker.On.Dial(ctx, p.plan.Namespace, p.plan.Name, name, command)
		}
		all[name] = agent.NewClient(dial, agent.Options{
			Patience: p.maker.Limits.Connect.Std(), Alive: p.alive, Version: p.maker.Version,
		})
	}
	return all
}

// SidecarNames returns the names of the pod's sidecars, except Tare's own. Sidecars that the cluster injected are
// included.
func (p *Pod) SidecarNames() (names []string) {
	spec := p.Seen().Spec
	for _, c := range spec.Containers {
		if !HasAgent(c.Name) {
			names = append(names, safetext.Head(c.Name, cluster.LineLimit))
		}
	}
	for _, c := range spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			names = append(names, safetext.Head(c.Name, cluster.LineLimit))
		}
	}
	return names
}

// Sidecars returns the names of the pod's started containers, by container id. The container for programs is left out.
func (p *Pod) Sidecars() map[string]string {
	names := p.Containers()
	maps.DeleteFunc(names, func(_, name string) bool { return name == Container })
	return names
}

// Containers returns the names of the pod's started containers, by container id.
func (p *Pod) Containers() map[string]string {
	names := map[string]string{}
	status := p.Seen().Status
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if _, id, ok := strings.Cut(c.ContainerID, "://"); ok {
			names[id] = c.Name
		}
	}
	return names
}

// Refresh reads the pod's containers from the API server: a restarted container has a new id. If the pod itself was
// replaced, nothing changes.
func (p *Pod) Refresh(ctx context.Context) error {
	got, err := p.Get(ctx)
	if err != nil || string(got.UID) != p.UID() {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := cmp.Or(p.now, p.plan).DeepCopy()
	now.Status.InitContainerStatuses = got.Status.InitContainerStatuses
	now.Status.ContainerStatuses = got.Status.ContainerStatuses
	p.now = now
	return nil
}

// Facts returns the facts of the pod. It asks the agent once.
func (p *Pod) Facts(ctx context.Context) (agent.Facts, error) {
	p.mu.Lock()
	known := p.facts
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	facts, err := p.Agent().Facts(ctx)
	if err != nil {
		return agent.Facts{}, p.Disturbed(ctx, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts = &facts
	return facts, nil
}

// Sandbox returns the name of the sandbox around the pod's programs; "" if there is none.
func (p *Pod) Sandbox(ctx context.Context) (string, error) {
	facts, err := p.Facts(ctx)
	return facts.Sandbox, err
}

// Container is the name of the container in which the programs of trials run.
const Container = "tare"

// Program is the path of the agent in Tare's image.
const Program = "/usr/bin/tare-agent"

// User is the user id of programs, in every image.
const User = 65532

// Plan returns a pod with the properties that all of Tare's pods have.
func Plan(owner inventory.Owner, level *experiment.Kubernetes, name, role string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: owner.Labels("", role)},
		Spec: corev1.PodSpec{
			// two seconds are enough, since agents end at once
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(2)),
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			DNSPolicy:         corev1.DNSClusterFirst, // injected sidecars need the cluster's DNS to find their control plane
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

// agentVolumeSize is the size of the volume for programs' outputs, in bytes. The kubelet evicts a pod that exceeds it,
// so the agent's limit is lower.
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

// Install makes a pod run the given image instead of Tare's. An init container copies the agent from Tare's image.
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

// Sidecar returns the name of the container for a sidecar of Tare's own.
func Sidecar(name string) string { return sidecarPrefix + name }

// HasAgent reports whether Tare's agent runs in a container of this name. This is so in the container for programs and
// in the sidecars that Tare adds.
func HasAgent(container string) bool {
	return container == Container || strings.HasPrefix(container, sidecarPrefix)
}

func agentContainers(pod *corev1.Pod) []string {
	names := []string{Container}
	for _, c := range pod.Spec.Containers {
		if c.Name != Container && HasAgent(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// AddSidecar adds a container for a layer's own processes to a planned pod. They run as root, to use capabilities. The
// agent's directory is in memory, so that no secret is on a disk.
func AddSidecar(pod *corev1.Pod, tare string, want testbed.Sidecar) {
	name := Sidecar(want.Name)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi")),
		}}})
	// A sidecar requests little, as in a service mesh. It has no CPU limit, since the limit could throttle it.
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
