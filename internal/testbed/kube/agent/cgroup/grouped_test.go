package cgroup

import (
	"testing"
	"testing/fstest"
	"time"
)

func TestGrouped(t *testing.T) {
	// top is the top of a node's cgroups of version 2, as systemd makes them, with changed files. A file that is
	// changed to "" does not exist.
	top := func(changes map[string]string) fstest.MapFS {
		files := fstest.MapFS{}
		for name, text := range map[string]string{
			"cgroup.controllers":      "cpu memory",
			"cpu.stat":                "usage_usec 99000000",
			"init.scope/cpu.stat":     "usage_usec 1000000\nuser_usec 5",
			"system.slice/cpu.stat":   "usage_usec 2000000",
			"kubepods.slice/cpu.stat": "usage_usec 4000000",
		} {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		for name, text := range changes {
			if files[name] = (&fstest.MapFile{Data: []byte(text)}); text == "" {
				delete(files, name)
			}
		}
		return files
	}
	for _, c := range []struct {
		name    string
		changes map[string]string
		want    time.Duration // -1: unknown
	}{
		{"a node", nil, 7 * time.Second},
		{"version 1", map[string]string{"cgroup.controllers": ""}, -1},
		{"without systemd", map[string]string{"init.scope/cpu.stat": ""}, -1},
		{"a node that is a container", map[string]string{"cgroup.events": "populated 1"}, -1},
		{"a group without CPU time", map[string]string{"user.slice/memory.current": "1"}, -1},
		{"a group with nonsense", map[string]string{"user.slice/cpu.stat": "usage_usec x"}, -1},
	} {
		got := Grouped(top(c.changes))
		if known := got != nil; known != (c.want >= 0) || known && *got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
