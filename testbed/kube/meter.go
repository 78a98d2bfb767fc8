package kube

import (
	"context"
	"errors"
	"strings"
	"sync"

	"tare/testbed"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/inventory"
)

// Meter asks the agents in the site's pods for the processors that they see, those of their nodes or of a sandbox, and for
// what is counted in the pods' networks. The rate of the wire is not known.
func (s *Site) Meter(ctx context.Context) (list []testbed.Resource, err error) {
	pods, sides := s.all(), map[string]string{}
	counted, errs := make([]agent.Counters, len(pods)), make([]error, len(pods))
	var wait sync.WaitGroup
	for i, p := range pods {
		wait.Go(func() { counted[i], errs[i] = p.Agent().Counters(ctx, agent.Question{}) })
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
