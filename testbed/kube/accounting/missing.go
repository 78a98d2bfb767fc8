package accounting

import (
	"errors"
	"slices"
	"strings"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/cluster"
)

// Missing is what at least one arm of a run cannot know about its trials. It is looked
// for once, when all sites are up, and then left out for every arm. For a rule must
// apply to all arms or to none: one that applied to some would pick out their trials
// and keep those of the others. And a cost can be compared only if every arm knows all
// parts of it.
type Missing struct {
	foreign, throttling, sidecars unanswered
	threads                       bool // the CPU time of the kernel's threads counts as other programs'
}

// unanswered is one thing to know: the arms that do not know it, by the reason.
type unanswered struct {
	whys []string
	arms map[string][]string
}

// add notes that an arm does not know it.
func (u *unanswered) add(arm, why string) {
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

func (u *unanswered) found() bool { return len(u.whys) > 0 }

// String names the arms and why: "arms a, b (why); arm c (why)".
func (u *unanswered) String() string {
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

// threadsNote says how the kernel's threads count where the node does not count them
// apart.
const threadsNote = "the CPU time of the nodes' kernel threads is not told: it counts as that of other programs (limits.foreignCPU), although they may work for the trial, such as by encrypting"

// Why an arm does not know something.
const (
	notShown   = "the container runtime does not show what its pods use; accounting: " + string(experiment.OnNode) + " may"
	notCounted = "the kernel does not tell it for its pods"
)

// look adds what a reading of a site lacks.
func (m *Missing) look(r *reading, s subjects, arm string) {
	for _, p := range slices.Concat(s.site, s.nodePods) {
		if r.cgroup(p) != nil {
			continue
		}
		why := notShown
		if s.onNode {
			why = "the cgroups of its pods are not found on node " + safetext.Head(p.node, cluster.LineLimit)
		}
		m.foreign.add(arm, why)
		if !slices.ContainsFunc(s.site, func(o placed) bool { return o.uid == p.uid }) {
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
	why := "beside the programs there is " + strings.Join(s.sidecars, ", ") + ", which is not counted; accounting: " + string(experiment.OnNode) + " counts it"
	m.foreign.add(arm, why)
	m.throttling.add(arm, why)
	m.sidecars.add(arm, why)
}

// Notes are what the record of the cluster says of it.
func (m *Missing) Notes() []string {
	var notes []string
	for _, one := range []struct {
		what *unanswered
		text string
	}{
		{&m.foreign, "limits.foreignCPU is applied to no arm: the CPU time of other programs is not told for "},
		{&m.throttling, "limits.throttling is applied to no arm: how often a CPU limit held programs up is not told for "},
		{&m.sidecars, "the metrics of CPU time of the whole and of the layer are missing in all arms: what the layer costs is not told for "},
	} {
		if one.what.found() {
			notes = append(notes, one.text+one.what.String())
		}
	}
	if m.threads && !m.foreign.found() {
		notes = append(notes, threadsNote)
	}
	return notes
}

// leaveOut takes out of a sample what some arm does not know. When something is
// missing that every arm knew before the first trial, the trial is invalid: the rules
// that the other trials are held to cannot be applied to it.
func (m *Missing) leaveOut(out testbed.Sample, s subjects) (testbed.Sample, error) {
	if m == nil {
		return out, nil // nobody has looked
	}
	c := &out.Conditions
	for _, one := range []struct {
		missing *unanswered
		known   bool
		remove  func()
		what    string
	}{
		{&m.foreign, c.ForeignCPU >= 0, func() { c.ForeignCPU = -1 }, "the CPU time of other programs"},
		{&m.throttling, c.Throttled >= 0, func() { c.Throttled = -1 }, "how often a CPU limit held programs up"},
		{&m.sidecars, !out.SidecarsUnavailable, func() { out.Sidecars, out.SidecarsUnavailable = nil, true }, "what the containers beside the programs used"},
	} {
		switch {
		case one.missing.found():
			one.remove()
		case !one.known && len(s.site) > 0:
			return out, &testbed.Disturbance{What: one.what + " is not told in this trial", Err: errors.New("the cgroups of a pod cannot be read that could be read before the first trial")}
		}
	}
	return out, nil
}
