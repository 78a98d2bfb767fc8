package accounting

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// Tally measures the usage of one program.
type Tally struct {
	unavailable bool // set if the usage cannot be measured

	// The next fields are set only if the usage is read from cgroups on the pod's node.
	meter   *meter // nil if the agent in the program's pod measures the usage
	counter *Counter
	pod     *pods.Pod
	uid     string
	program *testbed.Usage
	name    string // name of the agent.Follow that samples the pod's memory
}

// Tally begins to measure a program just before its start. Without "accounting: node", a sandboxed subject's usage is
// unknown: its kernel omits the sandbox.
func (c *Counter) Tally(ctx context.Context, s Site, p *pods.Pod, cmd testbed.Command) (*Tally, error) {
	switch {
	case !cmd.Subject:
		return &Tally{}, nil
	case s.onNode():
		return c.tallyOnNode(ctx, s, p)
	}
	sandbox, err := p.Sandbox(ctx)
	return &Tally{unavailable: sandbox != ""}, err
}

// Finish returns the usage of a program that has ended. The argument seen is the usage that the agent in the pod
// measured.
func (t *Tally) Finish(seen testbed.Usage) (testbed.Usage, error) {
	unknown := testbed.Usage{Wall: seen.Wall, Unavailable: true}
	switch {
	case t.unavailable:
		return unknown, nil
	case t.meter == nil:
		return seen, nil
	}
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	defer t.meter.remove(t.program)
	// The context needs no time limit, because the agent's client limits every request.
	now, peak, err := t.read(context.Background(), agent.CountersRequest{Followed: t.name})
	if err != nil || now == nil {
		return unknown, err
	}
	sidecars := t.pod.Sidecars()
	if err := t.meter.read(*now, sidecars); err != nil {
		return unknown, t.disturbance(err)
	}
	used := *t.program
	used.Wall, used.MaxRSS = seen.Wall, max(peak, ownMemory(now, sidecars))
	return used, nil
}

// Abandon ends the tally of a program that failed. From then on, the program gets no share of the pod's usage.
func (t *Tally) Abandon() {
	if t.meter != nil {
		t.meter.mu.Lock()
		defer t.meter.mu.Unlock()
		t.meter.remove(t.program)
	}
}

func (c *Counter) tallyOnNode(ctx context.Context, s Site, p *pods.Pod) (*Tally, error) {
	if err := c.MakePods(ctx, s, []string{p.Node()}); err != nil {
		return nil, err
	}
	uid := p.UID()
	c.mu.Lock()
	if c.meters[uid] == nil {
		c.meters[uid] = &meter{}
	}
	m := c.meters[uid]
	c.mu.Unlock()
	t := &Tally{counter: c, pod: p, uid: uid, meter: m, program: &testbed.Usage{}, name: rand.Text()}
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	follow := &agent.Follow{Name: t.name, Pod: uid, Sidecars: slices.Sorted(maps.Keys(p.Sidecars()))}
	now, _, err := t.read(ctx, agent.CountersRequest{Follow: follow})
	if err != nil || now == nil {
		return &Tally{unavailable: true}, err
	}
	if err := t.meter.read(*now, p.Sidecars()); err != nil {
		return nil, t.disturbance(err)
	}
	t.meter.running = append(t.meter.running, t.program)
	return t, nil
}

// disturbance wraps an error that left a program's cost unknown. The result, a *testbed.Disturbance, makes the trial
// invalid.
func (t *Tally) disturbance(err error) error {
	return &testbed.Disturbance{What: t.pod.String() + " on node " + t.pod.Node() + " cannot be counted", Err: err}
}

// read reads the pod's usage and peak of memory on the node. The usage is nil if the node has no cgroup of the pod.
func (t *Tally) read(ctx context.Context, q agent.CountersRequest) (*cgroup.Usage, int64, error) {
	q.Root, q.Cgroups = nodeCgroups, []string{t.uid}
	p := t.counter.NodePod(t.pod.Node())
	counters, err := p.Agent().Counters(ctx, q)
	if err != nil && ctx.Err() == nil {
		if err = p.Mend(ctx); err == nil {
			counters, err = p.Agent().Counters(ctx, q)
		}
	}
	if err != nil {
		return nil, 0, p.Disturbed(ctx, err)
	}
	if len(counters.Pods) == 0 {
		return nil, 0, nil
	}
	now := &counters.Pods[0]
	return now, counters.Peak, t.meter.identify(ctx, t.pod, now.Containers)
}

// meter measures the CPU time of the programs in one pod. It reads the pod's cgroups on the node at the start and at
// the end of each program.
//
// A program is charged with the pod's usage in between, minus the sidecars' usage. The agent and a sandbox's own
// processes
// are included in every arm. Programs that run at the same time divide the usage evenly, so their sum is never too
// large.
type meter struct {
	mu      sync.Mutex
	last    *cgroup.Usage // latest reading; nil before the first reading
	running []*testbed.Usage
	// unnamed holds the ids of cgroups that belong to no container of the pod; nil before the first reading.
	unnamed map[string]bool
}

// read divides the pod's usage since the last reading among the running programs. The map sidecars holds the sidecars'
// names by container id.
func (m *meter) read(now cgroup.Usage, sidecars map[string]string) error {
	then := m.last
	m.last = &now
	if then == nil || len(m.running) == 0 {
		return nil
	}
	grown := since(now, *then)
	all, system := grown.CPU(), grown.System
	for _, c := range then.Containers {
		if name := sidecars[c.ID]; name != "" && containerOf(&now, c.ID).ID == "" {
			return fmt.Errorf("the container %s ended while a program ran beside it: "+
				"their shares of the pod's CPU time are unknown", safetext.Head(name, cluster.LineLimit))
		}
	}
	for _, c := range now.Containers {
		if sidecars[c.ID] != "" {
			theirs := since(c, containerOf(then, c.ID))
			all, system = all-theirs.CPU(), system-theirs.System
		}
	}
	// The pod's counters are read before those of its sidecars. So the sidecars' usage may seem larger than that of the
	// pod.
	all = max(0, all)
	system = min(max(0, system), all)
	share := time.Duration(len(m.running))
	for _, p := range m.running {
		p.User += (all - system) / share
		p.System += system / share
	}
	return nil
}

func (m *meter) remove(p *testbed.Usage) {
	m.running = slices.DeleteFunc(m.running, func(o *testbed.Usage) bool { return o == p })
}

func ownMemory(now *cgroup.Usage, sidecars map[string]string) int64 {
	own := now.WorkingSet
	for _, c := range now.Containers {
		if sidecars[c.ID] != "" {
			own -= c.WorkingSet
		}
	}
	return max(0, own)
}

// identify looks for cgroups of no known container. At the first reading, unknown cgroups count as the program's.
// Later, identify reads the pod again to learn the name.
func (m *meter) identify(ctx context.Context, p *pods.Pod, found []cgroup.Usage) error {
	names := p.Containers()
	first := m.unnamed == nil
	if first {
		m.unnamed = map[string]bool{}
	}
	for _, c := range found {
		if names[c.ID] != "" || m.unnamed[c.ID] {
			continue
		}
		if !first {
			return p.Refresh(ctx)
		}
		m.unnamed[c.ID] = true
	}
	return nil
}
