package dnstransport

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

// queries are answered by a connection.
type queries struct {
	connection string
	err        error
}

func (q queries) Look(context.Context) (string, error) { return q.connection, q.err }

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
		site := testbed.Holding(localtest.Host(t), queries{connection: test.connection})
		if on := layertest.Before(t, layertest.Up(t, c, site), site); len(on) != 1 || on[0].OK != test.on {
			t.Errorf("%s, on: %+v", test.transport, on)
		}
		if off := layertest.Off(t, c, site); len(off) != 1 || off[0].OK == test.on {
			t.Errorf("%s, off: %+v", test.transport, off)
		}
		s := new(layer.Run).At(site)
		s.Own = c
		if checks, err := c.ProveOff(t.Context(), s); err != nil || checks != nil {
			t.Errorf("the arm has its own: %+v, %v", checks, err)
		}
	}
}

func TestNobodyAsks(t *testing.T) {
	c := &Config{Transport: factor.Of(TLS)}
	for _, site := range []testbed.Site{localtest.Host(t), testbed.Holding(localtest.Host(t), queries{err: errors.New("no answer")})} {
		up := layertest.Up(t, c, site)
		if checks, err := up.Before(t.Context(), site); err == nil {
			t.Errorf("%+v", checks)
		}
		if checks, err := c.ProveOff(t.Context(), new(layer.Run).At(site)); err == nil {
			t.Errorf("%+v", checks)
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
