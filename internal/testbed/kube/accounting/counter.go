// Package accounting measures the resources that the pods of a run use, and the other load on their nodes.
//
// Every node of a trial has one small accounting pod that reads the node's counters. Pods under test cannot read them:
// a
// sandbox shows the counters of another kernel, or none. With "accounting: node" the accounting pod also reads the
// cgroups of pods. It then mounts files of the node, and its namespace must allow Pod Security privileged. It always
// runs as an unprivileged user.
//
// Counter.Tally measures one program. Counter.Begin measures a trial: the load of the machines, sidecars and observed
// components. Both methods take two readings. If a value is unknown in one arm, Tare leaves it out in all arms
// (Missing).
package accounting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/pods"
	"tare/internal/toolformat/promtext"
)

// RoleNode is the role of the accounting pods.
const RoleNode = "node"

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
	// NodePod makes the accounting pod of a node and waits until it is ready. If that fails, it returns the pod beside
	// the error, since the pod may exist.
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

// Counter measures the usage of resources on the nodes of one cluster.
type Counter struct {
	on    *cluster.Cluster
	limit time.Duration // longest wait for the first list of a component's pods

	mu         sync.Mutex
	nodePods   map[string]*pods.Pod
	components []*component      // observed components; nil before the first call of Prepare
	meters     map[string]*meter // meters of pods, by UID
	stop       chan struct{}     // closed to end the watches
}

// NewCounter returns a counter for a cluster, and makes no pods. The caller must close the counter.
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

// Cgroups reads the usage of pods on a node from the pods' cgroups. It leaves out pods without a cgroup, and needs the
// setting "accounting: node".
func (c *Counter) Cgroups(ctx context.Context, s Site, node string, uids []string) ([]cgroup.Usage, error) {
	if err := c.MakePods(ctx, s, []string{node}); err != nil {
		return nil, err
	}
	p := c.NodePod(node)
	counters, err := p.Agent().Counters(ctx, agent.CountersRequest{Root: nodeCgroups, Cgroups: uids})
	return counters.Pods, p.Disturbed(ctx, err)
}

// read reads the nodes' counters, all at once. With "accounting: container", the counters of the site's pods are read
// at the same time.
func (c *Counter) read(ctx context.Context, s Site, nodes []string, list sampledPods) (*reading, error) {
	type query struct {
		pod      *pods.Pod
		agent    *agent.Client
		node     string // node of an accounting pod; "" for a pod of the site
		counters agent.Counters
		err      error
	}
	queries := lists.Map(nodes, func(node string) *query {
		return &query{pod: c.NodePod(node), agent: c.NodePod(node).Agent(), node: node}
	})
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
		wg.Go(func() { r.server, _ = readServer(ctx, c.on.Client) }) // if this reading fails, the trial only lacks the metric of the API server
	}
	for _, q := range queries {
		request := agent.CountersRequest{}
		if s.onNode() {
			request = agent.CountersRequest{Root: nodeCgroups, Cgroups: uidsOn(q.node, list.all()), Quotas: uidsOn(q.node, list.components())}
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
		// A sandbox with a kernel of its own has another boot id. The sandbox's counters are not used, since they omit
		// the CPU time of the sandbox itself.
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

// component is a group of observed pods. A watch keeps the list of pods up to date without requests by trials.
type component struct {
	experiment.Observe
	store cache.Store
}

// watchComponent watches an observed component's pods until stop is closed. It returns after the first list of pods, or
// with an error after the limit.
func watchComponent(
	ctx context.Context, client cluster.Client, o experiment.Observe, limit time.Duration, stop <-chan struct{},
) (*component, error) {
	selector := labels.SelectorFromSet(o.Labels).String()
	// If the API server refuses a watch, an informer does not report it. This direct request returns the error.
	one := metav1.ListOptions{LabelSelector: selector, Limit: 1}
	if _, err := client.CoreV1().Pods(o.Namespace).List(ctx, one); err != nil {
		return nil, fmt.Errorf("observe %s: pods %s in namespace %s: %w", o.Name, selector, o.Namespace, cluster.Explain(err))
	}
	informer := cluster.PodInformer(client, o.Namespace, selector)
	if err := informer.SetTransform(slimPod); err != nil {
		return nil, err
	}
	go informer.Run(stop)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("observe %s: the API server gave no list of the pods %s in namespace %s in %v",
			o.Name, selector, o.Namespace, limit)
	}
	return &component{Observe: o, store: informer.GetStore()}, nil
}

// slimPod drops all fields of a pod that component.pods does not read. This saves memory.
func slimPod(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	s := &corev1.Pod{Status: corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime}}
	s.Name, s.Namespace, s.UID, s.ResourceVersion = p.Name, p.Namespace, p.UID, p.ResourceVersion
	s.DeletionTimestamp = p.DeletionTimestamp
	s.Spec.NodeName = p.Spec.NodeName
	for _, c := range p.Status.ContainerStatuses {
		slim := corev1.ContainerStatus{RestartCount: c.RestartCount}
		if t := c.LastTerminationState.Terminated; t != nil {
			slim.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: t.Reason}
		}
		s.Status.ContainerStatuses = append(s.Status.ContainerStatuses, slim)
	}
	for _, key := range []string{corev1.MirrorPodAnnotationKey, staticHash} {
		if v, ok := p.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, v)
		}
	}
	return s, nil
}

// staticHash is an annotation of static pods. Its value is the UID in the names of the pod's cgroups. In the API, the
// pod has another UID.
const staticHash = "kubernetes.io/config.hash"

// pods lists the component's pods on the nodes of the trial, or on all nodes if the experiment says so (AllNodes).
func (c *component) pods(trial []string) []podRef {
	var list []podRef
	for _, object := range c.store.List() {
		p, ok := object.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if c.Nodes != experiment.AllNodes && !slices.Contains(trial, p.Spec.NodeName) {
			continue
		}
		ref := podRef{
			uid: string(p.UID), node: p.Spec.NodeName,
			waiting: p.Status.Phase == corev1.PodPending, ending: p.DeletionTimestamp != nil,
		}
		if hash := p.Annotations[staticHash]; hash != "" && p.Annotations[corev1.MirrorPodAnnotationKey] != "" {
			ref.uid = hash
		}
		if p.Status.StartTime != nil {
			ref.started = p.Status.StartTime.Time
		}
		for _, c := range p.Status.ContainerStatuses {
			ref.restarts += int(c.RestartCount)
			if t := c.LastTerminationState.Terminated; t != nil && t.Reason == "OOMKilled" {
				ref.killed = true
			}
		}
		list = append(list, ref)
	}
	slices.SortFunc(list, func(a, b podRef) int { return strings.Compare(a.node+" "+a.uid, b.node+" "+b.uid) })
	return list
}

// An API server often runs outside of pods, on a machine that is no node. Its usage is read from its own counters
// (Prometheus' process collector).

type serverProcess struct {
	started float64 // start time in seconds since 1970; another time means another process
	cpu     time.Duration
	memory  int64
	at      time.Time
}

// readServer reads the counters of an API server's process. If there are several API servers, any may respond.
func readServer(ctx context.Context, client cluster.Client) (*serverProcess, error) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(limited)
	if err != nil {
		return nil, fmt.Errorf("/metrics of the API server: %w", cluster.Explain(err))
	}
	p, err := parseProcess(text)
	if p != nil {
		p.at = time.Now()
	}
	return p, err
}

const (
	startTime = "process_start_time_seconds"
	usedTime  = "process_cpu_seconds_total"
	resident  = "process_resident_memory_bytes"
)

func parseProcess(text []byte) (*serverProcess, error) {
	values, err := promtext.Values(text, startTime, usedTime, resident)
	if err != nil {
		return nil, fmt.Errorf("/metrics of the API server: %w", err)
	}
	return &serverProcess{started: values[startTime], memory: int64(values[resident]),
		cpu: time.Duration(min(values[usedTime], 1e9) * float64(time.Second))}, nil
}

// since returns what an API server used between two readings. It returns false if a reading failed, or if the server's
// process changed meanwhile.
func (p *serverProcess) since(before *serverProcess) (testbed.Observed, bool) {
	if p == nil || before == nil || p.started != before.started || p.cpu < before.cpu {
		return testbed.Observed{}, false
	}
	return testbed.Observed{CPU: p.cpu - before.cpu, Wall: p.at.Sub(before.at), Memory: p.memory}, true
}
