package xdstransport

import (
	"context"
	"errors"
	"testing"

	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/layertest"
	"tare/testbed"
	"tare/testbed/local/localtest"
)

// sidecars become ready by a connection.
type sidecars struct {
	connection Connection
	err        error
}

func (s sidecars) Look(context.Context) (string, error) { return s.connection.String(), s.err }

func TestProofs(t *testing.T) {
	const tls13 = "TLS 1.3, TLS_AES_128_GCM_SHA256"
	sotw, tls := &Config{Protocol: factor.Of(SotW)}, &Config{Security: factor.Of(TLS)}
	for _, test := range []struct {
		layer      *Config
		connection Connection
		on         bool
	}{
		{sotw, Connection{Protocol: SotW}, true},
		{sotw, Connection{Protocol: SotW, TLS: tls13}, true},
		{sotw, Connection{Protocol: Delta}, false},
		{tls, Connection{Protocol: SotW, TLS: tls13}, true},
		{tls, Connection{Protocol: Delta}, false},
		{&Config{Security: factor.Of(Plaintext)}, Connection{Protocol: Delta}, true},
		{&Config{Security: factor.Of(Plaintext)}, Connection{Protocol: Delta, TLS: tls13}, false},
	} {
		site := testbed.Holding(localtest.Host(t), sidecars{connection: test.connection})
		if on := layertest.Before(t, layertest.Up(t, test.layer, site), site); len(on) != 1 || on[0].OK != test.on {
			t.Errorf("%v, on: %+v", test.connection, on)
		}
		if off := layertest.Off(t, test.layer, site); len(off) != 1 || off[0].OK == test.on {
			t.Errorf("%v, off: %+v", test.connection, off)
		}
		s := new(layer.Run).At(site)
		s.Own = test.layer
		if checks, err := test.layer.ProveOff(t.Context(), s); err != nil || checks != nil {
			t.Errorf("the arm has its own: %+v, %v", checks, err)
		}
	}
	// What is set is proved, each by itself.
	both := &Config{Protocol: factor.Of(SotW), Security: factor.Of(TLS)}
	site := testbed.Holding(localtest.Host(t), sidecars{connection: Connection{Protocol: Delta, TLS: tls13}})
	if on := layertest.Before(t, layertest.Up(t, both, site), site); len(on) != 2 || on[0].OK || !on[1].OK {
		t.Errorf("both: %+v", on)
	}
}

func TestNobodyConnects(t *testing.T) {
	c := &Config{Security: factor.Of(TLS)}
	for _, site := range []testbed.Site{localtest.Host(t), testbed.Holding(localtest.Host(t), sidecars{err: errors.New("no answer")})} {
		up := layertest.Up(t, c, site)
		if checks, err := up.Before(t.Context(), site); err == nil {
			t.Errorf("%+v", checks)
		}
		if checks, err := c.ProveOff(t.Context(), new(layer.Run).At(site)); err == nil {
			t.Errorf("%+v", checks)
		}
	}
}

func TestValidate(t *testing.T) {
	if errs := (&Config{}).validate(); len(errs) != 1 {
		t.Errorf("without anything: %v", errs)
	}
}
