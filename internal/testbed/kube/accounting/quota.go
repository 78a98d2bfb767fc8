package accounting

import (
	"cmp"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
)

// quotaOf returns how near to their limits the containers of an observed pod came between two readings. before is nil
// if the pod started in between. The container that came nearest to a limit counts.
func quotaOf(before, after *cgroup.Usage, p podRef) *testbed.Quota {
	if after.Quota == nil {
		return nil
	}
	if before == nil {
		before = &cgroup.Usage{}
	}
	q := &testbed.Quota{Restarts: p.restarts, Killed: p.killed}
	for _, now := range after.Containers {
		then := containerOf(before, now.ID)
		start := cmp.Or(then.Quota, &cgroup.Quota{})
		if limits := now.Quota; limits != nil {
			one := &testbed.Quota{Memory: limits.Memory, Peak: cmp.Or(limits.Peak, now.WorkingSet), Kills: growth(start.Kills, limits.Kills)}
			if limits.CPU > 0 {
				one.CPU, one.Periods, one.Throttled = limits.CPU, growth(start.Periods, limits.Periods), growth(then.Throttled, now.Throttled)
				one.Before = &testbed.Throttled{Periods: start.Periods, Throttled: then.Throttled}
			}
			q = q.Worst(one)
		}
	}
	// In version 2, the pod also counts the kills in containers that have ended.
	q.Kills = max(q.Kills, growth(cmp.Or(before.Quota, &cgroup.Quota{}).Kills, after.Quota.Kills))
	return q
}
