package startup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/layer/pod"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/kubetest"
	"tare/internal/testbed/kube/sitetest"
	"tare/internal/workload"
)

// siteOnCluster is an arm's site on the test cluster, with a layer or without.
func siteOnCluster(t *testing.T, arm string, l layer.Layer, accounting experiment.Accounting) testbed.Site {
	t.Helper()
	level := sitetest.Unlimited()
	level.Accounting = accounting
	opened := sitetest.Open(t, sitetest.Bed(t), arm, New().Declare().Needs, level)
	site := testbed.Site(opened)
	if l != nil {
		up, err := l.Up(t.Context(), new(layer.Run).At(opened, testbed.ClientPod))
		if err != nil {
			t.Fatal(err)
		}
		site = layer.WithWrappers(opened, up)
	}
	sitetest.Ready(t, opened)
	return site
}

// A pod reaches all phases in their order. Its call comes after it was scheduled, and before the limit. Pods of
// gVisor behave like those of runc.
func TestPodsStart(t *testing.T) {
	kubetest.Kubeconfig(t)
	for arm, l := range map[string]layer.Layer{"plain": nil, "gvisor": &pod.Config{RuntimeClass: factor.Of("gvisor")}} {
		t.Run(arm, func(t *testing.T) {
			t.Parallel()
			c := config()
			c.Starts = 2
			r, raw, err := trial(t, c, siteOnCluster(t, arm, l, experiment.InContainer))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range starts(t, raw) {
				t.Logf("%s: first answer after %.3f s, %v", arm, s.First, s.Phases)
				var at []float64
				for _, p := range phases {
					at = append(at, s.Phases[p])
				}
				if at[0] <= 0 || !slices.IsSorted(at) || s.First <= at[0] {
					t.Errorf("phases %v, first answer %v", at, s.First)
				}
			}
			if len(r.Values) != 1+len(phases) || !r.Used["program"].Unavailable || r.Work != 2 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Any program is started in any image. If a program prints nothing, the error has the reason.
func TestProgramsInPods(t *testing.T) {
	t.Parallel()
	site := siteOnCluster(t, "plain", nil, experiment.InContainer)
	c := config("sh", "-c", "sleep 1; echo up")
	c.Starts, c.Warmup = 1, 0
	r, _, err := trial(t, c, site)
	if err != nil || r.Values[mean] < 1 {
		t.Errorf("%v, %v", r.Values, err)
	}
	c.Command = []string{"sh", "-c", "exit 3"}
	_, _, err = trial(t, c, site)
	var invalid *workload.Invalid
	if !errors.As(err, &invalid) || invalid.Rule != workload.RuleExit || !strings.Contains(invalid.Detail, "exit status 1") {
		t.Errorf("got %v", err)
	}
}

// The memory of idle pods grows with their number, by their cgroups on the node.
func TestDensityOfPods(t *testing.T) {
	t.Parallel()
	site := siteOnCluster(t, "plain", nil, experiment.OnNode)
	one, _, err := trial(t, config(), site) // the resources of a start are known there, too
	if used := one.Used["program"]; err != nil || used.Unavailable || used.CPU() <= 0 || used.MaxRSS <= 0 {
		t.Errorf("%+v, %v", one, err)
	}
	t.Logf("a start uses %+v", one.Used["program"])
	use := map[int]float64{}
	for _, n := range []int{1, 4} {
		c := config()
		c.Instances, c.Duration, c.Settle = factor.Of(n), quantity.Duration(time.Second), quantity.Duration(time.Second)
		r, _, err := trial(t, c, site)
		if err != nil {
			t.Fatal(err)
		}
		use[n] = r.Values[memory]
		t.Logf("%d pods: %v", n, r.Values)
	}
	if use[1] <= 0 || use[4] < 2*use[1] {
		t.Errorf("memory %v", use)
	}
}
