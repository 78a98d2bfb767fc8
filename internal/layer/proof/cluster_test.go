package proof

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
	"tare/internal/testbed/kube/sitetest"
)

// TestOnCluster runs programs in the pods under test, by the agent and by an exec, in other pods of the cluster, and
// where there are no such pods.
func TestOnCluster(t *testing.T) {
	c := &config{Checks: []Item{
		{Name: "by the agent", In: testbed.ClientPod, Run: []string{"sh", "-c", "echo in $(TARE_NAMESPACE) as $(id -u)"}, On: `^in tare-\S+ as [0-9]+$`, Off: "^never$"},
		{Name: "a port of the server", In: testbed.ClientPod, Run: []string{"sh", "-c", "nc -w 5 $(TARE_SERVER) 5299 2>&1; true"}, On: `refused`, Off: "^never$"},
		{Name: "by an exec", In: testbed.ServerPod, Container: pods.Container, Run: []string{"echo", "$(TARE_CONTEXT)"}, On: `\S`, Off: "^never$"},
		{Name: "no such container", In: testbed.ServerPod, Container: "istio-proxy", Run: []string{"true"}, On: "x"},
		{Name: "both pods", Pods: &Pods{Labels: map[string]string{inventory.ManagedBy: "tare", inventory.ArmLabel: "a"}}, Container: pods.Container, Run: []string{"echo", "yes"}, On: "yes", Off: "no", When: Once},
		{Name: "no such pods", Pods: &Pods{Namespace: "kube-system", Labels: map[string]string{"tare-test": "none"}}, Run: []string{"true"}, On: "x"},
		{Name: "a failing program", In: testbed.ServerPod, Container: pods.Container, Run: []string{"sh", "-c", "echo why >&2; exit 3"}, On: "x"},
	}}
	site := sitetest.Open(t, sitetest.Bed(t), "a", c.Declare().Needs, sitetest.Small(experiment.DifferentNodes))
	up := layertest.Up(t, c, site)
	sitetest.Ready(t, site)
	type seen struct{ OK, Once bool }
	on := map[string]seen{"by the agent": {OK: true}, "a port of the server": {OK: true}, "by an exec": {OK: true}, "no such container": {}, "both pods": {true, true}, "no such pods": {}, "a failing program": {}}
	off := map[string]seen{"by the agent": {}, "a port of the server": {}, "by an exec": {}, "no such container": {OK: true}, "both pods": {}, "no such pods": {OK: true}, "a failing program": {}}
	collect := func(checks []layer.Check) (map[string]seen, map[string]string) {
		got, observed := map[string]seen{}, map[string]string{}
		for _, c := range checks {
			got[c.Name], observed[c.Name] = seen{c.OK, c.Once}, c.Observed
		}
		return got, observed
	}
	for range 2 {
		got, observed := collect(layertest.Before(t, up, site))
		if diff := cmp.Diff(on, got); diff != "" {
			t.Errorf("on: %s\n%v", diff, observed)
		}
		for name, want := range map[string]string{
			"no such container": "the pod has no container istio-proxy", "no such pods": "there is no such pod",
			"both pods": `client: "yes\n"; likewise in 1 more`, "a failing program": `""; sh -c 'echo why >&2; exit 3': exit status 3: why`,
		} {
			if observed[name] != want {
				t.Errorf("%s: observed %s, want %s", name, observed[name], want)
			}
		}
	}
	if got, observed := collect(layertest.Off(t, c, site)); !cmp.Equal(off, got) {
		t.Errorf("off: %s\n%v", cmp.Diff(off, got), observed)
	}
}
