package xdstransport

import (
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed/local/localtest"
)

// sidecars are connections by which sidecars became ready.
type sidecars []Connection

func (s sidecars) did() layer.Did {
	did := layer.Did{Workload: workload}
	for _, c := range s {
		did.Connections = append(did.Connections, c.String())
	}
	return did
}

const tls13 = "TLS 1.3, TLS_AES_128_GCM_SHA256"

// proved makes the proofs of a trial in an arm with the layer, and in one with another layer of the kind or none.
func proved(t *testing.T, c *Config, own layer.Layer, seen sidecars) (on, off []layer.Check) {
	t.Helper()
	site := localtest.Host(t)
	on = layertest.After(t, layertest.Up(t, c, site), seen.did())
	s := new(layer.Run).At(site)
	s.Own = own
	off, err := c.ProveOffAfter(t.Context(), s, seen.did())
	if err != nil {
		t.Fatal(err)
	}
	return on, off
}

func TestProofs(t *testing.T) {
	sotw, tls := &Config{Protocol: factor.Of(SotW)}, &Config{Security: factor.Of(TLS)}
	for _, test := range []struct {
		layer   *Config
		seen    sidecars
		on, off bool
	}{
		{sotw, sidecars{{Protocol: SotW}}, true, false},
		{sotw, sidecars{{Protocol: SotW}, {Protocol: SotW, TLS: tls13}}, true, false},
		{sotw, sidecars{{Protocol: Delta}}, false, true},
		{sotw, sidecars{{Protocol: Delta}, {Protocol: SotW}}, false, false},
		{tls, sidecars{{Protocol: SotW, TLS: tls13}}, true, false},
		{tls, sidecars{{Protocol: Delta}}, false, true},
		{tls, sidecars{{Protocol: Delta}, {Protocol: Delta, TLS: tls13}}, false, false},
		{&Config{Security: factor.Of(Plaintext)}, sidecars{{Protocol: Delta}}, true, false},
		{&Config{Security: factor.Of(Plaintext)}, sidecars{{Protocol: Delta, TLS: tls13}}, false, true},
	} {
		on, off := proved(t, test.layer, nil, test.seen)
		if len(on) != 1 || on[0].OK != test.on {
			t.Errorf("%v, on: %+v", test.seen, on)
		}
		if len(off) != 1 || off[0].OK != test.off {
			t.Errorf("%v, off: %+v", test.seen, off)
		}
	}
	// Each parameter is proved by itself. An arm's own layer proves the parameters that it sets, and no others.
	both := &Config{Protocol: factor.Of(SotW), Security: factor.Of(TLS)}
	on, off := proved(t, both, tls, sidecars{{Protocol: Delta, TLS: tls13}})
	if len(on) != 2 || on[0].OK || !on[1].OK {
		t.Errorf("both: %+v", on)
	}
	if len(off) != 1 || !off[0].OK || off[0].Expected != "not sotw" {
		t.Errorf("both, in an arm with TLS of its own: %+v", off)
	}
}

// A trial of another workload is reported as unexercised. A trial of the workload xds without connections proves
// nothing.
func TestNobodyConnects(t *testing.T) {
	c := &Config{Security: factor.Of(Plaintext)}
	for _, did := range []layer.Did{{}, {Workload: "dns", Connections: []string{"udp in clear"}}} {
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

func TestValidate(t *testing.T) {
	if errs := (&Config{}).validate(); len(errs) != 1 {
		t.Errorf("without anything: %v", errs)
	}
}
