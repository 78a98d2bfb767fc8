package network

import (
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

// openSite opens a site of the local testbed whose wire has this rate, in bit/s.
func openSite(t *testing.T, rate float64) testbed.Site {
	t.Helper()
	needIperf3(t)
	return localtest.Network(t, quantity.Rate(rate), 1500)
}

// TestLocalTestbed measures the service path of a shaped link, whose rate must bound the result.
func TestLocalTestbed(t *testing.T) {
	const rate = 20e6
	site := openSite(t, rate)
	for _, p := range []protocol{tcp, udp} {
		c := short(p, download, 1)
		c.Paths = factor.Of(testbed.PodToService)
		r, err := run(t.Context(), c, site, new(workloadtest.Raw))
		if err != nil {
			t.Fatal(p, err)
		}
		// The shaper lets bursts of up to a megabyte pass above its rate.
		got := r.Values[string(p)+"-bandwidth"]
		if got <= 0 || got > rate+8*1.1e6 {
			t.Errorf("%s: %.3g bit/s over a link of %.3g", p, got, rate)
		}
		if _, err := workload.Price(*c.Measures().Cost, r, 0, 0); err != nil {
			t.Error(p, err)
		}
	}
}

// TestFasterThanTheTestbed gives the wire more than the testbed's rate, as the layer link can. The search must not
// stop at the testbed's rate.
func TestFasterThanTheTestbed(t *testing.T) {
	site := openSite(t, 2e6)
	shaper, _ := testbed.As[testbed.Shaper](site)
	faster := shaper.Unshaped()
	faster.Rate = 20e6
	if err := shaper.Shape(faster); err != nil {
		t.Fatal(err)
	}
	r, err := run(t.Context(), short(udp, upload, 1), site, new(workloadtest.Raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Values["udp-bandwidth"]; got < 4e6 {
		t.Errorf("%.3g bit/s over a wire of 2e+07", got)
	}
}

// TestNodeToNode measures between the nodes, whose bandwidth the wire bounds too.
func TestNodeToNode(t *testing.T) {
	const rate = 20e6
	site := openSite(t, rate)
	for _, p := range []protocol{tcp, udp} {
		c := short(p, upload, 1)
		c.Paths = factor.Of(testbed.NodeToNode)
		r, err := run(t.Context(), c, site, new(workloadtest.Raw))
		if err != nil {
			t.Fatal(p, err)
		}
		if got := r.Values[string(p)+"-bandwidth"]; got <= 0 || got > rate+8*1.1e6 {
			t.Errorf("%s: %.3g bit/s over a link of %.3g", p, got, rate)
		}
	}
}

// TestUnlimited searches on a wire without a cap, like a cluster's. The first step offers as much as the sender can
// send.
func TestUnlimited(t *testing.T) {
	site := openSite(t, 0)
	var raw workloadtest.Raw
	c := short(udp, upload, 1)
	c.LossLimit = 0.9 // without a link, the loss depends on other programs on the processors
	r, err := run(t.Context(), c, site, &raw)
	if err != nil {
		t.Fatalf("%v: %s", err, raw.Texts()["search.json"])
	}
	if got := r.Values["udp-bandwidth"]; got < 10e6 {
		t.Errorf("%.3g bit/s: %s", got, raw.Texts()["search.json"])
	}
	t.Logf("%.3g bit/s, %d files", r.Values["udp-bandwidth"], len(raw.Names()))
}
