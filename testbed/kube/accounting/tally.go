package accounting

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"tare/testbed"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/kube/pods"
)

// Tally finds out what one program uses.
type Tally struct {
	unavailable bool
	node        *onNode // nil: it is what the agent in the pod sees
}

// Tally begins to count for a program that is about to start in a pod of the site.
// With accounting: node the usage of every program under test is read on the node, in
// all arms alike. Otherwise it is what the kernel in the pod says, which a sandbox
// with a kernel of its own does not know.
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

// Finish gives the usage of the program, which has just ended; seen is what the
// agent in the pod saw of it.
func (t Tally) Finish(seen testbed.Usage) (testbed.Usage, error) {
	if t.node != nil {
		return t.node.finish(seen)
	}
	if t.unavailable {
		return unknown(seen), nil
	}
	return seen, nil
}

// Abandon ends the tally of a program whose usage nobody will ask for, so that others are
// charged from now on.
func (t Tally) Abandon() {
	if t.node != nil {
		t.node.meter.mu.Lock()
		defer t.node.meter.mu.Unlock()
		t.node.meter.leave(t.node.program)
	}
}

// unknown is the usage of which nothing is known but how long the program took.
func unknown(seen testbed.Usage) testbed.Usage {
	return testbed.Usage{Wall: seen.Wall, Unavailable: true}
}

// onNode counts on the pod's node.
type onNode struct {
	by      *Counter
	in      *pods.Pod
	uid     string
	meter   *meter
	program *programUse
	name    string // under which its memory is followed
}

// tallyOnNode begins to count on the node; nil: the pod cannot be read there.
func (c *Counter) tallyOnNode(ctx context.Context, s Site, p *pods.Pod) (*onNode, error) {
	if err := c.cover(ctx, s, []string{p.Node()}); err != nil {
		return nil, err
	}
	uid := p.UID()
	t := &onNode{by: c, in: p, uid: uid, meter: c.meterOf(uid), program: &programUse{}, name: rand.Text()}
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	follow := &agent.Follow{Name: t.name, Pod: uid, Sidecars: slices.Sorted(maps.Keys(p.Sidecars()))}
	now, _, err := t.read(ctx, agent.Question{Follow: follow})
	if err != nil || now == nil {
		return nil, err
	}
	if err := t.meter.read(*now, p.Sidecars()); err != nil {
		return nil, t.unclear(err)
	}
	t.meter.running = append(t.meter.running, t.program)
	return t, nil
}

// meterOf is the meter of a pod. One that was made again has another UID, and so
// begins with a new one.
func (c *Counter) meterOf(uid string) *meter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.meters[uid] == nil {
		c.meters[uid] = &meter{}
	}
	return c.meters[uid]
}

// finish reads the node's counters once more.
func (t *onNode) finish(seen testbed.Usage) (testbed.Usage, error) {
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	defer t.meter.leave(t.program)
	now, peak, err := t.read(context.Background(), agent.Question{Followed: t.name}) // sessions have limits of their own
	if err != nil || now == nil {
		return unknown(seen), err
	}
	if err := t.meter.read(*now, t.in.Sidecars()); err != nil {
		return unknown(seen), t.unclear(err)
	}
	return t.program.usage(seen.Wall, max(peak, ownMemory(now, t.in.Sidecars()))), nil
}

// unclear spoils a trial in which nothing went wrong, but nobody knows what it cost.
func (t *onNode) unclear(err error) error {
	return &testbed.Disturbance{What: t.in.String() + " on node " + t.in.Node() + " cannot be counted", Err: err}
}

// read asks the agent on the node for the pod, which may not be found there (nil),
// and for the peak of its memory.
func (t *onNode) read(ctx context.Context, q agent.Question) (*cgroup.Usage, int64, error) {
	q.Root, q.Cgroups = nodeCgroups, []string{t.uid}
	node := t.in.Node()
	counters, err := t.by.On(node).Agent().Counters(ctx, q)
	if err != nil && ctx.Err() == nil {
		if err = t.by.mend(ctx, []string{node}); err == nil {
			counters, err = t.by.On(node).Agent().Counters(ctx, q)
		}
	}
	if err != nil {
		return nil, 0, t.by.On(node).Disturbed(ctx, err)
	}
	if len(counters.Pods) == 0 {
		return nil, 0, nil
	}
	now := &counters.Pods[0]
	return now, counters.Peak, t.meter.meet(ctx, t.in, now.Containers)
}
