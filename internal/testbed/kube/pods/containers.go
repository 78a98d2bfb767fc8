package pods

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// SidecarNames lists the names of the pod's sidecars, including sidecars that the cluster has injected.
// Tare's own sidecars are left out, since their layers measure their usage.
func (p *Pod) SidecarNames() []string { return sidecarNames(p.Seen()) }

func sidecarNames(p *corev1.Pod) []string {
	var names []string
	for _, c := range p.Spec.Containers {
		if !HasAgent(c.Name) {
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

// Sidecars returns the names of the pod's started containers, by container id. The container for programs is
// left out.
func (p *Pod) Sidecars() map[string]string {
	names := p.Containers()
	for id, name := range names {
		if name == Container {
			delete(names, id)
		}
	}
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

// Refresh reads the pod's containers from the API server again. It is needed after a restart of a container,
// which then has a new id. If another pod has the pod's name now, Refresh does nothing.
func (p *Pod) Refresh(ctx context.Context) error {
	got, err := p.Get(ctx)
	if err != nil || string(got.UID) != p.UID() {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.seen().DeepCopy()
	now.Status.InitContainerStatuses = got.Status.InitContainerStatuses
	now.Status.ContainerStatuses = got.Status.ContainerStatuses
	p.now = now
	return nil
}

// Sandbox returns the name of the sandbox around the pod's programs; "" if there is no sandbox.
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
