package kube

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/experiment"
	"tare/testbed"
)

// gaps are the questions that one arm at least cannot answer. They are looked for
// once, when all sites are up, and count for every arm: a rule that is applied to
// some arms only selects their trials and leaves those of the others alone, and a
// cost of which one arm lacks a part compares nothing.
type gaps struct {
	foreign, throttling, beside gap
	threads                     bool // of the kernel count as programs of others
}

// gap is one such question: the arms that cannot answer it, by the reason.
type gap struct {
	whys []string
	arms map[string][]string
}

func (g *gap) add(arm, why string) {
	if g.arms == nil {
		g.arms = map[string][]string{}
	}
	if !slices.Contains(g.whys, why) {
		g.whys = append(g.whys, why)
	}
	if arm = told(arm); !slices.Contains(g.arms[why], arm) {
		g.arms[why] = append(g.arms[why], arm)
	}
}

func (g *gap) found() bool { return len(g.whys) > 0 }

// String names the arms and why: "arms a, b (why); arm c (why)".
func (g *gap) String() string {
	parts := make([]string, len(g.whys))
	for i, why := range g.whys {
		names := "arm "
		if len(g.arms[why]) > 1 {
			names = "arms "
		}
		parts[i] = names + strings.Join(g.arms[why], ", ") + " (" + why + ")"
	}
	return strings.Join(parts, "; ")
}

// threadsNote says how the kernel's threads count where they cannot be told.
const threadsNote = "the CPU time of the nodes' kernel threads is not told: it counts as that of other programs (limits.foreignCPU), although they may work for the trial, such as by encrypting"

// Why something is not told.
const (
	whyUnshown   = "the container runtime does not show what its pods use; accounting: " + string(experiment.OnNode) + " may"
	whyUnlimited = "the kernel does not tell it for its pods"
)

// look adds what a reading of a site does not tell.
func (g *gaps) look(r *reading, s subjects, arm string) {
	for _, p := range slices.Concat(s.site, s.helpers) {
		if r.cgroup(p) != nil {
			continue
		}
		why := whyUnshown
		if s.whole {
			why = "the cgroups of its pods are not found on node " + told(p.node)
		}
		g.foreign.add(arm, why)
		if !slices.ContainsFunc(s.site, func(o placed) bool { return o.uid == p.uid }) {
			continue
		}
		g.throttling.add(arm, why)
		if s.whole && len(s.beside) > 0 {
			g.beside.add(arm, why)
		}
	}
	for _, p := range s.site {
		if c := r.cgroup(p); c != nil && c.Throttled < 0 {
			g.throttling.add(arm, whyUnlimited)
		}
		g.threads = g.threads || r.nodes[p.node].Grouped == nil
	}
	if s.whole || len(s.beside) == 0 {
		return
	}
	why := "beside the programs there is " + strings.Join(s.beside, ", ") + ", which is not counted; accounting: " + string(experiment.OnNode) + " counts it"
	g.foreign.add(arm, why)
	g.throttling.add(arm, why)
	g.beside.add(arm, why)
}

// notes are what the record says of the gaps.
func (g *gaps) notes() []string {
	var notes []string
	for _, one := range []struct {
		gap  *gap
		text string
	}{
		{&g.foreign, "limits.foreignCPU is applied to no arm: the CPU time of other programs is not told for "},
		{&g.throttling, "limits.throttling is applied to no arm: how often a CPU limit held programs up is not told for "},
		{&g.beside, "the metrics of CPU time of the whole and of the layer are missing in all arms: what the layer costs is not told for "},
	} {
		if one.gap.found() {
			notes = append(notes, one.text+one.gap.String())
		}
	}
	if g.threads && !g.foreign.found() {
		notes = append(notes, threadsNote)
	}
	return notes
}

// beside names the containers that run in the pods of a site beside those in which
// programs run, as made: what the cluster has put in counts.
func (s *Site) beside() []string {
	var names []string
	for _, p := range s.all() {
		names = append(names, besideIn(p.seen())...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func besideIn(p *corev1.Pod) []string {
	var names []string
	for _, c := range p.Spec.Containers {
		if c.Name != Container {
			names = append(names, told(c.Name))
		}
	}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			names = append(names, told(c.Name))
		}
	}
	return names
}

// missing looks for the gaps of all sites.
func (t *Testbed) missing(ctx context.Context, sites []*Site) (*gaps, error) {
	found := &gaps{}
	for _, s := range sites {
		a, err := s.accounting(ctx)
		if err != nil {
			return nil, err
		}
		nodes, err := a.prepare(ctx, s)
		if err != nil {
			return nil, err
		}
		subjects := a.subjects(s, nodes)
		r, err := a.read(ctx, s, nodes, subjects.all())
		if err != nil {
			return nil, err
		}
		found.look(r, subjects, s.arm)
	}
	t.mu.Lock()
	t.gaps = found
	t.mu.Unlock()
	return found, nil
}

// lifted takes out of a sample what is not told in every arm. What was told at the
// beginning and is not now makes the trial invalid: a rule cannot be applied to it
// that is applied to the others.
func (g *gaps) lifted(out testbed.Sample, s subjects) (testbed.Sample, error) {
	if g == nil {
		return out, nil // nothing has been looked for
	}
	c := &out.Conditions
	for _, one := range []struct {
		gap  *gap
		told bool
		lift func()
		what string
	}{
		{&g.foreign, c.ForeignCPU >= 0, func() { c.ForeignCPU = -1 }, "the CPU time of other programs"},
		{&g.throttling, c.Throttled >= 0, func() { c.Throttled = -1 }, "how often a CPU limit held programs up"},
		{&g.beside, !out.SidecarsUnavailable, func() { out.Sidecars, out.SidecarsUnavailable = nil, true }, "what the containers beside the programs used"},
	} {
		switch {
		case one.gap.found():
			one.lift()
		case !one.told && len(s.site) > 0:
			return out, &testbed.Disturbance{What: one.what + " is not told in this trial", Err: errors.New("the cgroups of a pod cannot be read that could be read before the first trial")}
		}
	}
	return out, nil
}
