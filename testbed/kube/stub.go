package kube

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/testbed"
)

var errNotBuilt = errors.New("not built yet")

// Open asks for a site.
func (t *Testbed) Open(ctx context.Context, want testbed.Request) (testbed.Site, error) {
	return nil, errNotBuilt
}

// Close removes everything that was made.
func (t *Testbed) Close() error { return nil }

// Ready makes the site.
func (s *Site) Ready(ctx context.Context) error { return errNotBuilt }

// Start starts a program.
func (s *Site) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return nil, errNotBuilt
}

// Address is where the client reaches the server on that path.
func (s *Site) Address(testbed.Path) netip.Addr { return netip.Addr{} }

// Ports lists the server's ports that the service forwards, TCP and UDP.
func (s *Site) Ports() []uint16 { return nil }

// LinkRate is not known on a cluster: 0.
func (s *Site) LinkRate() float64 { return 0 }

// Volume is where the volume is in the client's pod.
func (s *Site) Volume() string { return "" }

// Labels are what everything that is made at the site carries: ManagedBy,
// OwnerLabel and ArmLabel. A workload that makes objects of its own gives them
// these, and a RoleLabel.
func (s *Site) Labels() map[string]string { return nil }

// Record writes down that a workload makes objects of these kinds with the
// site's labels in the site's namespace, so that Close and Clean remove them
// there even where the namespace is given and stays. It comes before they are made.
func (s *Site) Record(ctx context.Context, kinds ...schema.GroupVersionResource) error {
	return errNotBuilt
}
