package kube

import (
	"context"
	"errors"
	"sync"
)

// Mend asks every agent of the site for a sign of life, which costs one message
// each over connections that are open anyway. A pod that is lost is made again,
// on the same node: on another one its numbers could not be compared. A node
// that is gone for good ends the run.
func (s *Site) Mend(ctx context.Context) error {
	on, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	if err := on.record.Present(); err != nil {
		return err
	}
	list := s.all()
	errs := make([]error, len(list))
	var wait sync.WaitGroup
	for i, p := range list {
		wait.Go(func() { errs[i] = p.Mend(ctx) })
	}
	wait.Wait()
	return errors.Join(errs...)
}
