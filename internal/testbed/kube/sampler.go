package kube

import (
	"context"
	"errors"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/accounting"
)

// sampler is the runner's Sampler for this testbed. It reads the counters of all agents on the site's nodes
// at the same time: once before the trial, and once after it. Between these readings it does nothing.
// docs/cluster.md explains the numbers.
type sampler struct {
	bed    *Testbed
	sample *accounting.Sample // sample that Start has begun; nil if there is none
}

// Sampler returns a sampler for the nodes on which trials run.
func (t *Testbed) Sampler() *sampler { return &sampler{bed: t} }

// Start begins a sample at a site.
func (s *sampler) Start(ctx context.Context, site testbed.Site) error {
	s.sample = nil
	kube, err := Of(site)
	if err != nil {
		return err
	}
	on, err := kube.cluster(ctx)
	if err != nil {
		return err
	}
	s.sample, err = on.counter.Begin(ctx, kube.accountingSite(on))
	return err
}

// Stop ends the sample. The load of Tare's own machine is not part of a cluster's sample.
func (s *sampler) Stop(ctx context.Context, _ time.Duration) (testbed.Sample, error) {
	sample := s.sample
	if sample == nil {
		return testbed.Sample{}, errors.New("sample of a cluster: Stop without a Start")
	}
	s.sample = nil
	s.bed.mu.Lock()
	missing := s.bed.missing
	s.bed.mu.Unlock()
	return sample.End(ctx, missing)
}
