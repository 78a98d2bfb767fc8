package cgroup

import (
	"io/fs"
	"time"
)

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
