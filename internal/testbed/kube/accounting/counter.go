// Package accounting measures the resources that the pods of a run use, and the other load on their nodes.
//
// Every node of a trial has one small accounting pod that reads the node's counters. Pods of programs under test
// cannot read them: in a sandbox they see the counters of another kernel, or no counters. With "accounting: node" the
// accounting pod also reads the cgroups of whole pods. It then mounts files of the node, and its namespace must allow
// Pod Security privileged. It always runs as an unprivileged user.
//
// Counter.Tally measures the resources that one program used. Counter.Begin measures a whole trial: the load of the
// machines, and the usage of sidecars and of observed components. Both methods take two readings and compute the
// differences. If a value is unknown in one arm, Tare leaves it out in all arms (Missing).
package accounting

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/pods"
)

// RoleNode is the role of the accounting pods.
const RoleNode = "node"

// nodeCgroups is the mount point of the node's /sys/fs/cgroup in an accounting pod.
const nodeCgroups = "/host/cgroup"

// ShapeNodePod turns a planned pod into an accounting pod.
func ShapeNodePod(p *corev1.Pod, how experiment.Accounting) {
	c := &p.Spec.Containers[0]
	amounts := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	c.Resources = corev1.ResourceRequirements{Requests: amounts("10m", "32Mi"), Limits: amounts("1", "128Mi")}
	if how != experiment.OnNode {
		return
	}
	const name = "cgroups"
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/sys/fs/cgroup", Type: new(corev1.HostPathDirectory)}}})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: nodeCgroups, ReadOnly: true})
}

// Site describes a site for this package.
type Site struct {
	Arm     string
	Pods    []*pods.Pod
	Nodes   []string // nodes of the site's pods, without duplicates
	How     experiment.Accounting
	Observe []experiment.Observe
	// NodePod makes the accounting pod of a node and waits until the pod is ready. On an error, it also returns the pod
	// if the pod may have been made.
	NodePod func(ctx context.Context, node string) (*pods.Pod, error)
}

// server returns the name under which the experiment observes the API server, or "".
func (s Site) server() string {
	for _, o := range s.Observe {
		if o.Server {
			return o.Name
		}
	}
	return ""
}

func (s Site) onNode() bool { return s.How == experiment.OnNode }

// Counter measures on the nodes of one cluster.
type Counter struct {
	on    *cluster.Cluster
	limit time.Duration // timeout of the first list of a component's pods

	mu         sync.Mutex
	nodePods   map[string]*pods.Pod
	components []*component      // observed components; nil before the first call of Prepare
	meters     map[string]*meter // meters of pods, by UID
	stop       chan struct{}     // closed to end the watches
}

// NewCounter returns a counter for a cluster, which the caller must close. It makes no pods.
func NewCounter(on *cluster.Cluster, limit time.Duration) *Counter {
	return &Counter{on: on, limit: limit, nodePods: map[string]*pods.Pod{}, meters: map[string]*meter{}, stop: make(chan struct{})}
}

// Close ends the watches and the connections to the accounting pods.
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

// MakePods makes the accounting pods of the given nodes. It skips nodes that have an accounting pod.
func (c *Counter) MakePods(ctx context.Context, s Site, nodes []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return c.nodePods[node] != nil })
	made := make([]*pods.Pod, len(nodes))
	err := cluster.Each(nodes, func(i int, node string) error {
		p, err := s.NodePod(ctx, node)
		if err == nil {
			made[i] = p
			return nil
		}
		if p != nil {
			p.Disconnect()
		}
		return fmt.Errorf("pod that counts on node %s (testbed.kubernetes.accounting: %s): %w", node, s.How, err)
	})
	for i, p := range made {
		if p != nil {
			c.nodePods[nodes[i]] = p
		}
	}
	return err
}

// NodePod returns the accounting pod of a node; nil if there is none.
func (c *Counter) NodePod(node string) *pods.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodePods[node]
}

// Cgroups reads the usage of pods on a node from their cgroups, if these exist. It needs "accounting: node".
func (c *Counter) Cgroups(ctx context.Context, s Site, node string, uids []string) ([]cgroup.Usage, error) {
	if err := c.MakePods(ctx, s, []string{node}); err != nil {
		return nil, err
	}
	p := c.NodePod(node)
	counters, err := p.Agent().Counters(ctx, agent.CountersRequest{Root: nodeCgroups, Cgroups: uids})
	return counters.Pods, p.Disturbed(ctx, err)
}

func (c *Counter) mend(ctx context.Context, nodes []string) error {
	return pods.Mend(ctx, testbed.Each(nodes, c.NodePod))
}

// read reads all counters at the same time: those of the nodes and, with "accounting: container", those of the site's
// pods.
func (c *Counter) read(ctx context.Context, s Site, nodes []string, list []podRef) (*reading, error) {
	type query struct {
		pod      *pods.Pod
		agent    *agent.Client
		node     string // node of an accounting pod; "" for a pod of the site
		counters agent.Counters
		err      error
	}
	var queries []*query
	for _, node := range nodes {
		queries = append(queries, &query{pod: c.NodePod(node), agent: c.NodePod(node).Agent(), node: node})
	}
	if !s.onNode() {
		for _, p := range s.Pods {
			for _, a := range p.Agents() {
				queries = append(queries, &query{pod: p, agent: a})
			}
		}
	}
	r := &reading{at: time.Now(), nodes: map[string]agent.Counters{}, own: map[string]*cgroup.Usage{}}
	var wg sync.WaitGroup
	if s.server() != "" {
		wg.Go(func() { r.server, _ = readServer(ctx, c.on.Client) }) // if this fails, the metric of the API server is missing
	}
	for _, q := range queries {
		request := agent.CountersRequest{}
		if s.onNode() {
			request = agent.CountersRequest{Root: nodeCgroups, Cgroups: uidsOn(q.node, list)}
		}
		wg.Go(func() { q.counters, q.err = q.agent.Counters(ctx, request) })
	}
	wg.Wait()
	for _, q := range queries {
		if q.err != nil {
			return nil, q.pod.Disturbed(ctx, q.err)
		}
		if q.node != "" {
			r.nodes[q.node] = q.counters
		}
	}
	for _, q := range queries {
		// A sandbox with a kernel of its own has its own boot id. Its counters omit the usage of the sandbox itself.
		if own := q.counters.Own; !s.onNode() && own != nil && q.counters.BootID == r.nodes[q.pod.Node()].BootID {
			sum := *own
			if before := r.own[q.pod.UID()]; before != nil {
				sum = before.Plus(*own)
			}
			r.own[q.pod.UID()] = &sum
		}
	}
	return r, nil
}
