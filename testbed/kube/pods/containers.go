package pods

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/safetext"
	"tare/testbed/kube/cluster"
)

// SidecarNames names the containers that run in the pod, as made, beside the one in
// which programs run. Those that the cluster has put in are among them, and Tare's own are not:
// their layers tell what they use.
func (p *Pod) SidecarNames() []string { return sidecarNames(p.Seen()) }

func sidecarNames(p *corev1.Pod) []string {
	var names []string
	for _, c := range p.Spec.Containers {
		if !Own(c.Name) {
			names = append(names, safetext.Head(c.Name, cluster.LineLimit))
		}
	}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			names = append(names, safetext.Head(c.Name, cluster.LineLimit))
		}
	}
	return names
}

// Sidecars names the containers of the pod beside the one in which programs run, by
// id: those of them that have started.
func (p *Pod) Sidecars() map[string]string {
	names := p.Containers()
	for id, name := range names {
		if name == Container {
			delete(names, id)
		}
	}
	return names
}

// Containers names all of the pod's containers that have started, by id.
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

// Refresh asks the API server which containers there are now: one that was made again
// has another id. It does nothing when another pod has the name by now.
func (p *Pod) Refresh(ctx context.Context) error {
	got, err := p.Get(ctx)
	if err != nil || string(got.UID) != p.UID() {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.seen().DeepCopy()
	now.Status.InitContainerStatuses, now.Status.ContainerStatuses = got.Status.InitContainerStatuses, got.Status.ContainerStatuses
	p.now = now
	return nil
}

// Sandbox names the sandbox that programs in the pod see, "" for none.
func (p *Pod) Sandbox(ctx context.Context) (string, error) {
	p.mu.Lock()
	known := p.sandbox
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	facts, err := p.Agent().Facts(ctx)
	if err != nil {
		return "", p.Disturbed(ctx, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sandbox = &facts.Sandbox
	return facts.Sandbox, nil
}
