// Package pods makes the pods of a run and keeps the connections to the agents in
// them.
//
// A pod is planned (Plan), made and waited for (Maker.Launch), and made again on the
// same node when it is lost (Pod.Mend). While it cannot become ready, the error says
// why, with the events and the last log lines of the pod.
package pods

import (
	"context"
	"io"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Maker makes pods of a run on one cluster.
type Maker struct {
	On      *cluster.Cluster
	Record  *inventory.Record // where pods are written down before they are made
	Owner   inventory.Owner
	Limits  experiment.Timeouts
	Version string // of Tare, which the agents must have
}

// Pod is one pod of Tare's with the connection to its agent. When the pod is lost it
// is made again by the same plan, on the same node.
type Pod struct {
	maker *Maker
	plan  *corev1.Pod

	mu       sync.Mutex
	now      *corev1.Pod              // as it was when it was last seen ready; nil: not made yet
	home     string                   // the node that it was ready on; "" for none yet
	sessions map[string]*agent.Client // with the agents, by container: that of programs, and sidecars of Tare's own
	sandbox  *string                  // that its programs see; nil: not asked yet
}

// String names the pod in messages.
func (p *Pod) String() string { return "pod " + p.plan.Namespace + "/" + p.plan.Name }

// Agent is the connection to the agent in the container of programs.
func (p *Pod) Agent() *agent.Client { return p.AgentIn(Container) }

// AgentIn is the connection to the agent in a container of Tare's own.
func (p *Pod) AgentIn(container string) *agent.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[container]
}

// Agents are the connections to all agents in the pod, that of programs first.
func (p *Pod) Agents() []*agent.Client {
	var all []*agent.Client
	for _, name := range ownContainers(p.plan) {
		all = append(all, p.AgentIn(name))
	}
	return all
}

// Disconnect ends the connections to its agents: it goes now.
func (p *Pod) Disconnect() {
	for _, a := range p.Agents() {
		_ = a.Close()
	}
}

// Get asks the API server for the pod as it is now.
func (p *Pod) Get(ctx context.Context) (*corev1.Pod, error) {
	return p.maker.On.Client.CoreV1().Pods(p.plan.Namespace).Get(ctx, p.plan.Name, metav1.GetOptions{})
}

// Plan is the pod as it was asked for.
func (p *Pod) Plan() *corev1.Pod { return p.plan }

// Seen is the pod as it was last seen ready, or made.
func (p *Pod) Seen() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen()
}

// seen is Seen for who holds the lock.
func (p *Pod) seen() *corev1.Pod {
	if p.now == nil {
		return p.plan
	}
	return p.now
}

// UID is that of the pod that is there now: another one when it was made again.
func (p *Pod) UID() string { return string(p.Seen().UID) }

// Node is the name of the node that it is on, or was on before it was lost.
func (p *Pod) Node() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil && p.now.Spec.NodeName != "" {
		return p.now.Spec.NodeName
	}
	return p.home
}

// Address is the pod's own; invalid where it has none.
func (p *Pod) Address() netip.Addr {
	a, _ := netip.ParseAddr(p.Seen().Status.PodIP)
	return a
}

// New is a pod that has not been made yet.
func (m *Maker) New(plan *corev1.Pod) *Pod {
	p := &Pod{maker: m, plan: plan}
	p.sessions = p.connect()
	return p
}

// connect makes sessions with the agents of the pod that is there, or yet to be made.
func (p *Pod) connect() map[string]*agent.Client {
	all := map[string]*agent.Client{}
	for _, name := range ownContainers(p.plan) {
		dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
			return p.maker.On.Dial(ctx, p.plan.Namespace, p.plan.Name, name, []string{ProgramIn(p.plan, name), "connect"})
		}
		all[name] = agent.NewClient(dial, agent.Options{Patience: p.maker.Limits.Connect.Std(), Alive: p.alive, Version: p.maker.Version})
	}
	return all
}
