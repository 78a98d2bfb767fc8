package wrapper_test

import (
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/gvisor"
	"tare/internal/layer/landlock"
	"tare/internal/layer/layertest"
	"tare/internal/layer/sandbox"
	"tare/internal/layer/seccomp"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/sitetest"
)

// TestOnCluster puts the layers of this package around programs in pods: each is shown to be on there, and off in the
// pods of a plain arm. Actions that the layer denies fail.
func TestOnCluster(t *testing.T) {
	bed, needs := sitetest.Bed(t), experiment.Needs{Network: true}
	plain := sitetest.Open(t, bed, "plain", needs, sitetest.Small(experiment.SameNode))
	sitetest.Ready(t, plain)
	places := []testbed.Place{testbed.ClientPod, testbed.ServerPod}
	for name, l := range map[string]layer.Layer{
		"seccomp":   &seccomp.Config{Rules: factor.Of(8)},
		"arguments": &seccomp.Config{Rules: factor.Of(64), Arguments: factor.Of(true)},
		"landlock":  &landlock.Config{Rules: factor.Of(8)},
		"gvisor":    gvisor.Kind.New(),
	} {
		t.Run(name, func(t *testing.T) {
			site := sitetest.Open(t, bed, name, needs, sitetest.Small(experiment.SameNode))
			up := layertest.Up(t, l, site, places...)
			sitetest.Ready(t, site)
			on := layertest.Text(append(layertest.Settle(t, up), layertest.On(t, up, site)...))
			if on == "" || strings.Contains(on, ": false") {
				t.Errorf("on:\n%s", on)
			}
			if off := layertest.Text(layertest.Off(t, l, plain, places...)); off == "" || strings.Contains(off, ": false") {
				t.Errorf("off:\n%s", off)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		for _, k := range sandbox.Kinds() {
			if k.Name != "userns" {
				continue
			}
			checks, err := layertest.Up(t, k.New(), plain, places...).Settle(t.Context())
			if err == nil && !strings.Contains(layertest.Text(checks), ": false") {
				t.Errorf("a user namespace in a pod: %s", layertest.Text(checks))
			}
		}
	})
}
