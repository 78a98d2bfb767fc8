package accounting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// Sample measures one trial by two readings, at its beginning and at its end.
type Sample struct {
	counter *Counter
	site    Site
	nodes   []string
	before  *reading
}

// Begin takes the first reading of a sample from all agents. The sample then reads nothing until End.
func (c *Counter) Begin(ctx context.Context, s Site) (*Sample, error) {
	nodes, err := c.Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		list := c.sampledPods(s, nodes)
		before, err := c.read(ctx, s, nodes, list)
		if err == nil {
			return &Sample{counter: c, site: s, nodes: nodes, before: before}, nil
		}
		if again || ctx.Err() != nil {
			return nil, err
		}
		if err := pods.Mend(ctx, lists.Map(nodes, c.NodePod)); err != nil { // the accounting pods must be mended here: the runner only mends the site's pods
			return nil, err
		}
	}
}

// End takes the second reading and returns the use between both readings. It leaves out values that are unknown in some
// arm, which missing collects.
func (s *Sample) End(ctx context.Context, missing *Missing) (testbed.Sample, error) {
	list := s.counter.sampledPods(s.site, s.nodes)
	after, err := s.counter.read(ctx, s.site, s.nodes, list)
	if err != nil {
		return testbed.Sample{}, err
	}
	return missing.leaveOut(sample(s.before, after, list), list)
}

// Prepare makes a site's accounting pods and watches. It returns the nodes of the site's pods and of observed pods.
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

// Inspect reads the counters of a site, and notes in missing which values are unknown.
func (c *Counter) Inspect(ctx context.Context, s Site, missing *Missing) error {
	sample, err := c.Begin(ctx, s)
	if err == nil {
		missing.inspect(sample.before, c.sampledPods(s, sample.nodes), s.Arm)
	}
	return err
}

func (c *Counter) watchAll(ctx context.Context, list []experiment.Observe) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.components != nil {
		return nil
	}
	components := make([]*component, 0, len(list))
	for _, o := range list {
		if o.Server {
			// This call only finds errors early. Later, trials ignore the errors of readServer.
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

// observed adds up the usage of each component's pods. It omits a component if a running pod's usage is unknown.
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
			o.Quota = o.Quota.Worst(quotaOf(before.cgroup(p), after.cgroup(p), p))
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

// observedCPU returns the CPU time of an observed pod between the readings; false: unknown. If the pod started in
// between, all its time counts.
func observedCPU(before, after *reading, p podRef) (time.Duration, bool) {
	if cpu, known := used(before, after, p); known {
		return cpu, true
	}
	c, asked := after.cgroup(p), before.nodes[p.node].Time
	if c == nil || asked.IsZero() || p.started.IsZero() || p.started.Before(asked.Truncate(time.Second)) {
		return 0, false // the pod's CPU time before the first reading is unknown, so the growth is also unknown
	}
	return c.CPU, true
}

// sidecarUsage adds up the usage of sidecars, without Tare's own, by ROLE-NAME. known is false if one pod's usage is
// unknown.
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
	if i := slices.IndexFunc(pod.Containers, func(c cgroup.Usage) bool { return c.ID == id }); i >= 0 {
		return pod.Containers[i]
	}
	return cgroup.Usage{}
}

// Missing holds the values that are unknown in some arm; Inspect fills it. Tare leaves these values out in every arm,
// so that arms stay comparable.
type Missing struct {
	foreign, throttling, sidecars unknown
	threads                       bool // set if kernel threads' CPU time counts as foreign programs' CPU time
}

// unknown holds the arms in which one value is unknown, grouped by the reason.
type unknown struct {
	whys []string
	arms map[string][]string
}

func (u *unknown) add(arm, why string) {
	if u.arms == nil {
		u.arms = map[string][]string{}
	}
	if !slices.Contains(u.whys, why) {
		u.whys = append(u.whys, why)
	}
	if arm = safetext.Head(arm, cluster.LineLimit); !slices.Contains(u.arms[why], arm) {
		u.arms[why] = append(u.arms[why], arm)
	}
}

// String lists each reason with its arms, whose values are unknown: "arms a, b (why); arm c (why)".
func (u *unknown) String() string {
	parts := make([]string, len(u.whys))
	for i, why := range u.whys {
		names := "arm "
		if len(u.arms[why]) > 1 {
			names = "arms "
		}
		parts[i] = names + strings.Join(u.arms[why], ", ") + " (" + why + ")"
	}
	return strings.Join(parts, "; ")
}

const threadsNote = "the CPU time of the nodes' kernel threads is unknown: it counts as that of other programs " +
	"(limits.foreignCPU), although they may work for the trial, such as by encrypting"

const (
	notShown = "the container runtime does not show the usage of its pods; accounting: " +
		string(experiment.OnNode) + " may"
	notCounted = "the kernel does not count it for its pods"
)

func (m *Missing) inspect(r *reading, s sampledPods, arm string) {
	for _, p := range slices.Concat(s.site, s.nodePods) {
		if r.cgroup(p) != nil {
			continue
		}
		why := notShown
		if s.onNode {
			why = "the cgroups of its pods are not found on node " + safetext.Head(p.node, cluster.LineLimit)
		}
		m.foreign.add(arm, why)
		if !slices.ContainsFunc(s.site, func(o podRef) bool { return o.uid == p.uid }) {
			continue
		}
		m.throttling.add(arm, why)
		if s.onNode && len(s.sidecars) > 0 {
			m.sidecars.add(arm, why)
		}
	}
	for _, p := range s.site {
		if c := r.cgroup(p); c != nil && c.Throttled < 0 {
			m.throttling.add(arm, notCounted)
		}
		m.threads = m.threads || r.nodes[p.node].Grouped == nil
	}
	if s.onNode || len(s.sidecars) == 0 {
		return
	}
	why := "beside the programs there is " + strings.Join(s.sidecars, ", ") +
		", which is not counted; accounting: " + string(experiment.OnNode) + " counts it"
	m.foreign.add(arm, why)
	m.throttling.add(arm, why)
	m.sidecars.add(arm, why)
}

// Notes returns the notes about missing values that the run records.
func (m *Missing) Notes() []string {
	var notes []string
	add := func(u *unknown, text string) {
		if len(u.whys) > 0 {
			notes = append(notes, text+u.String())
		}
	}
	add(&m.foreign, "limits.foreignCPU is applied to no arm: the CPU time of other programs is unknown for ")
	add(&m.throttling, "limits.throttling is applied to no arm: how often a CPU limit held programs up is unknown for ")
	add(&m.sidecars, "the metrics of CPU time of the whole and of the layer are missing in all arms: "+
		"the layer's cost is unknown for ")
	if m.threads && len(m.foreign.whys) == 0 {
		notes = append(notes, threadsNote)
	}
	return notes
}

// leaveOut removes from a sample the values that are unknown in some arm. A further unknown value is an error: the
// trial is invalid.
func (m *Missing) leaveOut(out testbed.Sample, s sampledPods) (testbed.Sample, error) {
	if m == nil {
		return out, nil // m is nil: Inspect was not called, so no value is left out
	}
	c := &out.Conditions
	for _, value := range []struct {
		missing *unknown
		known   bool
		remove  func()
		name    string
	}{
		{&m.foreign, c.ForeignCPU >= 0, func() { c.ForeignCPU = -1 }, "the CPU time of other programs"},
		{&m.throttling, c.Throttled >= 0, func() { c.Throttled = -1 }, "how often a CPU limit held programs up"},
		{&m.sidecars, !out.SidecarsUnavailable, func() { out.Sidecars, out.SidecarsUnavailable = nil, true },
			"the usage of the containers beside the programs"},
	} {
		switch {
		case len(value.missing.whys) > 0:
			value.remove()
		case !value.known && len(s.site) > 0:
			return out, &testbed.Disturbance{What: value.name + " is unknown in this trial",
				Err: errors.New("the cgroups of a pod cannot be read that could be read before the first trial")}
		}
	}
	return out, nil
}
