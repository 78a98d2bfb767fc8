package accounting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/agent/cgroup"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/pods"
)

// Sample is a trial under way at a site, of which the first reading has been taken.
type Sample struct {
	by     *Counter
	site   Site
	nodes  []string
	before *reading
}

// Begin takes the first reading of a sample. All agents are asked at the same time,
// once, and again at the end; in between accounting does nothing.
func (c *Counter) Begin(ctx context.Context, s Site) (*Sample, error) {
	nodes, err := c.Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	at := c.subjects(s, nodes)
	before, err := c.read(ctx, s, nodes, at.all())
	if err != nil && ctx.Err() == nil {
		// The runner mends the site's pods; those that count are mended here.
		if err = c.mend(ctx, nodes); err == nil {
			at = c.subjects(s, nodes)
			before, err = c.read(ctx, s, nodes, at.all())
		}
	}
	if err != nil {
		return nil, err
	}
	return &Sample{by: c, site: s, nodes: nodes, before: before}, nil
}

// End takes the second reading and says what happened in between, without what is
// missing in some arm of the run; nil: nobody has looked.
func (s *Sample) End(ctx context.Context, missing *Missing) (testbed.Sample, error) {
	at := s.by.subjects(s.site, s.nodes)
	after, err := s.by.read(ctx, s.site, s.nodes, at.all())
	if err != nil {
		return testbed.Sample{}, err
	}
	return missing.leaveOut(sample(s.before, after, at), at)
}

// Prepare makes ready what counts for a site, and gives the nodes to ask: those of the
// site's pods and those of the pods observed elsewhere.
func (c *Counter) Prepare(ctx context.Context, s Site) ([]string, error) {
	if err := c.watchAll(ctx, s.Observe); err != nil {
		return nil, err
	}
	nodes := slices.Clone(s.Nodes)
	for _, pods := range c.observed(nodes) {
		for _, p := range pods {
			if !slices.Contains(nodes, p.node) {
				nodes = append(nodes, p.node)
			}
		}
	}
	slices.Sort(nodes)
	return nodes, c.cover(ctx, s, nodes)
}

// subjects lists the pods that a sample is about, as they are now.
func (c *Counter) subjects(s Site, nodes []string) subjects {
	list := subjects{observed: c.observed(s.Nodes), server: s.server(), onNode: s.onNode()}
	for _, node := range nodes {
		if p := c.On(node); p != nil {
			list.nodePods = append(list.nodePods, placed{uid: p.UID(), node: node})
		}
	}
	for _, p := range s.Pods {
		list.site = append(list.site, placed{uid: p.UID(), node: p.Node(), role: p.Plan().Labels[inventory.RoleLabel], sidecars: p.Sidecars()})
		list.sidecars = append(list.sidecars, p.SidecarNames()...)
	}
	slices.Sort(list.sidecars)
	list.sidecars = slices.Compact(list.sidecars)
	return list
}

// sample says what happened between two readings.
func sample(before, after *reading, s subjects) testbed.Sample {
	out := testbed.Sample{Conditions: conditions(before, after, s), Observed: observed(before, after, s)}
	known := false
	if s.onNode {
		out.Sidecars, known = sidecarUsage(before, after, s.site)
	}
	out.SidecarsUnavailable = !known && len(s.sidecars) > 0
	return out
}

// Inspect adds to what is missing what a site does not know.
func (c *Counter) Inspect(ctx context.Context, s Site, missing *Missing) error {
	nodes, err := c.Prepare(ctx, s)
	if err != nil {
		return err
	}
	at := c.subjects(s, nodes)
	r, err := c.read(ctx, s, nodes, at.all())
	if err != nil {
		return err
	}
	missing.look(r, at, s.Arm)
	return nil
}

// watchAll begins to watch the components that the experiment observes, unless they
// are watched already.
func (c *Counter) watchAll(ctx context.Context, list []experiment.Observe) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.components != nil {
		return nil
	}
	components := make([]*component, 0, len(list))
	for _, o := range list {
		if o.Server {
			// Later readings that fail say nothing. So it is read once for the reason.
			if _, err := readServer(ctx, c.on.Client); err != nil {
				return fmt.Errorf("observe %s: %w", o.Name, err)
			}
			continue
		}
		one, err := watchComponent(ctx, c.on.Client, o, c.limit, c.stop)
		if err != nil {
			return err
		}
		components = append(components, one)
	}
	c.components = components
	return nil
}

// observed gives the pods of each component as they are now.
func (c *Counter) observed(trial []string) map[string][]placed {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]placed{}
	for _, one := range c.components {
		all[one.Name] = one.pods(trial)
	}
	return all
}

// observed sums up what the pods of each component used. A component is left out when
// one of its pods runs and cannot be read: the sum over the others would look like the
// sum over all.
func observed(before, after *reading, s subjects) map[string]testbed.Observed {
	all := map[string]testbed.Observed{}
	for name, pods := range s.observed {
		var o testbed.Observed
		complete, found := true, false
		for _, p := range pods {
			cpu, known := observedCPU(before, after, p)
			if !known {
				_, looked := after.nodes[p.node]
				complete = complete && looked && after.cgroup(p) == nil && (p.waiting || p.ending)
				continue
			}
			found = true
			o.CPU += cpu
			o.Memory += after.cgroup(p).WorkingSet
			o.Wall = max(o.Wall, wallOf(before, after, p.node))
		}
		if complete && found {
			all[name] = o
		}
	}
	if o, known := after.server.since(before.server); known && s.server != "" {
		all[s.server] = o
	}
	return all
}

// observedCPU is the CPU time of one observed pod that is there at the second reading.
// If it began after the first, all that it used counts. A pod that ended in between is
// not there any more, and what it used is lost.
func observedCPU(before, after *reading, p placed) (time.Duration, bool) {
	if cpu, known := used(before, after, p); known {
		return cpu, true
	}
	c, asked := after.cgroup(p), before.nodes[p.node].Time
	if c == nil || asked.IsZero() || p.started.IsZero() || p.started.Before(asked.Truncate(time.Second)) {
		return 0, false // what it had used by the first reading is not known
	}
	return c.CPU, true
}

// sidecarUsage is what the sidecars that are not Tare's used, by the role of their pods and their name, summed over
// the pods of a role. A sidecar that is new at the second reading began in between. When one pod
// cannot be read, nothing is known at all: the sum over the other pods would look like the sum over all.
func sidecarUsage(before, after *reading, site []placed) (all map[string]testbed.Usage, known bool) {
	for _, p := range site {
		b, a := before.cgroup(p), after.cgroup(p)
		if a == nil || b == nil {
			return nil, false
		}
		for _, now := range a.Containers {
			name := p.sidecars[now.ID]
			if name == "" || pods.Own(name) {
				continue
			}
			name = p.role + "-" + name
			then := within(b, now.ID)
			grown := cpuTime{now.CPU, now.System}.since(cpuTime{then.CPU, then.System})
			u := all[name]
			u.User += grown.all - grown.system
			u.System += grown.system
			u.Wall = max(u.Wall, wallOf(before, after, p.node))
			u.MaxRSS += now.WorkingSet
			if all == nil {
				all = map[string]testbed.Usage{}
			}
			all[name] = u
		}
	}
	return all, true
}

// within finds one container in a pod; zero: it is not there.
func within(pod *cgroup.Usage, id string) cgroup.Container {
	for _, c := range pod.Containers {
		if c.ID == id {
			return c
		}
	}
	return cgroup.Container{}
}
