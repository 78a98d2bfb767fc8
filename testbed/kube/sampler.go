package kube

import (
	"context"
	"errors"
	"time"

	"tare/testbed"
	"tare/testbed/kube/accounting"
)

// Sampler is the runner's Sampler for this testbed. It asks the agents on the
// site's nodes once before the trial and once after, all at the same time, and
// does nothing in between. docs/cluster.md says what the numbers mean.
type Sampler struct {
	bed   *Testbed
	begun *accounting.Sample // nil: no sample
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
	on, err := at.cluster(ctx)
	if err != nil {
		return err
	}
	s.begun, err = on.counter.Begin(ctx, at.counted(on))
	return err
}

// Stop ends the sample. What Tare used on the machine that it runs on is not part
// of it.
func (s *Sampler) Stop(ctx context.Context, _ time.Duration) (testbed.Sample, error) {
	begun := s.begun
	if begun == nil {
		return testbed.Sample{}, errors.New("sample of a cluster: Stop without a Start")
	}
	s.begun = nil
	s.bed.mu.Lock()
	missing := s.bed.missing
	s.bed.mu.Unlock()
	return begun.End(ctx, missing)
}
