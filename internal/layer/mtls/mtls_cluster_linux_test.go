package mtls

import (
	"context"
	"os"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed/kube/sitetest"
)

// imageVariable names an image with Envoy on the test cluster: make systems builds one.
const imageVariable = "TARE_TEST_SYSTEMS"

// TestOnCluster puts the layer around pods, in both modes, and shows that its proofs can fail.
func TestOnCluster(t *testing.T) {
	bed, image := sitetest.Bed(t), os.Getenv(imageVariable)
	if image == "" {
		t.Skipf("%s is not set: make systems, load bin/systems.tar and set it to %s", imageVariable, DefaultImage)
	}
	ctx := t.Context()
	c := config(func(c *Config) { c.Image = image })
	direct := sitetest.Open(t, bed, "direct", experiment.Needs{Network: true}, sitetest.Small(experiment.DifferentNodes))
	sitetest.Ready(t, direct)
	checks, err := c.ProveOff(ctx, new(layer.Run).At(direct))
	assert(t, "without the layer", outcome(t, checks, err), "marker from pod to pod: true\n")

	site := sitetest.Open(t, bed, "mtls", c.Declare().Needs, sitetest.Small(experiment.DifferentNodes))
	a, err := c.up(ctx, site)
	if err != nil {
		t.Fatal(err)
	}
	sitetest.Ready(t, site)
	for _, mode := range []mode{mutual, plaintext} {
		a.Mode = factor.Of(mode)
		onCluster(t, a, c)
	}
}

// onCluster tests the layer from Up to Down in pods with its sidecars.
func onCluster(t *testing.T, a *active, c *Config) {
	ctx := t.Context()
	if err := a.raise(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		checks, err := a.prove(ctx, a.site)
		got := outcome(t, append(a.proofs, checks...), err)
		if strings.Contains(got, ": false") || strings.Count(got, "\n") < 10 {
			t.Errorf("%s, before a trial:\n%s", a.Mode.One(), got)
		}
		checks, err = a.through(ctx, layer.Did{})
		assert(t, "after a trial", outcome(t, checks, err), "handshakes of the trial: true\n")
	}
	costs, err := a.costs()
	if err != nil || len(costs) != 2 || costs[0].CPU == 0 || costs[1].Memory < 1<<20 {
		t.Errorf("costs of %+v, %v", costs, err)
	}
	checks, err := c.ProveOff(ctx, new(layer.Run).At(a.site.Site))
	if got := outcome(t, checks, err); !strings.HasPrefix(got, "marker from pod to pod: false: ") {
		t.Errorf("off, while it is on:\n%s", got)
	}
	checks, err = a.through(ctx, layer.Did{Sent: 1e9})
	if got := outcome(t, checks, err); !strings.Contains(got, "trial through the proxies: false: ") {
		t.Errorf("a gigabyte that was not sent:\n%s", got)
	}
	if err := a.helpers[a.at[serverSide]].Ask(ctx, request{Restore: &struct{}{}}, nil); err != nil {
		t.Fatal(err)
	}
	checks, err = a.prove(ctx, a.site)
	if got := outcome(t, checks, err); !strings.Contains(got, "redirection in the server-pod/mtls: false: expected 10 rules, observed 0 rules\n") ||
		!strings.Contains(got, "marker through the proxies: false: ") {
		t.Errorf("without the server's rules:\n%s", got)
	}
	if err := a.proxies[serverSide].process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.proxies[serverSide].ended
	if checks, err := a.prove(ctx, a.site); err == nil || !strings.HasPrefix(err.Error(), "server-proxy: envoy ") || !strings.HasSuffix(err.Error(), "signal: killed") {
		t.Errorf("with a dead proxy: %v, %v", checks, err)
	}
}
