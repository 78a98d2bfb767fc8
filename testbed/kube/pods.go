package kube

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/placement"
)

// pod is one pod of Tare's with the connection to its agent. When the pod is
// lost it is made again by the same plan, on the same node.
type pod struct {
	on   *presence
	plan *corev1.Pod

	mu      sync.Mutex
	now     *corev1.Pod // as it was when it was last seen ready
	home    string      // the node that it was ready on; "" for none yet
	session *agent.Session
	meter   *meter
	sandbox *string // that its programs see; nil: not asked yet
	// nameless are the cgroups in the pod that are of none of its containers, by id;
	// nil: not read yet.
	nameless map[string]bool
}

// newPod is a pod that has not been made yet.
func (on *presence) newPod(plan *corev1.Pod) *pod {
	p := &pod{on: on, plan: plan, meter: &meter{}}
	p.session = p.connect()
	return p
}

// connect is a session with the agent of the pod that is there, or yet to be made.
func (p *pod) connect() *agent.Session {
	return agent.NewSession(p.dial, agent.Options{Patience: p.on.limits.Connect.Std(), Alive: p.alive, Version: p.on.bed.options.Version})
}

// dial opens a connection to the agent.
func (p *pod) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	return p.on.Dial(ctx, p.plan.Namespace, p.plan.Name, Container, []string{tareIn(p.plan), "agent", "connect"})
}

// launch asks for pods, after they have been written down where their namespace
// stays, and waits until they can be used.
func (on *presence) launch(ctx context.Context, pods ...*pod) error {
	var items []inventory.Item
	for _, p := range pods {
		items = append(items, inventory.Core("pods", p.plan.Namespace, p.plan.Name))
	}
	if err := on.record.Add(ctx, items...); err != nil {
		return err
	}
	for _, p := range pods {
		if err := p.create(ctx); err != nil {
			return err
		}
	}
	for _, p := range pods {
		if err := p.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// create asks for the pod. A new namespace takes none until the controller manager
// has put the default service account into it.
func (p *pod) create(ctx context.Context) error {
	if err := p.on.record.Add(ctx, inventory.Core("pods", p.plan.Namespace, p.plan.Name)); err != nil {
		return err // the record may be gone by now
	}
	var made *corev1.Pod
	var err error
	early := p.on.Await(ctx, "the default service account of namespace "+p.plan.Namespace, p.on.limits.Ready.Std(), func(ctx context.Context) (bool, string, error) {
		made, err = p.on.Client.CoreV1().Pods(p.plan.Namespace).Create(ctx, p.plan, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") {
			return false, "not made by the controller manager yet", nil
		}
		return true, "", nil
	})
	if early != nil {
		return fmt.Errorf("make %s: %w", p, early)
	}
	if apierrors.IsAlreadyExists(err) {
		// The answer to an earlier try may have been lost.
		if made, err = p.get(ctx); err == nil && !p.on.bed.session.Owner.Owns(made) {
			err = fmt.Errorf("it exists already, and is not of this run")
		}
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", p, cluster.Explain(err))
	}
	p.mu.Lock()
	p.now = made
	p.mu.Unlock()
	return nil
}

func (p *pod) get(ctx context.Context) (*corev1.Pod, error) {
	return p.on.Client.CoreV1().Pods(p.plan.Namespace).Get(ctx, p.plan.Name, metav1.GetOptions{})
}

// String names the pod in messages.
func (p *pod) String() string { return "pod " + p.plan.Namespace + "/" + p.plan.Name }

// seen is the pod as it was last seen ready, or made.
func (p *pod) seen() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return p.plan
	}
	return p.now
}

// uid is that of the pod that is there now: another one when it was made again.
func (p *pod) uid() string { return string(p.seen().UID) }

// node is the name of the node that it is on, or was on before it was lost.
func (p *pod) node() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil && p.now.Spec.NodeName != "" {
		return p.now.Spec.NodeName
	}
	return p.home
}

// address is the pod's own; invalid where it has none.
func (p *pod) address() netip.Addr {
	a, _ := netip.ParseAddr(p.seen().Status.PodIP)
	return a
}

// awaitReady waits until the pod is ready and its agent answers.
func (p *pod) awaitReady(ctx context.Context) error {
	watch := watched{pod: p, since: map[string]time.Time{}}
	if err := p.on.Await(ctx, p.String(), p.on.limits.Ready.Std(), watch.look); err != nil {
		return p.diagnosed(ctx, err)
	}
	answer, cancel := context.WithTimeout(ctx, p.on.limits.Ready.Std())
	defer cancel()
	if _, err := p.session.Round(answer); err != nil {
		return p.diagnosed(ctx, fmt.Errorf("%s runs, but the agent in it does not answer: %w", p, err))
	}
	return nil
}

// watched looks at a pod until it is ready, and remembers since when it has been
// in states that seldom pass.
type watched struct {
	pod   *pod
	since map[string]time.Time
}

func (w watched) look(ctx context.Context) (bool, string, error) {
	got, err := w.pod.get(ctx)
	if apierrors.IsNotFound(err) {
		return false, "", errors.New("it was deleted while it was waited for")
	}
	if err != nil {
		return false, "", err
	}
	if readyPod(got) {
		w.pod.mu.Lock()
		w.pod.now, w.pod.home = got, got.Spec.NodeName
		w.pod.mu.Unlock()
		return true, "", nil
	}
	state, grace := stuck(got)
	if state != "" {
		if w.since[state].IsZero() {
			w.since[state] = time.Now()
		}
		if time.Since(w.since[state]) >= grace {
			return false, "", errors.New(state)
		}
	}
	return false, summary(got), nil
}

// readyPod says whether all containers of the pod are ready, sidecars included.
func readyPod(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// alive says why the agent will never answer again: its pod is gone, or another
// one has its name.
func (p *pod) alive(ctx context.Context) error {
	got, err := p.get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return &goneError{"the pod is gone"}
	case err != nil:
		return nil // not told: it may well live
	}
	return p.gone(got)
}

// goneError says why the pod's agent will never answer again.
type goneError struct{ why string }

func (e *goneError) Error() string { return e.why }

// gone says why a pod as it is now is not, or will not be, the one that was ready.
func (p *pod) gone(now *corev1.Pod) error {
	switch {
	case string(now.UID) != p.uid():
		return &goneError{"the pod was replaced by another of its name"}
	case now.DeletionTimestamp != nil:
		return &goneError{"the pod is being deleted" + because(now)}
	case now.Status.Phase == corev1.PodFailed, now.Status.Phase == corev1.PodSucceeded:
		return &goneError{"the pod has ended" + because(now)}
	}
	for _, c := range now.Status.ContainerStatuses {
		if c.Name == Container && c.State.Terminated != nil {
			return &goneError{"the container has ended: " + terminated(c.State.Terminated)}
		}
	}
	return nil
}

// disturbed explains that the agent of the pod was lost; other errors stay as they are.
func (p *pod) disturbed(ctx context.Context, err error) error {
	var lost *agent.LostError
	var gone *goneError
	if err == nil || ctx.Err() != nil || !errors.As(err, &lost) && !errors.As(err, &gone) && !errors.Is(err, agent.ErrForgotten) {
		return err
	}
	return &testbed.Disturbance{What: p.String() + " on node " + p.node() + " is lost", Err: p.diagnosed(ctx, err)}
}

// helperPod makes a pod of Tare's own that is about a node and not about an
// arm, in the namespace for those, on a node by its name. It closes with the
// testbed. The shape gives it the rights that it needs.
func (s *Site) helperPod(ctx context.Context, role, node string, shape func(*corev1.Pod)) (*pod, error) {
	on, err := s.presence(ctx)
	if err != nil {
		return nil, err
	}
	level := restricted
	if s.level.Accounting == experiment.OnNode {
		level = privileged
	}
	namespace, err := on.makeNodesNamespace(ctx, s.level.Namespace, level)
	if err != nil {
		return nil, err
	}
	n, err := on.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node, cluster.Explain(err))
	}
	// Names of nodes are long and often differ in their last letters only.
	digest := fnv.New32a()
	digest.Write([]byte(node))
	plan := s.bed.planPod(s.level, cluster.Label(fmt.Sprintf("tare-%s-%s-%08x-%s", s.bed.session.Owner, role, digest.Sum32(), node), cluster.NameLimit), role)
	plan.Namespace = namespace
	placement.Pin(plan, n)
	plan.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	shape(plan)
	p := on.newPod(plan)
	on.mu.Lock()
	on.helpers = append(on.helpers, p)
	on.mu.Unlock()
	return p, on.launch(ctx, p)
}
