package kube

import (
	"testing"

	"tare/internal/testbed"
)

// TestMeter reads the resources that pods on two nodes share. The nodes of the test cluster are on one machine.
func TestMeter(t *testing.T) {
	s := ready(t, onCluster(t), "metered", pair, parameters())
	seen := map[string]testbed.Resource{}
	for _, r := range testbed.StartMeter(t.Context(), s)(t.Context()) {
		seen[r.Name] = r
	}
	_, network := seen[testbed.ResourceNetwork]
	_, apart := seen[testbed.ResourceClient]
	if machine, one := seen[testbed.ResourceMachine]; !network || one == apart || one && machine.Of < 1 || apart && seen[testbed.ResourceServer].Of < 1 {
		t.Errorf("%+v", seen)
	}
}
