package kube

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/agent"
)

// bill is how the usage of one program is found.
type bill interface {
	// settle gives the usage of the program, which has just ended; seen is what the
	// agent in the pod saw of it.
	settle(seen testbed.Usage) (testbed.Usage, error)
	// drop forgets a program of which nobody will ask.
	drop()
}

// bill begins to count for a program that is about to start. With accounting: node
// the usage of every program under test is read on the node, in all arms alike.
// Otherwise it is what the kernel in the pod says, which a sandbox with a kernel
// of its own does not know.
func (s *Site) bill(ctx context.Context, p *pod, cmd testbed.Command) (bill, error) {
	switch {
	case !cmd.Subject:
		return asSeen{}, nil
	case s.level.Accounting == experiment.OnNode:
		return s.nodeBill(ctx, p)
	}
	sandbox, err := p.sandboxed(ctx)
	if err != nil {
		return nil, err
	}
	if sandbox != "" {
		return notTold{}, nil
	}
	return asSeen{}, nil
}

// asSeen takes what the agent saw.
type asSeen struct{}

func (asSeen) settle(seen testbed.Usage) (testbed.Usage, error) { return seen, nil }
func (asSeen) drop()                                            {}

// notTold takes the time that it took only.
type notTold struct{}

func (notTold) settle(seen testbed.Usage) (testbed.Usage, error) {
	return testbed.Usage{Wall: seen.Wall, Unavailable: true}, nil
}
func (notTold) drop() {}

// onNode counts on the pod's node.
type onNode struct {
	a       *accounting
	in      *pod
	uid     string
	meter   *meter
	program *metered
	name    string // under which its memory is followed
}

// nodeBill begins to count on the node.
func (s *Site) nodeBill(ctx context.Context, p *pod) (bill, error) {
	a, err := s.accounting(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.cover(ctx, s, []string{p.node()}); err != nil {
		return nil, err
	}
	p.mu.Lock()
	m := p.meter
	p.mu.Unlock()
	b := &onNode{a: a, in: p, uid: p.uid(), meter: m, program: &metered{}, name: rand.Text()}
	m.mu.Lock()
	defer m.mu.Unlock()
	follow := &agent.Follow{Name: b.name, Pod: b.uid, Sidecars: slices.Sorted(maps.Keys(p.sidecars()))}
	now, _, err := b.read(ctx, agent.Question{Follow: follow})
	if err != nil {
		return nil, err
	}
	if now == nil {
		return notTold{}, nil
	}
	if err := m.read(*now, p.sidecars()); err != nil {
		return nil, b.in.unclear(err)
	}
	m.running = append(m.running, b.program)
	return b, nil
}

// settle reads the node's counters once more.
func (b *onNode) settle(seen testbed.Usage) (testbed.Usage, error) {
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	defer b.meter.leave(b.program)
	now, peak, err := b.read(context.Background(), agent.Question{Followed: b.name}) // sessions have limits of their own
	if err != nil {
		return testbed.Usage{Wall: seen.Wall, Unavailable: true}, err
	}
	if now == nil {
		return notTold{}.settle(seen)
	}
	if err := b.meter.read(*now, b.in.sidecars()); err != nil {
		return testbed.Usage{Wall: seen.Wall, Unavailable: true}, b.in.unclear(err)
	}
	return b.program.usage(seen.Wall, max(peak, ownMemory(now, b.in.sidecars()))), nil
}

func (b *onNode) drop() {
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	b.meter.leave(b.program)
}

// unclear is a trial that did not go wrong, but of which it is not known what it cost.
func (p *pod) unclear(err error) error {
	return &testbed.Disturbance{What: p.String() + " on node " + p.node() + " cannot be counted", Err: err}
}

// read asks the agent on the node for the pod, which may not be found there (nil),
// and for the peak of its memory.
func (b *onNode) read(ctx context.Context, q agent.Question) (*agent.Cgroup, int64, error) {
	q.Root, q.Cgroups = nodeCgroups, []string{b.uid}
	node := b.in.node()
	counters, err := b.a.helperOn(node).session.Counters(ctx, q)
	if err != nil && ctx.Err() == nil {
		if err = b.a.mend(ctx, []string{node}); err == nil {
			counters, err = b.a.helperOn(node).session.Counters(ctx, q)
		}
	}
	if err != nil {
		return nil, 0, b.a.helperOn(node).disturbed(ctx, err)
	}
	if len(counters.Pods) == 0 {
		return nil, 0, nil
	}
	now := &counters.Pods[0]
	return now, counters.Peak, b.in.meet(ctx, now.Containers)
}
