package accounting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// Sample measures one trial by two readings, at its beginning and at its end.
type Sample struct {
	counter *Counter
	site    Site
	nodes   []string
	before  *reading
}

// Begin takes the first reading of a sample from all agents. Accounting then does nothing until End.
func (c *Counter) Begin(ctx context.Context, s Site) (*Sample, error) {
	nodes, err := c.Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		list := c.sampledPods(s, nodes)
		before, err := c.read(ctx, s, nodes, list.all())
		if err == nil {
			return &Sample{counter: c, site: s, nodes: nodes, before: before}, nil
		}
		if again || ctx.Err() != nil {
			return nil, err
		}
		if err := c.mend(ctx, nodes); err != nil { // the runner only mends pods of the site, not accounting pods
			return nil, err
		}
	}
}

// End takes the second reading and returns the differences, without the values in missing.
func (s *Sample) End(ctx context.Context, missing *Missing) (testbed.Sample, error) {
	list := s.counter.sampledPods(s.site, s.nodes)
	after, err := s.counter.read(ctx, s.site, s.nodes, list.all())
	if err != nil {
		return testbed.Sample{}, err
	}
	return missing.leaveOut(sample(s.before, after, list), list)
}

// Prepare makes the accounting pods and the watches for a site. It returns the nodes whose counters must be read: the
// nodes of the site's pods and of observed pods.
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
	return nodes, c.MakePods(ctx, s, nodes)
}

func (c *Counter) sampledPods(s Site, nodes []string) sampledPods {
	list := sampledPods{observed: c.observed(s.Nodes), server: s.server(), onNode: s.onNode()}
	for _, node := range nodes {
		if p := c.NodePod(node); p != nil {
			list.nodePods = append(list.nodePods, podRef{uid: p.UID(), node: node})
		}
	}
	for _, p := range s.Pods {
		list.site = append(list.site, podRef{
			uid: p.UID(), node: p.Node(), role: p.Plan().Labels[inventory.RoleLabel], sidecars: p.Sidecars(),
		})
		list.sidecars = append(list.sidecars, p.SidecarNames()...)
	}
	slices.Sort(list.sidecars)
	list.sidecars = slices.Compact(list.sidecars)
	return list
}

func sample(before, after *reading, s sampledPods) testbed.Sample {
	out := testbed.Sample{Conditions: conditions(before, after, s), Observed: observed(before, after, s)}
	known := false
	if s.onNode {
		out.Sidecars, known = sidecarUsage(before, after, s.site)
	}
	out.SidecarsUnavailable = !known && len(s.sidecars) > 0
	return out
}

// Inspect reads the counters of a site and adds the unknown values to missing.
func (c *Counter) Inspect(ctx context.Context, s Site, missing *Missing) error {
	sample, err := c.Begin(ctx, s)
	if err == nil {
		missing.inspect(sample.before, c.sampledPods(s, sample.nodes), s.Arm)
	}
	return err
}

// watchAll begins to watch the components that the experiment observes. Later calls do nothing.
func (c *Counter) watchAll(ctx context.Context, list []experiment.Observe) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.components != nil {
		return nil
	}
	components := make([]*component, 0, len(list))
	for _, o := range list {
		if o.Server {
			// Trials ignore errors of readServer. This first reading returns them.
			if _, err := readServer(ctx, c.on.Client); err != nil {
				return fmt.Errorf("observe %s: %w", o.Name, err)
			}
			continue
		}
		watched, err := watchComponent(ctx, c.on.Client, o, c.limit, c.stop)
		if err != nil {
			return err
		}
		components = append(components, watched)
	}
	c.components = components
	return nil
}

func (c *Counter) observed(trial []string) map[string][]podRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]podRef{}
	for _, o := range c.components {
		all[o.Name] = o.pods(trial)
	}
	return all
}

// observed adds up the usage of each component's pods. If the usage of a running pod is unknown, the component is
// left out, since the sum would be too small.
func observed(before, after *reading, s sampledPods) map[string]testbed.Observed {
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
			o.Wall = max(o.Wall, wallTime(before, after, p.node))
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

// observedCPU returns the CPU time of an observed pod that exists at the second reading, or false if it is unknown.
// All CPU time of a pod that started after the first reading counts.
func observedCPU(before, after *reading, p podRef) (time.Duration, bool) {
	if cpu, known := used(before, after, p); known {
		return cpu, true
	}
	c, asked := after.cgroup(p), before.nodes[p.node].Time
	if c == nil || asked.IsZero() || p.started.IsZero() || p.started.Before(asked.Truncate(time.Second)) {
		return 0, false // the pod's CPU time at the first reading is unknown
	}
	return c.CPU, true
}

// sidecarUsage adds up the usage of sidecars over all pods of a role, by ROLE-NAME, except Tare's own sidecars. All
// usage of a sidecar counts if the sidecar appears only at the second reading. known is false if one pod cannot be
// read, since the sum would be too small.
func sidecarUsage(before, after *reading, site []podRef) (all map[string]testbed.Usage, known bool) {
	for _, p := range site {
		b, a := before.cgroup(p), after.cgroup(p)
		if a == nil || b == nil {
			return nil, false
		}
		for _, now := range a.Containers {
			name := p.sidecars[now.ID]
			if name == "" || pods.HasAgent(name) {
				continue
			}
			name = p.role + "-" + name
			grown, u := since(now, containerOf(b, now.ID)), all[name]
			u.User += grown.User
			u.System += grown.System
			u.Wall = max(u.Wall, wallTime(before, after, p.node))
			u.MaxRSS += now.WorkingSet
			if all == nil {
				all = map[string]testbed.Usage{}
			}
			all[name] = u
		}
	}
	return all, true
}

func containerOf(pod *cgroup.Usage, id string) cgroup.Usage {
	for _, c := range pod.Containers {
		if c.ID == id {
			return c
		}
	}
	return cgroup.Usage{}
}
