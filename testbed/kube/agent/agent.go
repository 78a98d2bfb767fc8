// Package agent is Tare's own process in a pod, and the connection to it.
//
// The agent is the first process of every pod that Tare makes (Serve, the hidden
// command `tare agent serve`). It starts the programs of trials as its children,
// so that it knows their CPU time and memory from the kernel, and keeps what they
// write in files with a digest. Nothing about a program depends on the connection:
// when the API server, the kubelet or the network breaks it in the middle of a
// trial, the program runs on, and its end, its usage and its whole output are
// fetched over the next connection.
//
// A Session is the other end: one exec into the pod that stays open and runs
// Connect, which joins the exec's streams to the agent's socket. It costs nothing
// while a trial runs, and a program starts within milliseconds, without the API
// server, the kubelet or the container runtime doing anything at that moment.
package agent

import (
	"context"
	"io"
	"time"

	"tare/machine"
	"tare/testbed"
	"tare/testbed/kube/agent/cgroup"
)

// Dir is where the agent keeps its socket and the outputs: an emptyDir.
const Dir = "/var/run/tare"

// StoreLimit is how many bytes of programs' outputs and inputs an agent keeps in Dir at
// most.
const StoreLimit = 1 << 30

// Program is where the agent is in a pod of an image that is not Tare's: an init
// container with Tare's image puts it there (Install).
const Program = "/var/run/tare/bin/tare-agent"

// defaultLease is how long the agent keeps what an absent client has started.
const defaultLease = 30 * time.Minute

// Dial opens a connection to the agent: an exec of `tare-agent connect` in the
// pod. Closing it ends the exec.
type Dial func(ctx context.Context) (io.ReadWriteCloser, error)

// Facts is what a process in the pod sees of itself: the evidence for most proofs
// of treatment on a cluster.
type Facts struct {
	Version   string `json:"version"`   // of Tare in the image
	Kernel    string `json:"kernel"`    // uname -r
	KernelTag string `json:"kernelTag"` // uname -v
	// Sandbox names the sandbox that shows itself in the kernel log or elsewhere:
	// "gvisor", "kata"; "" for none that is known.
	Sandbox    string `json:"sandbox,omitempty"`
	Seccomp    string `json:"seccomp"`              // of /proc/self/status: "disabled", "strict", "filter"; "" where it is not told
	NoNewPrivs string `json:"noNewPrivs"`           // "0" or "1"
	CapEff     string `json:"capEff"`               // effective capabilities, hexadecimal, of a program started by the agent
	CapBnd     string `json:"capBnd,omitempty"`     // bounding set of capabilities, hexadecimal
	UIDMap     string `json:"uidMap,omitempty"`     // /proc/self/uid_map, lines and columns by one blank: "0 0 4294967295" without a user namespace
	AppArmor   string `json:"appArmor,omitempty"`   // profile in force: "cri-containerd.apparmor.d (enforce)"
	SELinux    string `json:"seLinux,omitempty"`    // context in force
	UID        int    `json:"uid"`                  // of the programs
	BootID     string `json:"bootID,omitempty"`     // of the kernel: the same on two nodes that share one
	CPUModel   string `json:"cpuModel,omitempty"`   // of /proc/cpuinfo
	CPUs       int    `json:"cpus"`                 // that a program may use
	Hypervisor bool   `json:"hypervisor,omitempty"` // the CPU flag
	// Confidential is the kind of confidential VM that the kernel log or
	// /dev/sev-guest, /dev/tdx_guest show: "SEV-SNP", "TDX".
	Confidential string `json:"confidential,omitempty"`
}

// Question asks for Counters.
type Question struct {
	// Cgroups are pods by UID whose cgroups are to be read below Root, in the
	// layout of the kubelet, by cgroupfs or systemd, version 1 or 2. The kubelet
	// names the cgroup of a pod that it got from a file (a static pod) after the
	// annotation kubernetes.io/config.hash instead of the UID.
	Cgroups []string `json:"cgroups,omitempty"`
	// Root is where the node's /sys/fs/cgroup is seen; "" for none.
	Root string `json:"root,omitempty"`
	// Follow asks to follow the memory of a pod from now on, and Followed ends what
	// was begun under that name and asks for the peak.
	Follow   *Follow `json:"follow,omitempty"`
	Followed string  `json:"followed,omitempty"`
}

// Follow asks for the peak of a pod's working set while a program runs in it. No
// kernel tells it for a span of time: the agent looks a few times a second.
type Follow struct {
	Name     string   `json:"name"`               // given by the client, another one each time
	Pod      string   `json:"pod"`                // UID, below the Root of the Question
	Sidecars []string `json:"sidecars,omitempty"` // ids of containers whose memory is not counted
}

// Counters are running totals at one moment. What the pod cannot see is missing.
type Counters struct {
	machine.Totals               // of the node
	BootID         string        `json:"bootID"`        // of the kernel
	Own            *cgroup.Usage `json:"own,omitempty"` // of the agent's own container
	// Grouped is the CPU time of all processes on the node but the kernel's threads;
	// nil: not told.
	Grouped *time.Duration   `json:"grouped,omitempty"`
	Pods    []cgroup.Usage   `json:"pods,omitempty"`   // those of the Question that were found
	Network testbed.Resource `json:"network,omitzero"` // what the pod's network namespace has counted
	// Peak is the largest working set since Follow, in bytes; 0: not told.
	Peak int64 `json:"peak,omitempty"`
}
