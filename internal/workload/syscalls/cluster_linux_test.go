package syscalls

import (
	"slices"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/sitetest"
)

// TestInPod measures in a pod of a cluster, where the agent becomes the probe.
func TestInPod(t *testing.T) {
	site := sitetest.Open(t, sitetest.Bed(t), "plain", New().Declare().Needs, sitetest.Unlimited())
	sitetest.Ready(t, site)
	for _, test := range tests {
		one := small(test)
		one.In, one.Tests = testbed.ClientPod, factor.Of(Test(test))
		r, err := measure(t, one, site, 2)
		switch refused := slices.Equal(r.Unavailable, metricNames); {
		case err != nil:
			t.Errorf("%s: %v", test, err)
		case refused != (test == "mount"): // the pod lacks the rights for mount
			t.Errorf("%s: %+v", test, r)
		case !refused:
			t.Logf("%-16s %7.0f ns", test, r.Values[cpuMetric]*nanoseconds)
		}
	}
}
