package dnstransport

import (
	"testing"

	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/layertest"
	"tare/testbed"
	"tare/testbed/local/localtest"
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
		c := &Config{Transport: factor.Of(test.transport)}
		site, did := localtest.Host(t), layer.Did{Connections: []string{test.connection}}
		if on := layertest.After(t, layertest.Up(t, c, site), did); len(on) != 1 || on[0].OK != test.on {
			t.Errorf("%s, on: %+v", test.transport, on)
		}
		s := new(layer.Run).At(site)
		if off, err := c.ProveOffAfter(t.Context(), s, did); err != nil || len(off) != 1 || off[0].OK == test.on {
			t.Errorf("%s, off: %+v, %v", test.transport, off, err)
		}
		s.Own = c
		if checks, err := c.ProveOffAfter(t.Context(), s, did); err != nil || checks != nil {
			t.Errorf("the arm has its own: %+v, %v", checks, err)
		}
		did.Connections = append(did.Connections, "TLS 1.2, A", UDP.Clear(), TCP.Clear())
		for _, on := range []bool{true, false} {
			if mixed, err := c.look(did, on); err != nil || len(mixed) != 1 || mixed[0].OK {
				t.Errorf("%s, mixed: %+v, %v", test.transport, mixed, err)
			}
		}
	}
}

func TestNobodyAsks(t *testing.T) {
	c := &Config{Transport: factor.Of(TLS)}
	for _, did := range []layer.Did{{}, {Connections: []string{"delta, in clear"}}, {Connections: []string{"TLS 1.3, A", "delta, TLS 1.3, A"}}} {
		for _, on := range []bool{true, false} {
			if checks, err := c.look(did, on); err == nil {
				t.Errorf("%+v: %+v", did, checks)
			}
		}
	}
}

// The workload is shown what is set.
func TestHolds(t *testing.T) {
	site := localtest.Host(t)
	up := layertest.Up(t, &Config{Transport: factor.Of(TCP)}, site)
	if held := testbed.Held[Transport](layer.Dress(site, up)); len(held) != 1 || held[0] != TCP {
		t.Errorf("held: %v", held)
	}
}
