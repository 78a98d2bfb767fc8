package accounting

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/pods"
)

// Tally measures the usage of one program.
type Tally struct {
	unavailable bool       // set if the usage cannot be measured
	node        *nodeTally // measurement by the cgroups on the node; nil if the agent in the pod measures
}

// Tally begins to measure a program that is about to start in a pod of the site. With "accounting: node", the
// usage of every subject is read on the node, in all arms. Otherwise the usage is what the kernel of the pod
// counts. If this is the kernel of a sandbox, it does not count the sandbox's own usage. The tally is then
// unavailable.
func (c *Counter) Tally(ctx context.Context, s Site, p *pods.Pod, cmd testbed.Command) (Tally, error) {
	switch {
	case !cmd.Subject:
		return Tally{}, nil
	case s.onNode():
		node, err := c.tallyOnNode(ctx, s, p)
		return Tally{unavailable: node == nil, node: node}, err
	}
	sandbox, err := p.Sandbox(ctx)
	return Tally{unavailable: sandbox != ""}, err
}

// Finish returns the usage of the program, which has just ended. seen is the usage as the agent in the pod
// measured it.
func (t Tally) Finish(seen testbed.Usage) (testbed.Usage, error) {
	if t.node != nil {
		return t.node.finish(seen)
	}
	if t.unavailable {
		return unavailable(seen), nil
	}
	return seen, nil
}

// Abandon ends the tally of a program that failed. The program then no longer shares the pod's usage with
// other programs.
func (t Tally) Abandon() {
	if t.node != nil {
		t.node.meter.mu.Lock()
		defer t.node.meter.mu.Unlock()
		t.node.meter.remove(t.node.program)
	}
}

// unavailable returns a usage with nothing but the program's wall-clock time.
func unavailable(seen testbed.Usage) testbed.Usage {
	return testbed.Usage{Wall: seen.Wall, Unavailable: true}
}

// nodeTally measures a program by the cgroups on the pod's node.
type nodeTally struct {
	counter *Counter
	pod     *pods.Pod
	uid     string
	meter   *meter
	program *programUse
	name    string // name of the agent.Follow that samples the peak of memory
}

// tallyOnNode begins to measure a program on the node. It returns nil if the node shows no cgroup of the pod.
func (c *Counter) tallyOnNode(ctx context.Context, s Site, p *pods.Pod) (*nodeTally, error) {
	if err := c.MakePods(ctx, s, []string{p.Node()}); err != nil {
		return nil, err
	}
	uid := p.UID()
	t := &nodeTally{counter: c, pod: p, uid: uid, meter: c.meterOf(uid), program: &programUse{}, name: rand.Text()}
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	follow := &agent.Follow{Name: t.name, Pod: uid, Sidecars: slices.Sorted(maps.Keys(p.Sidecars()))}
	now, _, err := t.read(ctx, agent.CountersRequest{Follow: follow})
	if err != nil || now == nil {
		return nil, err
	}
	if err := t.meter.read(*now, p.Sidecars()); err != nil {
		return nil, t.disturbance(err)
	}
	t.meter.running = append(t.meter.running, t.program)
	return t, nil
}

// meterOf returns the meter of a pod. If a pod is made again, it has a new UID, and so a new meter.
func (c *Counter) meterOf(uid string) *meter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.meters[uid] == nil {
		c.meters[uid] = &meter{}
	}
	return c.meters[uid]
}

// finish takes the last reading and returns the program's usage.
func (t *nodeTally) finish(seen testbed.Usage) (testbed.Usage, error) {
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	defer t.meter.remove(t.program)
	// The agent's client has a time limit of its own, so the context needs none.
	now, peak, err := t.read(context.Background(), agent.CountersRequest{Followed: t.name})
	if err != nil || now == nil {
		return unavailable(seen), err
	}
	sidecars := t.pod.Sidecars()
	if err := t.meter.read(*now, sidecars); err != nil {
		return unavailable(seen), t.disturbance(err)
	}
	return t.program.usage(seen.Wall, max(peak, ownMemory(now, sidecars))), nil
}

// disturbance returns an error that makes the trial invalid. The program ran, but its cost is unknown.
func (t *nodeTally) disturbance(err error) error {
	return &testbed.Disturbance{What: t.pod.String() + " on node " + t.pod.Node() + " cannot be counted", Err: err}
}

// read reads, on the node, the pod's usage and the peak of its memory. The usage is nil if the node shows no
// cgroup of the pod.
func (t *nodeTally) read(ctx context.Context, q agent.CountersRequest) (*cgroup.Usage, int64, error) {
	q.Root, q.Cgroups = nodeCgroups, []string{t.uid}
	node := t.pod.Node()
	counters, err := t.counter.NodePod(node).Agent().Counters(ctx, q)
	if err != nil && ctx.Err() == nil {
		if err = t.counter.mend(ctx, []string{node}); err == nil {
			counters, err = t.counter.NodePod(node).Agent().Counters(ctx, q)
		}
	}
	if err != nil {
		return nil, 0, t.counter.NodePod(node).Disturbed(ctx, err)
	}
	if len(counters.Pods) == 0 {
		return nil, 0, nil
	}
	now := &counters.Pods[0]
	return now, counters.Peak, t.meter.identify(ctx, t.pod, now.Containers)
}
