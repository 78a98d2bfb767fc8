package link

import (
	"context"
	"testing"

	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/local"
	"tare/testbed/local/localtest"
)

// one asserts that there is one check, and what it says.
func one(t *testing.T, checks []layer.Check, err error, expected, observed string, ok bool) {
	t.Helper()
	want := layer.Check{Layer: "link", Name: "rate of the wire", Expected: expected, Observed: observed, OK: ok}
	if err != nil || len(checks) != 1 || checks[0] != want {
		t.Errorf("%+v, %v; want %+v", checks, err, want)
	}
}

func TestLink(t *testing.T) {
	ctx := context.Background()
	site := localtest.Network(t, 1051e6, 1500)
	c := &Config{Rate: factor.Of[quantity.Rate](999e6)}
	checks, err := c.ProveOff(ctx, new(layer.Run).At(site))
	one(t, checks, err, "1.051Gbit", "1.051Gbit", true)

	up, err := c.Up(ctx, new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	checks, err = up.Before(ctx, site)
	one(t, checks, err, "999Mbit", "999Mbit", true)
	checks, err = up.After(ctx, layer.Did{Sent: 1})
	one(t, checks, err, "999Mbit", "999Mbit", true)
	if up.Costs != nil {
		t.Error("a wire has processes of its own")
	}

	// The proofs can fail.
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	one(t, checks, err, "1.051Gbit", "999Mbit", false)
	shaper, _ := testbed.As[testbed.Shaper](site)
	if err := shaper.Shape(0); err != nil {
		t.Fatal(err)
	}
	checks, err = up.Before(ctx, site)
	one(t, checks, err, "999Mbit", "unlimited", false)

	if err := up.Down(ctx); err != nil {
		t.Fatal(err)
	}
	checks, err = c.ProveOff(ctx, new(layer.Run).At(site))
	one(t, checks, err, "1.051Gbit", "1.051Gbit", true)
}

// The kernel keeps whole bytes per second.
func TestRounding(t *testing.T) {
	ctx := context.Background()
	site := localtest.Network(t, 0, 1500)
	c := &Config{Rate: factor.Of[quantity.Rate](1234567.0)}
	up, err := c.Up(ctx, new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	checks, err := up.Before(ctx, site)
	one(t, checks, err, "1.234567Mbit", "1.234568Mbit", true)
}

func TestWithoutAWire(t *testing.T) {
	const want = "this testbed has no wire whose rate can be set"
	site := localtest.Host(t)
	c := &Config{Rate: factor.Of[quantity.Rate](1e9)}
	if _, err := c.Up(context.Background(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := c.ProveOff(context.Background(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestProbe(t *testing.T) {
	findings := Kind.Probe(context.Background())
	if len(findings) != 1 || findings[0].Name != local.Shaping {
		t.Fatalf("%+v", findings)
	}
	if findings[0].Status != testbed.Works && !local.NeedsUserNamespace() {
		t.Errorf("%+v", findings[0])
	}
}
