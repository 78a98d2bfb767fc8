// Package cgroup reads the CPU time and memory of pods and containers from the files of their cgroups. It knows cgroup
// versions 1 and 2, and the kubelet's layouts cgroupfs and systemd. All files are below one directory, such as a mount
// of the node's cgroups in a pod.
package cgroup

import (
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/run/machine/proc"
	"tare/internal/text/safetext"
)

// Group locates the files of one cgroup. In version 1 every controller has a directory of its own.
type Group struct {
	files   fs.FS
	pod     string // UID of the pod; "" if the cgroup is not a pod's
	version int
	usage   string // directory of cpu.stat (version 2) or cpuacct.usage (version 1)
	cpu     string
	memory  string
}

// These are the directories where version 1 may mount the controllers cpuacct, cpu and memory.
var (
	usageMounts  = []string{"cpuacct", "cpu,cpuacct", "cpuacct,cpu"}
	cpuMounts    = []string{"cpu", "cpu,cpuacct", "cpuacct,cpu"}
	memoryMounts = []string{"memory"}
)

// groupAt returns a cgroup. find returns its directory, given the top directory and the controllers of a hierarchy;
// nil: cgroup version 2.
func groupAt(files fs.FS, root string, find func(top string, controllers []string) string) Group {
	if exists(files, path.Join(root, "cgroup.controllers")) {
		dir := find(root, nil)
		return Group{files: files, version: 2, usage: dir, cpu: dir, memory: dir}
	}
	first := func(names []string) string {
		for _, name := range names {
			if top := path.Join(root, name); exists(files, top) {
				return find(top, names)
			}
		}
		return ""
	}
	return Group{files: files, version: 1, usage: first(usageMounts), cpu: first(cpuMounts), memory: first(memoryMounts)}
}

// Pod returns the UID of the pod whose cgroup this is; "" if it is not a pod's.
func (g Group) Pod() string { return g.pod }

// Own returns the cgroup of this process. groups has its paths by controller (proc.Groups). If a path is missing, as in
// a container, the mount is used.
func Own(files fs.FS, groups map[string]string) Group {
	return groupAt(files, "sys/fs/cgroup", func(top string, controllers []string) string {
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

// Read reads the group's counters. ok is false if the CPU time cannot be read because the cgroup is gone.
func (g Group) Read() (c Usage, ok bool) { return g.read(Group.noQuota) }

// ReadQuotas reads the group's counters as Read does, and the quotas of the group and of its containers.
func (g Group) ReadQuotas() (c Usage, ok bool) { return g.read(Group.quota) }

func (g Group) read(quota func(Group) *Quota) (c Usage, ok bool) {
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
		// The file cpuacct.stat is better than cpuacct.usage_sys, whose value may exceed the total in cpuacct.usage.
		ticks, _ := keyed(text(g.files, path.Join(g.usage, "cpuacct.stat")), "system")
		system = min(min(ticks, math.MaxInt64/int64(proc.Tick))*int64(proc.Tick), used)
	}
	c = Usage{Pod: g.pod, CPU: time.Duration(used), System: time.Duration(system), Throttled: -1}
	if n, ok := keyed(stat, "nr_throttled"); ok && n <= math.MaxInt32 {
		c.Throttled = int(n)
	}
	c.WorkingSet, c.Quota = g.workingSet(current, inactive), quota(g)
	if g.pod != "" {
		c.Containers = g.containers(quota)
	}
	return c, true
}

// workingSet returns the group's memory without inactive file pages, in bytes; 0: unknown. current is a file, inactive
// a line of memory.stat.
func (g Group) workingSet(current, inactive string) int64 {
	bytes, err := number(text(g.files, path.Join(g.memory, current)))
	if err != nil {
		return 0
	}
	cached, _ := keyed(text(g.files, path.Join(g.memory, "memory.stat")), inactive)
	return max(0, bytes-cached)
}

// ContainersLimit is the maximum number of containers that are read in one pod.
const ContainersLimit = 100

// containers returns the usage of each container of a pod. Two cgroups with one id, such as the monitor process's, are
// added up.
func (g Group) containers(quota func(Group) *Quota) (all []Usage) {
	entries, err := fs.ReadDir(g.files, g.usage)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || len(all) >= ContainersLimit {
			continue
		}
		c, ok := g.below(e.Name()).read(quota)
		if !ok {
			continue // the container has just ended
		}
		c.ID = safetext.Head(containerID(e.Name()), 255)
		c.Throttled = max(0, c.Throttled) // -1 (no cgroup of the controller cpu, and so no CPU limit) counts as never throttled
		if at := slices.IndexFunc(all, func(o Usage) bool { return o.ID == c.ID }); at >= 0 {
			all[at] = all[at].Plus(c)
		} else {
			all = append(all, c)
		}
	}
	return all
}

func (g Group) below(name string) Group {
	for _, dir := range []*string{&g.usage, &g.cpu, &g.memory} {
		if *dir != "" {
			*dir = path.Join(*dir, name)
		}
	}
	g.pod = ""
	return g
}

// containerID returns the container id in a cgroup's name, without the runtime's prefix and systemd's suffix.
func containerID(name string) string {
	name = strings.TrimSuffix(name, ".scope")
	return name[strings.LastIndexByte(name, '-')+1:]
}

// keyed reads the number after a key. lines is the content of a file with lines "KEY NUMBER".
func keyed(lines, key string) (int64, bool) {
	for line := range strings.Lines(lines) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			n, err := number(value)
			return n, err == nil
		}
	}
	return 0, false
}

func number(digits string) (int64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
	return int64(n), err
}

func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

func text(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return ""
	}
	return string(data)
}

// Usage is the usage so far of a pod's or container's cgroup. A sandbox's own processes, such as gVisor's, are in the
// pause container's cgroup.
type Usage struct {
	Pod        string        `json:"pod,omitempty"` // UID of the pod; "" for a container
	ID         string        `json:"id,omitempty"`  // container id; "" for a pod
	CPU        time.Duration `json:"cpu"`
	System     time.Duration `json:"system"`     // the part of CPU that was spent in the kernel; 0 if unknown
	WorkingSet int64         `json:"workingSet"` // memory without inactive file pages, in bytes
	// Throttled counts the periods in which the cgroup's own CPU limit stopped it; -1 if unknown. Limits of cgroups below
	// it do not count.
	Throttled  int     `json:"throttled"`
	Containers []Usage `json:"within,omitempty"` // usage of the pod's containers
	Quota      *Quota  `json:"quota,omitempty"`  // nil: not asked for
}

// Quota holds the limits that a cgroup itself has, and how near to them it came since it was made.
type Quota struct {
	CPU     float64 `json:"cpu,omitempty"`     // cores; 0: no limit
	Periods int     `json:"periods,omitempty"` // periods of the CPU limit in which the cgroup ran; Usage.Throttled counts some of them
	Memory  int64   `json:"memory,omitempty"`  // bytes; 0: no limit
	Peak    int64   `json:"peak,omitempty"`    // largest memory, page cache included, in bytes; 0: unknown
	Kills   int     `json:"kills,omitempty"`   // processes that the kernel killed at the limit of memory; in version 2, also those in cgroups below
}

func (g Group) noQuota() *Quota { return nil }

func (g Group) quota() *Quota {
	read := func(dir, name string) string { return strings.TrimSpace(text(g.files, path.Join(dir, name))) }
	limit, peak, events := "memory.max", "memory.peak", "memory.events"
	quota, period, _ := strings.Cut(read(g.cpu, "cpu.max"), " ")
	if g.version == 1 {
		limit, peak, events = "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"
		quota, period = read(g.cpu, "cpu.cfs_quota_us"), read(g.cpu, "cpu.cfs_period_us")
	}
	q := &Quota{}
	if of, err := number(quota); err == nil { // max and -1 are no limit
		if every, err := number(period); err == nil && every > 0 {
			q.CPU = float64(of) / float64(every)
		}
	}
	if n, err := number(read(g.memory, limit)); err == nil && n < unlimitedMemory {
		q.Memory = n
	}
	q.Peak, _ = number(read(g.memory, peak))
	periods, _ := keyed(text(g.files, path.Join(g.cpu, "cpu.stat")), "nr_periods")
	kills, _ := keyed(text(g.files, path.Join(g.memory, events)), "oom_kill")
	q.Periods, q.Kills = int(min(periods, math.MaxInt32)), int(min(kills, math.MaxInt32))
	return q
}

// unlimitedMemory is smaller than the number that version 1 shows for no limit, and larger than any machine's memory.
const unlimitedMemory = 1 << 60

// Plus adds up the usage of two cgroups of a pod. Throttled becomes unknown if it is unknown for one of the cgroups.
func (u Usage) Plus(o Usage) Usage {
	u.CPU, u.System, u.WorkingSet = u.CPU+o.CPU, u.System+o.System, u.WorkingSet+o.WorkingSet
	known := u.Throttled >= 0 && o.Throttled >= 0
	if u.Throttled += o.Throttled; !known {
		u.Throttled = -1
	}
	return u
}

// Pods finds the cgroups of pods in a node's /sys/fs/cgroup and caches their paths.
type Pods struct {
	mu    sync.Mutex
	paths map[string]map[string]string // paths of pods' cgroups below the root, by the root and the pod's UID
}

// Limits of the search for a pod's cgroup. This cgroup lies deeper if the node itself is a container (kind).
const (
	searchDepth = 8
	searchLimit = 50000 // maximum number of directories that a search reads
)

// Find returns the groups of the pods with these UIDs. It leaves out pods that have no cgroup.
func (p *Pods) Find(root string, uids []string) []Group {
	p.mu.Lock()
	defer p.mu.Unlock()
	files := os.DirFS(root)
	if p.paths == nil {
		p.paths = map[string]map[string]string{}
	}
	if p.paths[root] == nil {
		p.paths[root] = map[string]string{}
	}
	return locate(files, uids, p.paths[root])
}

// locate finds the cgroups of pods. The map known holds earlier paths by UID. locate updates it, and searches only for
// the other UIDs.
func locate(files fs.FS, uids []string, known map[string]string) []Group {
	hierarchy := "."
	if !exists(files, "cgroup.controllers") {
		if i := slices.IndexFunc(usageMounts, func(name string) bool { return exists(files, name) }); i >= 0 {
			hierarchy = usageMounts[i]
		}
	}
	missing := map[string]bool{}
	for _, uid := range uids {
		if dir, ok := known[uid]; !ok || !exists(files, path.Join(hierarchy, dir)) {
			delete(known, uid)
			missing[uid] = true
		}
	}
	if len(missing) > 0 {
		search(files, hierarchy, missing, known)
	}
	var groups []Group
	for _, uid := range uids {
		if dir, ok := known[uid]; ok {
			g := groupAt(files, ".", func(top string, _ []string) string { return path.Join(top, dir) })
			g.pod = uid
			groups = append(groups, g)
		}
	}
	return groups
}

// search looks for pods' cgroups below a hierarchy, level by level. The UIDs of found pods move from missing to found.
func search(files fs.FS, hierarchy string, missing map[string]bool, found map[string]string) {
	level := []string{"."}
	for depth, seen := 0, 0; depth < searchDepth && len(level) > 0 && len(missing) > 0; depth++ {
		var next []string
		for _, dir := range level {
			entries, err := fs.ReadDir(files, path.Join(hierarchy, dir))
			if err != nil {
				continue
			}
			for _, e := range entries {
				if !e.IsDir() {
					continue
				}
				if seen++; seen > searchLimit {
					return
				}
				child := path.Join(dir, e.Name())
				uid, isPod := podUID(e.Name())
				if !isPod {
					next = append(next, child)
				} else if missing[uid] {
					found[uid] = child
					delete(missing, uid)
				}
			}
		}
		level = next
	}
}

// podName matches the name of a pod's cgroup. cgroupfs has podUID. systemd has kubepods-CLASS-podUID.slice, with
// underscores for the UID's dashes.
var podName = regexp.MustCompile(`^(?:[a-z0-9_]+-)*pod([A-Za-z0-9_-]+?)(\.slice)?$`)

func podUID(name string) (uid string, ok bool) {
	m := podName.FindStringSubmatch(name)
	if m == nil || len(m[1]) < 8 {
		return "", false
	}
	if m[2] != "" {
		return strings.ReplaceAll(m[1], "_", "-"), true
	}
	return m[1], true
}

// ValidUID matches a pod's UID, or the hash that a static pod has instead of a UID.
var ValidUID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Grouped returns the CPU time of all cgroups below the node's top: all but kernel threads. It is nil for version 1,
// without systemd, and on nodes that are containers.
func Grouped(files fs.FS) *time.Duration {
	const (
		systemdOnly = "init.scope"    // cgroup of systemd itself, the first process
		notAtTop    = "cgroup.events" // file that every cgroup except the top one has
	)
	if !exists(files, "cgroup.controllers") || !exists(files, systemdOnly) || exists(files, notAtTop) {
		return nil
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil || len(entries) > 1000 { // more than 1000 entries are unlikely: real nodes have few cgroups at the top
		return nil
	}
	var sum time.Duration
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		c, ok := Group{files: files, version: 2, usage: e.Name(), cpu: e.Name(), memory: e.Name()}.Read()
		if !ok {
			if exists(files, e.Name()) {
				return nil // without this unreadable cgroup, the sum would be too small
			}
			continue
		}
		sum += c.CPU
	}
	return &sum
}
