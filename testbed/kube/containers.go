package kube

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/testbed/kube/agent"
)

// sidecars names the pod's containers beside the one in which programs run, by id.
func (p *pod) sidecars() map[string]string {
	names := containers(p.seen())
	for id, name := range names {
		if name == Container {
			delete(names, id)
		}
	}
	return names
}

// containers names all of a pod's containers by id.
func containers(pod *corev1.Pod) map[string]string {
	names := map[string]string{}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if _, id, ok := strings.Cut(c.ContainerID, "://"); ok {
			names[id] = c.Name
		}
	}
	return names
}

// meet takes notice of the cgroups in the pod. When it is read first, it is ready:
// what has no name then is the container runtime's, and counts to the programs. One
// that comes later is a container that was made again, whose name is asked for.
func (p *pod) meet(ctx context.Context, there []agent.Within) error {
	names := containers(p.seen())
	p.mu.Lock()
	first := p.nameless == nil
	if first {
		p.nameless = map[string]bool{}
	}
	unknown := false
	for _, c := range there {
		if names[c.ID] != "" || p.nameless[c.ID] {
			continue
		}
		if first {
			p.nameless[c.ID] = true
		} else {
			unknown = true
		}
	}
	p.mu.Unlock()
	if !unknown {
		return nil
	}
	got, err := p.get(ctx)
	if err != nil || string(got.UID) != p.uid() {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now.DeepCopy()
	now.Status.InitContainerStatuses, now.Status.ContainerStatuses = got.Status.InitContainerStatuses, got.Status.ContainerStatuses
	p.now = now
	return nil
}

// sandboxed names the sandbox that programs in the pod see, "" for none.
func (p *pod) sandboxed(ctx context.Context) (string, error) {
	p.mu.Lock()
	known := p.sandbox
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	facts, err := p.session.Facts(ctx)
	if err != nil {
		return "", p.disturbed(ctx, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sandbox = &facts.Sandbox
	return facts.Sandbox, nil
}
