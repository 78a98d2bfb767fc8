// Package cgroup reads what the cgroups of pods and containers have used, of version 1
// and version 2, as the kubelet lays them out with either of its drivers. It reads
// files and nothing else, so that a process can read those of the node that it sees
// below some directory.
package cgroup

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/machine/proc"
	"tare/safetext"
)

// mount is where a process sees cgroups, below the root of its files.
const mount = "sys/fs/cgroup"

// Group is where one cgroup is: the directories in which its files are, which
// differ by controller in version 1 and are one in version 2.
type Group struct {
	files   fs.FS
	pod     string // UID, "" for none
	version int
	usage   string // of cpu.stat (2) or cpuacct.usage (1)
	cpu     string // of cpu.stat
	memory  string
}

// The names under which version 1 mounts the controllers that are read here.
var (
	usageMounts  = []string{"cpuacct", "cpu,cpuacct", "cpuacct,cpu"}
	cpuMounts    = []string{"cpu", "cpu,cpuacct", "cpuacct,cpu"}
	memoryMounts = []string{"memory"}
)

// groupAt gives the group that below finds under the top of each controller's
// hierarchy.
func groupAt(files fs.FS, root string, below func(top string, controllers []string) string) Group {
	if exists(files, path.Join(root, "cgroup.controllers")) {
		dir := below(root, nil)
		return Group{files: files, version: 2, usage: dir, cpu: dir, memory: dir}
	}
	first := func(names []string) string {
		for _, name := range names {
			if top := path.Join(root, name); exists(files, top) {
				return below(top, names)
			}
		}
		return ""
	}
	return Group{files: files, version: 1, usage: first(usageMounts), cpu: first(cpuMounts), memory: first(memoryMounts)}
}

// Own gives the cgroup of this process, of which the path by controller is given (see
// proc.Groups). One that does not exist below the mount is the node's name of the group
// that a container sees as the mount itself.
func Own(files fs.FS, groups map[string]string) Group {
	return groupAt(files, mount, func(top string, controllers []string) string {
		name := groups[""]
		for _, c := range controllers {
			for part := range strings.SplitSeq(c, ",") {
				if g, ok := groups[part]; ok {
					name = g
				}
			}
		}
		if dir := path.Join(top, path.Clean("/"+name)); exists(files, dir) {
			return dir
		}
		return top
	})
}

// Read reads the group's counters; ok is false where it tells no CPU time, as a
// group does that has just been removed.
func (g Group) Read() (c Usage, ok bool) {
	stat := text(g.files, path.Join(g.cpu, "cpu.stat"))
	var used, system int64
	current, inactive := "memory.current", "inactive_file"
	if g.version == 2 {
		us, found := keyed(stat, "usage_usec")
		if !found || us > math.MaxInt64/int64(time.Microsecond) {
			return Usage{}, false
		}
		used = us * int64(time.Microsecond)
		system, _ = keyed(stat, "system_usec")
		system = min(system, us) * int64(time.Microsecond)
	} else {
		ns, err := number(text(g.files, path.Join(g.usage, "cpuacct.usage")))
		if err != nil {
			return Usage{}, false
		}
		used, current, inactive = ns, "memory.usage_in_bytes", "total_inactive_file"
		// Of cpuacct.usage_sys the unit is finer, but it is not corrected to what was
		// really used, and often exceeds the whole.
		ticks, _ := keyed(text(g.files, path.Join(g.usage, "cpuacct.stat")), "system")
		system = min(min(ticks, math.MaxInt64/int64(proc.Tick))*int64(proc.Tick), used)
	}
	c = Usage{Pod: g.pod, CPU: time.Duration(used), System: time.Duration(system), Throttled: -1}
	if n, ok := keyed(stat, "nr_throttled"); ok && n <= math.MaxInt32 {
		c.Throttled = int(n)
	}
	c.WorkingSet = g.workingSet(current, inactive)
	if g.pod != "" {
		c.Containers = g.containers()
	}
	return c, true
}

// workingSet is the memory of the group without inactive file pages, in bytes, by
// the names of its files; 0 where it is not told.
func (g Group) workingSet(current, inactive string) int64 {
	bytes, err := number(text(g.files, path.Join(g.memory, current)))
	if err != nil {
		return 0
	}
	cached, _ := keyed(text(g.files, path.Join(g.memory, "memory.stat")), inactive)
	return max(0, bytes-cached)
}

// ContainersLimit is how many containers of a pod are read.
const ContainersLimit = 100

// containers reads the cgroups below the group, by their containers' ids. A
// runtime may have two for one container: its own monitor's beside it.
func (g Group) containers() []Container {
	entries, err := fs.ReadDir(g.files, g.usage)
	if err != nil {
		return nil
	}
	var all []Container
	for _, e := range entries {
		if !e.IsDir() || len(all) >= ContainersLimit {
			continue
		}
		c, ok := g.below(e.Name()).Read()
		if !ok {
			continue // it has just ended
		}
		id := safetext.Head(containerID(e.Name()), 255)
		at := slices.IndexFunc(all, func(w Container) bool { return w.ID == id })
		if at < 0 {
			at, all = len(all), append(all, Container{ID: id})
		}
		all[at].CPU += c.CPU
		all[at].System += c.System
		all[at].WorkingSet += c.WorkingSet
		// The kernel does not add this up over a pod. A container that is not in the
		// hierarchy of this controller has no limit but the pod's.
		all[at].Throttled += max(0, c.Throttled)
	}
	return all
}

// below is a group in this one.
func (g Group) below(name string) Group {
	in := Group{files: g.files, version: g.version}
	for _, one := range []struct {
		from string
		to   *string
	}{{g.usage, &in.usage}, {g.cpu, &in.cpu}, {g.memory, &in.memory}} {
		if one.from != "" {
			*one.to = path.Join(one.from, name)
		}
	}
	return in
}

// containerID is the part of a cgroup's name that is a container's id: what is
// left without the runtime's prefix and systemd's suffix.
func containerID(name string) string {
	name = strings.TrimSuffix(name, ".scope")
	return name[strings.LastIndexByte(name, '-')+1:]
}

// keyed reads the number after a key in a file of lines "KEY NUMBER".
func keyed(lines, key string) (int64, bool) {
	for line := range strings.Lines(lines) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			n, err := number(value)
			return n, err == nil
		}
	}
	return 0, false
}

var errNegative = errors.New("negative")

// number reads a counter.
func number(digits string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err == nil && n < 0 {
		err = errNegative
	}
	return n, err
}

func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

// text reads a file; "" where it cannot.
func text(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return ""
	}
	return string(data)
}

// Usage is what a cgroup says has been used.
type Usage struct {
	Pod        string        `json:"pod,omitempty"`    // UID
	CPU        time.Duration `json:"cpu"`              // used so far
	System     time.Duration `json:"system"`           // of it, in the kernel; 0 where that is not known
	WorkingSet int64         `json:"workingSet"`       // memory without inactive file pages, bytes
	Throttled  int           `json:"throttled"`        // periods in which it was throttled itself, its parts not counted; -1: not known
	Containers []Container   `json:"within,omitempty"` // the cgroups below a pod's
}

// Container is what the cgroup of one container in a pod says. The container that
// holds the pod's namespaces, and with it a sandbox's own processes, has one too
// on most nodes.
type Container struct {
	ID         string        `json:"id"` // of the container
	CPU        time.Duration `json:"cpu"`
	System     time.Duration `json:"system"`
	WorkingSet int64         `json:"workingSet"`
	Throttled  int           `json:"throttled"` // 0 where it has no limit of its own
}
