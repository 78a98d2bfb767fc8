package front_test

import (
	"strings"
	"testing"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/gvisor"
	"tare/layer/landlock"
	"tare/layer/sandbox"
	"tare/layer/seccomp"
	"tare/testbed"
	"tare/testbed/kube/sitetest"
)

// TestOnCluster puts the same layers around programs in pods: each is shown to be on there, and
// off in the pods of a plain arm; what pods may not do is refused.
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
			session := new(layer.Run).At(site, places...)
			up, err := l.Up(t.Context(), session)
			if err != nil {
				t.Fatal(err)
			}
			sitetest.Ready(t, site)
			once, err := up.Settle(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			on, err := up.Before(t.Context(), layer.Dress(site, up))
			on = append(once, on...)
			if err != nil || len(on) == 0 || strings.Contains(text(on), ": false") {
				t.Errorf("on: %v\n%s", err, text(on))
			}
			off, err := l.ProveOff(t.Context(), new(layer.Run).At(plain, places...))
			if err != nil || len(off) == 0 || strings.Contains(text(off), ": false") {
				t.Errorf("off: %v\n%s", err, text(off))
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		for _, k := range sandbox.Kinds() {
			if k.Name != "userns" {
				continue
			}
			up, err := k.New().Up(t.Context(), new(layer.Run).At(plain, places...))
			if err != nil {
				t.Fatal(err)
			}
			checks, err := up.Settle(t.Context())
			if err == nil && !strings.Contains(text(checks), ": false") {
				t.Errorf("a user namespace in a pod: %s", text(checks))
			}
		}
	})
}
