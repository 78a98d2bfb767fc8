// Package cgroup reads what the cgroups of pods and containers have used, of version 1
// and version 2, as the kubelet lays them out with either of its drivers. It reads
// files and nothing else, so that a process can read those of the node that it sees
// below some directory.
package cgroup

import "time"

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
