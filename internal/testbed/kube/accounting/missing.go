package accounting

import (
	"errors"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// Missing holds the values that are unknown in at least one arm of a run. Inspect fills it when all sites are ready.
// Tare leaves these values out in every arm. A rule that applied only to some arms would make bad trials invalid only
// there. Costs can be compared only if all their parts are known in every arm.
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

// String names the arms and the reasons: "arms a, b (why); arm c (why)".
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

// leaveOut removes from a sample the values that are unknown in some arm. If the sample lacks a value that was known
// before the first trial, the rules cannot be applied, and the trial is invalid.
func (m *Missing) leaveOut(out testbed.Sample, s sampledPods) (testbed.Sample, error) {
	if m == nil {
		return out, nil // nil: Inspect was not called
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
