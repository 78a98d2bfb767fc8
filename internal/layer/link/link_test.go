package link

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/testbed/local/localtest"
)

// assert compares checks, one per line.
func assert(t *testing.T, what string, checks []layer.Check, want string) {
	t.Helper()
	var got strings.Builder
	for _, c := range checks {
		if c.Layer != "link" {
			t.Errorf("%+v", c)
		}
		fmt.Fprintf(&got, "%s: %s, %s: %v\n", c.Name, c.Expected, c.Observed, c.OK)
	}
	if got.String() != want {
		t.Errorf("%s:\n%swant:\n%s", what, got.String(), want)
	}
}

func TestLink(t *testing.T) {
	ctx := t.Context()
	site := localtest.Network(t, 1051e6, 1500)
	c := &config{Rate: factor.Of[quantity.Rate](999e6), MTU: factor.Of(1450)}
	const off = "rate of the wire: 1.051Gbit, 1.051Gbit: true\nMTU of the wire: 1500, 1500: true\n"
	assert(t, "before", layertest.Off(t, c, site), off)

	up := layertest.Up(t, c, site)
	const on = "rate of the wire: 999Mbit, 999Mbit: true\nMTU of the wire: 1450, 1450: true\n"
	assert(t, "before a trial", layertest.Before(t, up, site), on)
	assert(t, "after it", layertest.After(t, up, layer.Did{Sent: 1}), on)
	if up.Costs != nil {
		t.Error("a wire has processes of its own")
	}

	// The proofs can fail.
	assert(t, "off, while it is on", layertest.Off(t, c, site), "rate of the wire: 1.051Gbit, 999Mbit: false\nMTU of the wire: 1500, 1450: false\n")
	shaper, _ := testbed.As[testbed.Shaper](site)
	if err := shaper.Shape(testbed.Shape{MTU: 8896}); err != nil {
		t.Fatal(err)
	}
	assert(t, "on, while it is off", layertest.Before(t, up, site), "rate of the wire: 999Mbit, unlimited: false\nMTU of the wire: 1450, 8896: false\n")

	if err := up.Down(ctx); err != nil {
		t.Fatal(err)
	}
	assert(t, "after", layertest.Off(t, c, site), off)
}

// In an arm with its own link, only the properties that this link leaves alone are checked.
func TestProvesBeside(t *testing.T) {
	site := localtest.Network(t, 1e9, 1500)
	own := &config{MTU: factor.Of(1450)}
	layertest.Up(t, own, site)
	at := new(layer.Run).At(site)
	at.Own = own
	checks, err := (&config{MTU: factor.Of(9000), Rate: factor.Of[quantity.Rate](5e8)}).ProveOff(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	assert(t, "beside", checks, "rate of the wire: 1Gbit, 1Gbit: true\n")
}

// Delay and losses need netem.
func TestDelayAndLoss(t *testing.T) {
	if f := local.ProbeDelays(); f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
	site := localtest.Network(t, 1e9, 1500)
	c := &config{Delay: factor.Of(quantity.Duration(1500 * time.Microsecond)), Loss: factor.Of[quantity.Percent](0.001)}
	up := layertest.Up(t, c, site)
	checks := layertest.Before(t, up, site)
	assert(t, "on", checks, "delay of the wire: 1.5ms, 1.5ms: true\nloss of the wire: 0.1%, 0.1%: true\n")
	if checks[1].Caveat == "" {
		t.Error("no caveat about what is lost")
	}
	assert(t, "off, while it is on", layertest.Off(t, c, site), "delay of the wire: 0s, 1.5ms: false\nloss of the wire: 0%, 0.1%: false\n")
}

// If the kernel cannot delay packets, the wire stays unchanged.
func TestFailedUpLeavesTheWire(t *testing.T) {
	if f := local.ProbeDelays(); f.Status == testbed.Works {
		t.Skip("this kernel can delay packets")
	}
	site := localtest.Network(t, 1e9, 1500)
	_, err := (&config{Rate: factor.Of[quantity.Rate](5e8), Delay: factor.Of(quantity.Duration(time.Millisecond))}).Up(t.Context(), new(layer.Run).At(site))
	if err == nil || !strings.HasPrefix(err.Error(), "shape the wire: client-node: delay packets by 1ms and lose 0 of them (does the kernel have the netem scheduler?): ") {
		t.Error(err)
	}
	assert(t, "afterwards", layertest.Off(t, &config{Rate: factor.Of[quantity.Rate](5e8)}, site), "rate of the wire: 1Gbit, 1Gbit: true\n")
}

// The kernel stores whole bytes per second.
func TestRounding(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	up := layertest.Up(t, &config{Rate: factor.Of[quantity.Rate](1234567.0)}, site)
	assert(t, "rounded", layertest.Before(t, up, site), "rate of the wire: 1.234567Mbit, 1.234568Mbit: true\n")
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		config config
		want   string
	}{
		{config{}, ": set at least one of rate, mtu, delay and loss"},
		{config{MTU: factor.Of(1450, 8896)}, ""},
		{config{Delay: factor.Of(quantity.Duration(time.Millisecond), quantity.Duration(11*time.Second))}, "delay[1]: 11s is not a whole number of microseconds up to 10s"},
		{config{Delay: factor.Of(quantity.Duration(1500))}, "delay[0]: 1.5µs is not a whole number of microseconds up to 10s"},
		{config{Loss: factor.Of[quantity.Percent](0.01, 1)}, "loss[1]: 100% is not less than 100%"},
	} {
		var lines []string
		for _, e := range c.config.Declare().Validate() {
			lines = append(lines, e.Field+": "+e.Message)
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.config, got, c.want)
		}
	}
}

func TestWithoutAWire(t *testing.T) {
	const want = "this testbed has no wire that can be shaped"
	site := localtest.Host(t)
	c := &config{Rate: factor.Of[quantity.Rate](1e9)}
	if _, err := c.Up(t.Context(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := c.ProveOff(t.Context(), new(layer.Run).At(site)); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestProbe(t *testing.T) {
	findings := Kind.Probe(context.Background())
	if len(findings) != 2 || findings[0].Name != local.Shaping || findings[1].Name != local.Delays {
		t.Fatalf("%+v", findings)
	}
	if findings[0].Status != testbed.Works && !local.NeedsUserNamespace() {
		t.Errorf("%+v", findings[0])
	}
}
