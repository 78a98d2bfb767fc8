package cgroup

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Pods finds the cgroups of pods in a node's /sys/fs/cgroup and caches their paths.
type Pods struct {
	mu    sync.Mutex
	paths map[string]map[string]string // path of a pod's cgroup below its hierarchy, by root and UID
}

// These limit the search for a pod's cgroup. It is deeper if the node itself is a container (kind).
const (
	searchDepth = 8
	searchLimit = 50000 // maximum number of directories
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

// locate finds the groups of pods. It tries the paths in known first, and updates them.
func locate(files fs.FS, uids []string, known map[string]string) []Group {
	hierarchy := "."
	if !exists(files, "cgroup.controllers") {
		for _, name := range usageMounts {
			if exists(files, name) {
				hierarchy = name
				break
			}
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

// search looks for the cgroups of missing pods, from the top of the hierarchy downwards. It moves each pod from
// missing to found, with the path below the hierarchy.
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

// podName matches the name of a pod's cgroup. With cgroupfs the name is podUID. With systemd it is
// kubepods-CLASS-podUID.slice, and the dashes of the UID are underscores.
var podName = regexp.MustCompile(`^(?:[a-z0-9_]+-)*pod([A-Za-z0-9_-]+?)(\.slice)?$`)

// podUID returns the UID that the name of a pod's cgroup contains; ok is false for other cgroups.
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

// groupsLimit is the maximum number of cgroups at the top of a node. Real nodes have a handful.
const groupsLimit = 1000

// Grouped returns the CPU time of all cgroups below the node's top cgroup. systemd puts every process into such a
// cgroup. The remaining CPU time of the node is that of kernel threads. Grouped returns nil for cgroup version 1,
// without systemd, and on nodes that are containers and do not see the top cgroup.
func Grouped(files fs.FS) *time.Duration {
	const (
		systemdOnly = "init.scope"    // cgroup of systemd's own first process
		notAtTop    = "cgroup.events" // file that every cgroup except the top one has
	)
	if !exists(files, "cgroup.controllers") || !exists(files, systemdOnly) || exists(files, notAtTop) {
		return nil
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil || len(entries) > groupsLimit {
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
				return nil // without this cgroup the sum would be too small
			}
			continue
		}
		sum += c.CPU
	}
	return &sum
}
