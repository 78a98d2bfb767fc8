package kube

import (
	"context"
	"errors"
	"strings"
	"sync"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/inventory"
)

// Meter reads the use of processors and networks from the agents in the site's pods. In a sandbox, the
// processors are those that the sandbox shows, and otherwise those of the node. The capacity of the network
// is unknown.
func (s *Site) Meter(ctx context.Context) (list []testbed.Resource, err error) {
	pods, sides := s.podList(), map[string]string{} // sides holds a resource name for each boot id
	counted, errs := make([]agent.Counters, len(pods)), make([]error, len(pods))
	var wait sync.WaitGroup
	for i, p := range pods {
		wait.Go(func() { counted[i], errs[i] = p.Agent().Counters(ctx, agent.CountersRequest{}) })
	}
	wait.Wait()
	for i, p := range pods {
		side := testbed.ResourceServer
		if strings.HasPrefix(p.Plan().Labels[inventory.RoleLabel], roleClient) {
			side = testbed.ResourceClient
		}
		if on := sides[counted[i].BootID]; on != "" && on != side {
			side = testbed.ResourceMachine
		}
		sides[counted[i].BootID] = side
	}
	for _, c := range counted {
		list = append(list, testbed.Resource{Name: sides[c.BootID], Of: float64(c.CPUs), Used: c.Busy.Seconds()}, c.Network)
	}
	return list, errors.Join(errs...)
}
