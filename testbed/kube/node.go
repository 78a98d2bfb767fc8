package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/experiment"
	"tare/testbed/kube/agent"
)

// On every node that trials run on is one small pod that reads the node's
// counters: pods of a sandbox see another kernel's, or none. With accounting: node
// it also reads the cgroups of whole pods, for which it needs a view of the node's
// files, and so a namespace whose Pod Security is privileged. It runs as an
// unprivileged user in both cases.

const (
	// roleNode is the role of these pods.
	roleNode = "node"
	// nodeCgroups is where one sees the node's /sys/fs/cgroup.
	nodeCgroups = "/host/cgroup"
)

// accounting is what counts on the nodes of one cluster.
type accounting struct {
	on *presence

	mu         sync.Mutex
	helpers    map[string]*pod // by node
	components []*component    // nil: not watched yet
	stop       chan struct{}   // ends the watches
}

// accounting gives what counts on the site's cluster.
func (s *Site) accounting(ctx context.Context) (*accounting, error) {
	on, err := s.presence(ctx)
	if err != nil {
		return nil, err
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	if on.counting == nil {
		on.counting = &accounting{on: on, helpers: map[string]*pod{}, stop: make(chan struct{})}
	}
	return on.counting, nil
}

// close ends the watches. The pods close with the testbed.
func (a *accounting) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
}

// cover makes sure that there is a pod on each of the nodes, which must be known
// to the site's cluster.
func (a *accounting) cover(ctx context.Context, s *Site, nodes []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	made, errs := make([]*pod, len(nodes)), make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		if a.helpers[node] != nil {
			continue
		}
		wg.Go(func() { made[i], errs[i] = s.helperPod(ctx, roleNode, node, countingPod(s.level.Accounting)) })
	}
	wg.Wait()
	for i, p := range made {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("pod that counts on node %s (testbed.kubernetes.accounting: %s): %w", nodes[i], s.level.Accounting, errs[i])
		} else if p != nil {
			a.helpers[nodes[i]] = p
		}
	}
	return errors.Join(errs...)
}

// countingPod shapes a pod that reads a node's counters.
func countingPod(how experiment.Accounting) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		}
		if how != experiment.OnNode {
			return
		}
		const name = "cgroups"
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/sys/fs/cgroup", Type: new(corev1.HostPathDirectory)}}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: nodeCgroups, ReadOnly: true})
	}
}

// helperOn is the pod that counts on a node.
func (a *accounting) helperOn(node string) *pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.helpers[node]
}

// mend makes the pods again that are lost.
func (a *accounting) mend(ctx context.Context, nodes []string) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() { errs[i] = a.helperOn(node).mend(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// counted lists the pods that count, for which CPU time is not foreign.
func (a *accounting) counted(nodes []string) []placed {
	var list []placed
	for _, node := range nodes {
		if p := a.helperOn(node); p != nil {
			list = append(list, placed{uid: p.uid(), node: node})
		}
	}
	return list
}

// read asks the agents on all nodes at once, and with accounting: container those
// in the site's pods as well.
func (a *accounting) read(ctx context.Context, s *Site, nodes []string, pods []placed) (*reading, error) {
	type answer struct {
		pod      *pod
		node     string // "": of a pod of the site
		counters agent.Counters
		err      error
	}
	whole := s.level.Accounting == experiment.OnNode
	var asked []*answer
	for _, node := range nodes {
		asked = append(asked, &answer{pod: a.helperOn(node), node: node})
	}
	if !whole {
		for _, p := range s.all() {
			asked = append(asked, &answer{pod: p})
		}
	}
	r := &reading{at: time.Now(), nodes: map[string]agent.Counters{}, own: map[string]*agent.Cgroup{}}
	var wg sync.WaitGroup
	for _, q := range asked {
		question := agent.Question{}
		if whole {
			question = agent.Question{Root: nodeCgroups, Cgroups: uidsOn(q.node, pods)}
		}
		wg.Go(func() { q.counters, q.err = q.pod.session.Counters(ctx, question) })
	}
	wg.Wait()
	for _, q := range asked {
		if q.err != nil {
			return nil, q.pod.disturbed(ctx, q.err)
		}
		if q.node != "" {
			r.nodes[q.node] = q.counters
		}
	}
	for _, q := range asked {
		// A sandbox with a kernel of its own tells what happens inside, and not what
		// the sandbox itself uses.
		if c := q.counters; !whole && c.Own != nil && c.BootID == r.nodes[q.pod.node()].BootID {
			r.own[q.pod.uid()] = c.Own
		}
	}
	return r, nil
}

// uidsOn lists the pods on a node, each once.
func uidsOn(node string, pods []placed) []string {
	var uids []string
	for _, p := range pods {
		if p.node == node && !slices.Contains(uids, p.uid) {
			uids = append(uids, p.uid)
		}
	}
	return uids
}
