package dnstransport

import (
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestProofs(t *testing.T) {
	for _, test := range []struct {
		transport  Transport
		connection string
		on         bool
	}{
		{TLS, "TLS 1.3, TLS_AES_128_GCM_SHA256", true},
		{TLS, UDP.Clear(), false},
		{TLS, TCP.Clear(), false},
		{TCP, TCP.Clear(), true},
		{TCP, "TLS 1.3, TLS_AES_128_GCM_SHA256", false},
		{UDP, UDP.Clear(), true},
		{UDP, TCP.Clear(), false},
	} {
		c := &config{Transport: factor.Of(test.transport)}
		site, did := localtest.Host(t), layer.Did{Workload: workload, Connections: []string{test.connection}}
		if on := layertest.After(t, layertest.Up(t, c, site), did); len(on) != 1 || on[0].OK != test.on {
			t.Errorf("%s, on: %+v", test.transport, on)
		}
		s := new(layer.Run).At(site)
		if off, err := c.ProveOffAfter(t.Context(), s, did); err != nil || len(off) != 1 || off[0].OK == test.on {
			t.Errorf("%s, off: %+v, %v", test.transport, off, err)
		}
		if !c.Declare().OwnProves {
			t.Error("it is asked where the arm has its own")
		}
		did.Connections = append(did.Connections, "TLS 1.2, A", UDP.Clear(), TCP.Clear())
		for _, on := range []bool{true, false} {
			if mixed := c.look(did, on); len(mixed) != 1 || mixed[0].OK {
				t.Errorf("%s, mixed: %+v", test.transport, mixed)
			}
		}
	}
}

// A trial of another workload is reported as unexercised. A trial of the workload dns without connections proves
// nothing.
func TestNobodyAsks(t *testing.T) {
	c := &config{Transport: factor.Of(TLS)}
	for _, did := range []layer.Did{{}, {Workload: "xds", Connections: []string{"delta, in clear"}}} {
		if on := c.look(did, true); len(on) != 1 || !on[0].OK || !on[0].Unexercised {
			t.Errorf("%+v: %+v", did, on)
		}
		if off := c.look(did, false); off != nil {
			t.Errorf("%+v: %+v", did, off)
		}
	}
	for _, on := range []bool{true, false} {
		if none := c.look(layer.Did{Workload: workload}, on); len(none) != 1 || none[0].OK {
			t.Errorf("none: %+v", none)
		}
	}
}

// The workload gets the transport.
func TestHolds(t *testing.T) {
	site := localtest.Host(t)
	up := layertest.Up(t, &config{Transport: factor.Of(TCP)}, site)
	if held := testbed.Held[Transport](layer.WithWrappers(site, up)); len(held) != 1 || held[0] != TCP {
		t.Errorf("held: %v", held)
	}
}
