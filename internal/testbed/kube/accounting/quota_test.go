package accounting

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
)

// TestQuotaOf: of each limit, the container counts that came nearest to it.
func TestQuotaOf(t *testing.T) {
	usage := func(kills int, containers ...cgroup.Usage) *cgroup.Usage {
		return &cgroup.Usage{Quota: &cgroup.Quota{Kills: kills}, Containers: containers}
	}
	container := func(id string, throttled int, q cgroup.Quota) cgroup.Usage {
		return cgroup.Usage{ID: id, Throttled: throttled, WorkingSet: 30, Quota: &q}
	}
	before := usage(1, container("main", 5, cgroup.Quota{CPU: 0.2, Periods: 50, Memory: 100}), container("proxy", 0, cgroup.Quota{CPU: 1, Periods: 50, Memory: 100}))
	after := usage(2, container("main", 8, cgroup.Quota{CPU: 0.2, Periods: 80, Memory: 100, Peak: 40}), container("proxy", 1, cgroup.Quota{CPU: 1, Periods: 80, Memory: 100, Peak: 70}), container("pause", 0, cgroup.Quota{}))
	for name, c := range map[string]struct {
		before, after *cgroup.Usage
		pod           podRef
		want          *testbed.Quota
	}{
		"two containers": {before, after, podRef{restarts: 3, killed: true}, &testbed.Quota{CPU: 0.2, Periods: 30, Throttled: 3,
			Before: &testbed.Throttled{Periods: 50, Throttled: 5}, Memory: 100, Peak: 70, Kills: 1, Restarts: 3, Killed: true}},
		"a pod that started in between": {nil, usage(0, container("main", 2, cgroup.Quota{CPU: 0.2, Periods: 4, Memory: 100})), podRef{},
			&testbed.Quota{CPU: 0.2, Periods: 4, Throttled: 2, Before: &testbed.Throttled{}, Memory: 100, Peak: 30}},
		"a container that restarted": {before, usage(1, container("new", 0, cgroup.Quota{CPU: 0.2, Periods: 9, Memory: 100, Peak: 1})), podRef{restarts: 1},
			&testbed.Quota{CPU: 0.2, Periods: 9, Before: &testbed.Throttled{}, Memory: 100, Peak: 1, Restarts: 1}},
		"an agent without quotas": {before, &cgroup.Usage{}, podRef{}, nil},
	} {
		if diff := cmp.Diff(c.want, quotaOf(c.before, c.after, c.pod)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
