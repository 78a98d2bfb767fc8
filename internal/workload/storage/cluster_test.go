package storage

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/sitetest"
	"tare/internal/workload"
)

// TestOnACluster measures volumes of the storage class that any user may write to: past the page cache in a pod of
// the cluster's default runtime, and through it in gVisor, which ignores O_DIRECT.
func TestOnACluster(t *testing.T) {
	bed := sitetest.Bed(t)
	for _, runtime := range []string{"", "gvisor"} {
		t.Run("runtime "+runtime, func(t *testing.T) {
			site := claimed(t, bed, short(randomRead).Declare().Needs, runtime)
			for i, op := range []operation{randomRead, write} {
				c := short(op)
				c.Direct, c.Engine, c.IODepth = pastCache, []engine{libAIO, pSync}[i], factor.Of([]int{8, 1}[i])
				if runtime == "gvisor" {
					if _, err := c.Prepare(t.Context(), &workload.Trial{Site: site, Raw: &memory{}}); !errors.Is(err, errDropped) {
						t.Errorf("%s: got %v, want %v", op, err, errDropped)
					}
					c.Direct = throughCache
				}
				var raw memory
				r, err := run(t.Context(), c, site, &raw)
				if err != nil {
					t.Fatalf("%s: %v", op, err)
				}
				used := r.Used[part]
				if r.Values[c.prefix(c.Direct == throughCache)+"-iops"] <= 0 || !used.Unavailable && (used.CPU() <= 0 || used.MaxRSS <= 0) {
					t.Errorf("%s: %v, used %+v", op, r.Values, r.Used)
				}
				t.Logf("%s: %.0f I/Os per second, %v", op, r.Values[c.prefix(c.Direct == throughCache)+"-iops"], r.Used[part])
				if laid := slices.Contains(raw.Names(), "layout.json"); laid != (i == 0) {
					t.Errorf("%s: data laid out: %v", op, laid)
				}
			}
		})
	}
}

// claimed makes a site with a volume of the storage class local.
func claimed(t *testing.T, bed *kube.Testbed, needs experiment.Needs, runtime string) *kube.Site {
	t.Helper()
	level := sitetest.Small(experiment.DifferentNodes)
	level.Resources = experiment.Resources{CPU: "200m", Memory: "256Mi"}
	site := sitetest.Open(t, bed, "storage"+runtime, needs, level)
	site.ShapeVolume(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("local") })
	if runtime != "" {
		site.ShapePods(func(p *corev1.Pod) error { p.Spec.RuntimeClassName = new(runtime); return nil })
	}
	sitetest.Ready(t, site)
	return site
}
