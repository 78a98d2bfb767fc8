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

// Pods finds the cgroups of pods below a view of a node's /sys/fs/cgroup, and
// remembers where they are.
type Pods struct {
	mu    sync.Mutex
	paths map[string]map[string]string // by root and UID: path below a hierarchy
}

// Bounds of the search for a pod's cgroup. Nodes that are containers themselves
// (kind) have the kubelet's root several levels down.
const (
	searchDepth = 8
	searchLimit = 50000 // directories
)

// Find gives the groups of those pods that are there.
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

// locate finds groups, first where they were the last time.
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
		if at, ok := known[uid]; !ok || !exists(files, path.Join(hierarchy, at)) {
			delete(known, uid)
			missing[uid] = true
		}
	}
	if len(missing) > 0 {
		search(files, hierarchy, missing, known)
	}
	var groups []Group
	for _, uid := range uids {
		if at, ok := known[uid]; ok {
			g := groupAt(files, ".", func(top string, _ []string) string { return path.Join(top, at) })
			g.pod = uid
			groups = append(groups, g)
		}
	}
	return groups
}

// search looks for pods' directories from the top, level by level, and notes those
// that it finds by their paths below the hierarchy.
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
				at := path.Join(dir, e.Name())
				uid, isPod := podOf(e.Name())
				if !isPod {
					next = append(next, at)
				} else if missing[uid] {
					found[uid] = at
					delete(missing, uid)
				}
			}
		}
		level = next
	}
}

// podName is the name of a pod's cgroup: podUID of the cgroupfs driver, or
// kubepods-CLASS-podUID.slice of the systemd driver, which writes the dashes of
// the UID as underscores, since its own dashes mean levels.
var podName = regexp.MustCompile(`^(?:[a-z0-9_]+-)*pod([A-Za-z0-9_-]+?)(\.slice)?$`)

// podOf tells the UID of the pod whose cgroup has this name.
func podOf(name string) (uid string, ok bool) {
	m := podName.FindStringSubmatch(name)
	if m == nil || len(m[1]) < 8 {
		return "", false
	}
	if m[2] != "" {
		return strings.ReplaceAll(m[1], "_", "-"), true
	}
	return m[1], true
}

// ValidUID is the form of a pod's UID, or of the hash that stands for it where the
// kubelet got the pod from a file.
var ValidUID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// groupsLimit bounds the cgroups at the top of a node: there are a handful.
const groupsLimit = 1000

// Grouped is the CPU time of all cgroups below a node's own top one. On a system
// that puts every process into one, as systemd does, those are all processes, and
// the rest of the node's time is the kernel's threads, which no pod can see. It is
// known from cgroups of version 2 only, and where the top is the node's (nodes may be
// containers).
func Grouped(files fs.FS) *time.Duration {
	const (
		ofSystemd = "init.scope"    // its first process; other systems leave processes at the top
		ofOthers  = "cgroup.events" // not in the top one
	)
	if !exists(files, "cgroup.controllers") || !exists(files, ofSystemd) || exists(files, ofOthers) {
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
				return nil // the sum over the others would look like the sum over all
			}
			continue
		}
		sum += c.CPU
	}
	return &sum
}
