package cgroup

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestQuotas(t *testing.T) {
	type quotas struct{ pod, container Quota }
	for name, c := range map[string]struct {
		make func(files fstest.MapFS, group string)
		want quotas
	}{
		"version 1": {func(m fstest.MapFS, group string) {
			version1(m, "cpuacct", "cpu", group, "5000")
			version1(m, "cpuacct", "cpu", group+"/abcdef", "4000")
			m["memory/"+group+"/memory.limit_in_bytes"] = file("9223372036854771712\n") // no limit
			at := "/" + group + "/abcdef/"
			m["cpu"+at+"cpu.cfs_quota_us"], m["cpu"+at+"cpu.cfs_period_us"] = file("20000\n"), file("100000\n")
			m["cpu/"+group+"/cpu.cfs_quota_us"], m["cpu/"+group+"/cpu.cfs_period_us"] = file("-1\n"), file("100000\n")
			m["memory"+at+"memory.limit_in_bytes"], m["memory"+at+"memory.max_usage_in_bytes"] = file("104857600\n"), file("2000\n")
			m["memory"+at+"memory.oom_control"] = file("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
		}, quotas{Quota{Periods: 10}, Quota{CPU: 0.2, Periods: 10, Memory: 100 << 20, Peak: 2000, Kills: 1}}},
		"version 2": {func(m fstest.MapFS, group string) {
			version2(m, group, "7")
			version2(m, group+"/abcdef", "6")
			m[group+"/cpu.max"], m[group+"/memory.max"], m[group+"/memory.events"] = file("max 100000\n"), file("max\n"), file("oom 3\noom_kill 2\n")
			at := group + "/abcdef/"
			m[at+"cpu.max"], m[at+"memory.max"], m[at+"memory.peak"] = file("20000 100000\n"), file("104857600\n"), file("2000\n")
		}, quotas{Quota{Periods: 10, Kills: 2}, Quota{CPU: 0.2, Periods: 10, Memory: 100 << 20, Peak: 2000}}},
	} {
		files := fstest.MapFS{}
		c.make(files, "kubepods/pod"+uid1)
		group := locate(files, []string{uid1}, map[string]string{})[0]
		u, ok := group.ReadQuotas()
		if !ok || u.Quota == nil || len(u.Containers) != 1 || u.Containers[0].Quota == nil {
			t.Fatalf("%s: %+v", name, u)
		}
		if diff := cmp.Diff(c.want, quotas{*u.Quota, *u.Containers[0].Quota}, cmp.AllowUnexported(quotas{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if u, _ := group.Read(); u.Quota != nil || u.Containers[0].Quota != nil {
			t.Errorf("%s: quotas that nobody asked for", name)
		}
	}
}
