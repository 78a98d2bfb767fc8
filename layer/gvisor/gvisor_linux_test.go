package gvisor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/front"
	"tare/testbed"
	"tare/testbed/local/localtest"
)

func TestMain(m *testing.M) {
	if testbed.HelperName() != front.Prober {
		os.Exit(m.Run())
	}
	if err := front.Probe(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestProofs(t *testing.T) {
	found := Kind.Probe(t.Context())
	for _, f := range found {
		t.Run(f.Name, func(t *testing.T) {
			if f.Status != testbed.Works {
				t.Skipf("%s: %s: %s", f.Status, f.Detail, f.Hint)
			}
			site := localtest.Network(t, 0, 1500)
			c := &Config{Platform: factor.Of(Platform(f.Name)), Around: layer.Server}
			a, err := c.Up(t.Context(), new(layer.Run).At(site))
			if err != nil {
				t.Fatal(err)
			}
			once, err := a.Settle(t.Context())
			if err != nil || a.Uncounted {
				t.Fatalf("%v, uncounted %t: %+v", err, a.Uncounted, once)
			}
			t.Logf("%+v", once)
			on, err := a.Before(t.Context(), layer.Dress(site, a))
			if err != nil || len(on) != 1 || !on[0].OK || !strings.Contains(on[0].Observed, "gvisor; outside ") {
				t.Errorf("on: %v, %+v", err, on)
			}
			off, err := c.ProveOff(t.Context(), new(layer.Run).At(site))
			if err != nil || len(off) != 1 || !off[0].OK {
				t.Errorf("off: %v, %+v", err, off)
			}
			gone, err := a.Before(t.Context(), site)
			if err != nil || len(gone) != 1 || gone[0].OK {
				t.Errorf("taken away: %v, %+v", err, gone)
			}
		})
	}
}
