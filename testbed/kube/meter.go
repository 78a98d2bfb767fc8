package kube

import (
	"context"
	"errors"
	"maps"
	"sync"

	"tare/testbed"
	"tare/testbed/kube/agent"
)

var _ testbed.Metered = (*Site)(nil)

// Meter asks the agents in the pods of clients and servers for the processors that they see, which are those of their
// nodes or of their sandbox, and for what TCP has counted in the pods. The rate of the wire is not known here.
func (s *Site) Meter(ctx context.Context) (testbed.Meter, error) {
	s.mu.Lock()
	at := maps.Clone(s.pods)
	s.mu.Unlock()
	m := testbed.NewMeter()
	var mu sync.Mutex
	var wait sync.WaitGroup
	var errs []error
	for place, pod := range at {
		wait.Go(func() {
			counted, err := pod.Agent().Counters(ctx, agent.Question{})
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			on := m.Machines[counted.BootID]
			on.Totals, on.Server, on.Client = counted.Totals, on.Server || place.Server(), on.Client || !place.Server()
			m.Machines[counted.BootID] = on
			if counted.Network != nil {
				m.Network = m.Network.With(*counted.Network)
			}
		})
	}
	wait.Wait()
	return m, errors.Join(errs...)
}
