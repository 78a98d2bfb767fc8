package syscalls

import (
	"slices"
	"testing"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/testbed"
	"tare/testbed/kube"
	"tare/testbed/kube/kubetest"
)

// TestInPod measures in a pod of a cluster: the agent there becomes the probe.
func TestInPod(t *testing.T) {
	bed, err := kube.New(kube.Options{Kubeconfig: kubetest.Kubeconfig(t), Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bed.Close() })
	c := New().(*Config)
	level := experiment.NewKubernetes()
	level.Resources = experiment.Resources{CPU: "none", Memory: "128Mi", CPURequest: "20m"}
	site, err := bed.Open(t.Context(), testbed.Request{Name: "plain", Needs: c.Declare().Needs, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	if err := site.(*kube.Site).Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		one := small(test)
		one.In, one.Tests = testbed.ClientPod, factor.Of(Test(test))
		r, err := measure(t, one, site, 2)
		switch refused := slices.Equal(r.Unavailable, metricNames); {
		case err != nil:
			t.Errorf("%s: %v", test, err)
		case refused != (test == "mount"): // the pod has no rights
			t.Errorf("%s: %+v", test, r)
		case !refused:
			t.Logf("%-16s %7.0f ns", test, r.Values[cpuMetric]*nanoseconds)
		}
	}
}
