package machine

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// cgroupPaths lists the directories of Tare's own cgroup and its ancestors, innermost first. The limits of all these
// cgroups apply.
type cgroupPaths struct {
	version int      // version of cgroups, 1 or 2; 0: there are none
	cpu     []string // directories with cpu.max (version 2) or cpu.cfs_quota_us (version 1)
	memory  []string
}

const cgroupMount = "sys/fs/cgroup"

// ownCgroup returns the cgroup of this process. The argument groups holds the cgroup's path by controller (see
// proc.Groups).
func ownCgroup(sys fs.FS, groups map[string]string) cgroupPaths {
	if group, ok := groups[""]; ok && exists(sys, path.Join(cgroupMount, "cgroup.controllers")) {
		dirs := ancestors(sys, cgroupMount, group)
		return cgroupPaths{version: 2, cpu: dirs, memory: dirs}
	}
	p := cgroupPaths{}
	for controller, dirs := range map[string]*[]string{"cpu": &p.cpu, "memory": &p.memory} {
		if group, ok := groups[controller]; ok {
			p.version, *dirs = 1, ancestors(sys, path.Join(cgroupMount, controller), group)
		}
	}
	return p
}

// ancestors lists the directories of a cgroup and its ancestors, up to the mount. If the group is invisible in a
// container, the mount stands for it.
func ancestors(sys fs.FS, mount, group string) []string {
	var dirs []string
	for p := path.Clean("/" + group); p != "/"; p = path.Dir(p) {
		if dir := path.Join(mount, p); exists(sys, dir) {
			dirs = append(dirs, dir)
		}
	}
	return append(dirs, mount)
}

// limits returns the tightest limits that apply to the cgroup, from itself or from a cgroup above it.
func (p cgroupPaths) limits(sys fs.FS) Cgroup {
	c := Cgroup{Version: p.version}
	for _, dir := range p.cpu {
		if q := cpuQuota(sys, dir, p.version); q > 0 && (c.CPUs == 0 || q < c.CPUs) {
			c.CPUs = q
		}
	}
	for _, dir := range p.memory {
		if m := memoryLimit(sys, dir, p.version); m > 0 && (c.Memory == 0 || m < c.Memory) {
			c.Memory = m
		}
	}
	return c
}

// cpuQuota returns the CPU quota of one cgroup in cores; 0 if there is none.
func cpuQuota(sys fs.FS, dir string, version int) float64 {
	text := readText(sys, path.Join(dir, "cpu.max")) // quota and period in microseconds: "max 100000" or "150000 100000"
	if version == 1 {
		text = readText(sys, path.Join(dir, "cpu.cfs_quota_us")) + " " + readText(sys, path.Join(dir, "cpu.cfs_period_us"))
	}
	quota, period, _ := strings.Cut(text, " ")
	q, err1 := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// memoryLimit returns the memory limit of one cgroup in bytes; 0: none. Version 1 shows a huge number for no limit.
func memoryLimit(sys fs.FS, dir string, version int) int64 {
	name := "memory.max"
	if version == 1 {
		name = "memory.limit_in_bytes"
	}
	n, err := strconv.ParseInt(readText(sys, path.Join(dir, name)), 10, 64)
	if err != nil || n <= 0 || n >= 1<<62 {
		return 0
	}
	return n
}

// throttled counts how often the cgroup, or one of its ancestors, was stopped after using up its CPU quota.
func (p cgroupPaths) throttled(sys fs.FS) int {
	sum := 0
	for _, dir := range p.cpu {
		for line := range strings.Lines(readText(sys, path.Join(dir, "cpu.stat"))) {
			if text, ok := strings.CutPrefix(line, "nr_throttled "); ok {
				if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 {
					sum += n
				}
			}
		}
	}
	return sum
}

// taskTime returns the CPU time of all tasks since boot; false: unknown. Only the root cgroup of version 1 has this
// counter, and the file release_agent.
func taskTime(sys fs.FS) (time.Duration, bool) {
	dir := path.Join(cgroupMount, "cpuacct")
	if !exists(sys, path.Join(dir, "release_agent")) {
		return 0, false
	}
	ns, err := strconv.ParseInt(readText(sys, path.Join(dir, "cpuacct.usage")), 10, 64)
	return time.Duration(ns), err == nil && ns >= 0
}
