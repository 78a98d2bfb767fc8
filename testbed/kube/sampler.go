package kube

import (
	"context"
	"errors"
	"slices"
	"time"

	"tare/experiment"
	"tare/testbed"
)

// Sampler is the runner's Sampler for this testbed. It asks the agents on the
// site's nodes once before the trial and once after, all at the same time, and
// does nothing in between. docs/cluster.md says what the numbers mean.
type Sampler struct {
	bed *Testbed

	begun  *Site // nil: no sample
	nodes  []string
	before *reading
}

// Sampler samples the nodes that trials run on.
func (t *Testbed) Sampler() *Sampler { return &Sampler{bed: t} }

// Start begins a sample at a site.
func (s *Sampler) Start(ctx context.Context, site testbed.Site) error {
	s.begun = nil
	at, err := Of(site)
	if err != nil {
		return err
	}
	a, err := at.accounting(ctx)
	if err != nil {
		return err
	}
	nodes, err := a.prepare(ctx, at)
	if err != nil {
		return err
	}
	subjects := a.subjects(at, nodes)
	before, err := a.read(ctx, at, nodes, subjects.all())
	if err != nil && ctx.Err() == nil {
		// The runner mends the site's pods; these are nobody's but the testbed's.
		if err = a.mend(ctx, nodes); err == nil {
			subjects = a.subjects(at, nodes)
			before, err = a.read(ctx, at, nodes, subjects.all())
		}
	}
	if err != nil {
		return err
	}
	s.begun, s.nodes, s.before = at, nodes, before
	return nil
}

// Stop ends the sample. What Tare used on the machine that it runs on is not part
// of it.
func (s *Sampler) Stop(ctx context.Context, _ time.Duration) (testbed.Sample, error) {
	at := s.begun
	if at == nil {
		return testbed.Sample{}, errors.New("sample of a cluster: Stop without a Start")
	}
	s.begun = nil
	a, err := at.accounting(ctx)
	if err != nil {
		return testbed.Sample{}, err
	}
	subjects := a.subjects(at, s.nodes)
	after, err := a.read(ctx, at, s.nodes, subjects.all())
	if err != nil {
		return testbed.Sample{}, err
	}
	s.bed.mu.Lock()
	missing := s.bed.gaps
	s.bed.mu.Unlock()
	return missing.lifted(sample(s.before, after, subjects), subjects)
}

// prepare makes ready what counts for a site, and gives the nodes to ask: those
// of the site's pods and those of the pods observed elsewhere.
func (a *accounting) prepare(ctx context.Context, s *Site) ([]string, error) {
	if err := a.watchAll(ctx, s.level); err != nil {
		return nil, err
	}
	nodes := s.nodes()
	for _, pods := range a.observed(nodes) {
		for _, p := range pods {
			if !slices.Contains(nodes, p.node) {
				nodes = append(nodes, p.node)
			}
		}
	}
	slices.Sort(nodes)
	return nodes, a.cover(ctx, s, nodes)
}

// subjects lists the pods that a sample is about, as they are now.
func (a *accounting) subjects(s *Site, nodes []string) subjects {
	list := subjects{helpers: a.counted(nodes), observed: a.observed(s.nodes()), whole: s.level.Accounting == experiment.OnNode, beside: s.beside()}
	for _, p := range s.all() {
		list.site = append(list.site, placed{uid: p.uid(), node: p.node(), sidecars: p.sidecars()})
	}
	return list
}

// all lists every pod of the subjects.
func (s *subjects) all() []placed {
	list := slices.Concat(s.site, s.helpers)
	for _, pods := range s.observed {
		list = append(list, pods...)
	}
	return list
}
