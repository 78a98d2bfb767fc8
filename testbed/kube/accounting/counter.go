// Package accounting counts what the pods of a run use, and what else happens on
// their nodes.
//
// On every node that trials run on is one small pod that reads the node's counters:
// the programs' own pods may be sandboxes that see another kernel's, or none. With
// accounting: node it also reads the cgroups of whole pods, for which it needs a view
// of the node's files, and so a namespace whose Pod Security is privileged. It runs as
// an unprivileged user in both cases.
//
// There are two questions. What did one program use (Counter.Tally)? And what happened
// while a trial ran (Counter.Begin): how busy the machines were and with what, what
// the sidecars used, and what the observed components used? Both are answered from two
// readings and nothing in between. What one arm cannot answer is left out for all of
// them (Missing).
package accounting

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/experiment"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/pods"
)

// RoleNode is the role of the pods that count.
const RoleNode = "node"

// nodeCgroups is where such a pod sees the node's /sys/fs/cgroup.
const nodeCgroups = "/host/cgroup"

// ShapeNodePod makes of a planned pod one that reads a node's counters.
func ShapeNodePod(p *corev1.Pod, how experiment.Accounting) {
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

// Site is what accounting has to know of a site.
type Site struct {
	Arm     string
	Pods    []*pods.Pod
	Nodes   []string // that the pods are on, each once
	How     experiment.Accounting
	Observe []experiment.Observe
	// NodePod makes the pod that counts on a node, and waits until it is ready. When
	// that fails, it gives the pod as well if it may have been made.
	NodePod func(ctx context.Context, node string) (*pods.Pod, error)
}

// server is the name by which the API server itself is observed; "": it is not.
func (s Site) server() string {
	for _, o := range s.Observe {
		if o.Server {
			return o.Name
		}
	}
	return ""
}

// onNode says whether pods are read whole, from their cgroups on the node.
func (s Site) onNode() bool { return s.How == experiment.OnNode }

// Counter counts on the nodes of one cluster.
type Counter struct {
	on    *cluster.Cluster
	limit time.Duration // how long the first list of a component's pods may take

	mu         sync.Mutex
	nodePods   map[string]*pods.Pod // by node
	components []*component         // nil: not watched yet
	meters     map[string]*meter    // by the UID of the pod whose programs they count
	stop       chan struct{}        // ends the watches
}

// NewCounter counts on a cluster. It makes nothing yet. Close it.
func NewCounter(on *cluster.Cluster, limit time.Duration) *Counter {
	return &Counter{on: on, limit: limit, nodePods: map[string]*pods.Pod{}, meters: map[string]*meter{}, stop: make(chan struct{})}
}

// Close ends the watches and the connections to the pods that count.
func (c *Counter) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	for _, p := range c.nodePods {
		p.Disconnect()
	}
}

// Cover makes sure that a pod counts on each of the nodes of a site.
func (c *Counter) Cover(ctx context.Context, s Site) error { return c.cover(ctx, s, s.Nodes) }

// cover makes sure that a pod counts on each of the nodes.
func (c *Counter) cover(ctx context.Context, s Site, nodes []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	made, errs := make([]*pods.Pod, len(nodes)), make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		if c.nodePods[node] != nil {
			continue
		}
		wg.Go(func() { made[i], errs[i] = s.NodePod(ctx, node) })
	}
	wg.Wait()
	for i, p := range made {
		switch {
		case errs[i] != nil:
			errs[i] = fmt.Errorf("pod that counts on node %s (testbed.kubernetes.accounting: %s): %w", nodes[i], s.How, errs[i])
			if p != nil {
				p.Disconnect()
			}
		case p != nil:
			c.nodePods[nodes[i]] = p
		}
	}
	return errors.Join(errs...)
}

// On is the pod that counts on a node.
func (c *Counter) On(node string) *pods.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodePods[node]
}

// Cgroups reads what the cgroups of any pods say on their node, of those that are found there.
// The site must be one whose pods are read on their nodes.
func (c *Counter) Cgroups(ctx context.Context, s Site, node string, uids []string) ([]cgroup.Usage, error) {
	if err := c.cover(ctx, s, []string{node}); err != nil {
		return nil, err
	}
	on := c.On(node)
	counters, err := on.Agent().Counters(ctx, agent.Question{Root: nodeCgroups, Cgroups: uids})
	return counters.Pods, on.Disturbed(ctx, err)
}

// mend makes the pods again that are lost.
func (c *Counter) mend(ctx context.Context, nodes []string) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() { errs[i] = c.On(node).Mend(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// read asks the agents on all nodes at once, and with accounting: container those
// in the site's pods as well.
func (c *Counter) read(ctx context.Context, s Site, nodes []string, list []placed) (*reading, error) {
	type answer struct {
		pod      *pods.Pod
		agent    *agent.Client
		node     string // "": of a pod of the site
		counters agent.Counters
		err      error
	}
	var asked []*answer
	for _, node := range nodes {
		asked = append(asked, &answer{pod: c.On(node), agent: c.On(node).Agent(), node: node})
	}
	if !s.onNode() {
		for _, p := range s.Pods {
			for _, a := range p.Agents() {
				asked = append(asked, &answer{pod: p, agent: a})
			}
		}
	}
	r := &reading{at: time.Now(), nodes: map[string]agent.Counters{}, own: map[string]*cgroup.Usage{}}
	var wg sync.WaitGroup
	if s.server() != "" {
		wg.Go(func() { r.server, _ = readServer(ctx, c.on.Client) }) // without it the metric is missing
	}
	for _, q := range asked {
		question := agent.Question{}
		if s.onNode() {
			question = agent.Question{Root: nodeCgroups, Cgroups: uidsOn(q.node, list)}
		}
		wg.Go(func() { q.counters, q.err = q.agent.Counters(ctx, question) })
	}
	wg.Wait()
	for _, q := range asked {
		if q.err != nil {
			return nil, q.pod.Disturbed(ctx, q.err)
		}
		if q.node != "" {
			r.nodes[q.node] = q.counters
		}
	}
	for _, q := range asked {
		// A sandbox with a kernel of its own tells what happens inside, and not what
		// the sandbox itself uses.
		if own := q.counters.Own; !s.onNode() && own != nil && q.counters.BootID == r.nodes[q.pod.Node()].BootID {
			r.own[q.pod.UID()] = together(r.own[q.pod.UID()], own)
		}
	}
	return r, nil
}

// together is what two containers of a pod have used; the first may be nil.
func together(a, b *cgroup.Usage) *cgroup.Usage {
	if a == nil {
		return b
	}
	sum := *a
	sum.CPU, sum.System, sum.WorkingSet = a.CPU+b.CPU, a.System+b.System, a.WorkingSet+b.WorkingSet
	sum.Throttled = min(a.Throttled, b.Throttled)
	if sum.Throttled >= 0 {
		sum.Throttled = a.Throttled + b.Throttled
	}
	return &sum
}
