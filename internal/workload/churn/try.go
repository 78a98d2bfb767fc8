package churn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/workload"
)

// Try makes one object of each template, waits until the object is ready, and deletes it. Try runs a trial
// without churn, in which the generator cannot be late.
func (c *Config) Try(ctx context.Context, site testbed.Site) (err error) {
	on, err := kube.Of(site)
	if err != nil {
		return err
	}
	one := c.single(on.Parameters().Timeouts.Ready)
	t := &workload.Trial{Site: site, Raw: workload.Discard, Round: 1}
	s, err := one.begin(ctx, t)
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() == nil { // after a cancellation the testbed removes the object
			err = errors.Join(err, t.Clear(ctx))
		}
	}()
	_, err = s.finish(ctx, t)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if trouble := s.firstFailure(ctx, on); trouble != nil {
		return trouble
	}
	return err
}

// single returns the workload with one object of each template. Its readyTimeout is at most the time limit
// for pods.
func (c *Config) single(ready quantity.Duration) *Config {
	one := *c
	one.Templates = slices.Clone(c.Templates)
	for i := range one.Templates {
		one.Templates[i].Fixed = 0
	}
	one.Objects, one.Churn = factor.Of(len(one.Templates)), factor.Of(quantity.Percent(0))
	one.Settle, one.Late, one.Shortfall = 0, one.Request, 1
	if ready > 0 {
		one.Ready = min(c.Ready, ready)
	}
	return &one
}

// firstFailure returns an error for the first object that was refused or is not ready, with the object's events.
func (s *runningTrial) firstFailure(ctx context.Context, on *kube.Site) error {
	for _, o := range s.schedule.measured {
		what := fmt.Sprintf("%s %s/%s", s.sources[o.source].kind.name, s.namespace, o.name)
		switch {
		case o.failure != "":
			return fmt.Errorf("make %s: %s", what, o.failure)
		case o.unready():
			late := &cluster.DiagnosedError{Err: fmt.Errorf("%s is not ready %v after it was asked for", what, s.config.Ready)}
			if c, err := on.Cluster(ctx); err == nil {
				late.Events = c.Events(ctx, s.namespace, o.name, "")
			}
			return late
		}
	}
	return nil
}
