// Package agent is Tare's own process in a pod, and the connection to it.
//
// The agent is the first process of every pod that Tare makes (the command `tare-agent serve`). It starts the
// programs of trials as its children, and so the kernel reports their CPU time and memory to the agent. It
// writes their output to files, and computes a digest of each file. If the connection to the agent breaks in a
// trial, the program keeps running. Tare then fetches the result over the next connection.
//
// A Client is the other end of the connection, in Tare: one exec into the pod that stays open and runs Connect,
// which joins the exec's streams to the agent's socket. The connection costs nothing while a trial runs. A
// program starts within milliseconds, without the API server, the kubelet and the container runtime.
package agent

import (
	"context"
	"io"
	"time"

	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
)

// Dir is the directory of the agent's socket and of programs' outputs: an emptyDir.
const Dir = "/var/run/tare"

// StoreLimit is the maximum size in bytes of the programs' outputs and inputs in Dir.
const StoreLimit = 1 << 30

// Program is the path of the agent in a pod with another image than Tare's, to which Install copies the agent.
const Program = "/var/run/tare/bin/tare-agent"

// minClientLease is the shortest time for which the agent keeps programs running when their client is silent.
const minClientLease = 30 * time.Minute

// dial opens a connection to the agent: an exec of `tare-agent connect` in the pod. Closing it ends the exec.
type dial func(ctx context.Context) (io.ReadWriteCloser, error)

// Facts are properties of a process in the pod, as the process reads them. Proofs on a cluster use them.
type Facts struct {
	Version   string `json:"version"`   // version of Tare in the image
	Kernel    string `json:"kernel"`    // kernel release, as of uname -r
	KernelTag string `json:"kernelTag"` // kernel version, as of uname -v
	// Sandbox is the name of the sandbox around the process, "gvisor" or "kata"; "" if Tare recognises none.
	Sandbox string `json:"sandbox,omitempty"`
	// Seccomp is the mode in /proc/self/status: "disabled", "strict" or "filter"; "" if the file has no mode.
	Seccomp    string `json:"seccomp"`
	NoNewPrivs string `json:"noNewPrivs"`       // the no_new_privs flag of the process, "0" or "1"
	CapEff     string `json:"capEff"`           // effective capabilities of a program of the agent, hexadecimal
	CapBnd     string `json:"capBnd,omitempty"` // bounding set of capabilities, hexadecimal
	// UIDMap is /proc/self/uid_map with single blanks; "0 0 4294967295" if the pod has no user namespace.
	UIDMap     string `json:"uidMap,omitempty"`
	AppArmor   string `json:"appArmor,omitempty"`   // profile in force: "cri-containerd.apparmor.d (enforce)"
	SELinux    string `json:"seLinux,omitempty"`    // SELinux context in force
	UID        int    `json:"uid"`                  // user id that programs run as
	BootID     string `json:"bootID,omitempty"`     // boot id of the kernel; nodes that share a kernel have the same boot id
	CPUModel   string `json:"cpuModel,omitempty"`   // CPU model in /proc/cpuinfo
	CPUs       int    `json:"cpus"`                 // number of CPUs that a program may use
	Hypervisor bool   `json:"hypervisor,omitempty"` // set if the CPU has the flag "hypervisor"
	// Confidential is the kind of confidential VM: "SEV-SNP", "TDX", or "". Kernel log and devices show it.
	Confidential string `json:"confidential,omitempty"`
}

// CountersRequest is a request for Counters.
type CountersRequest struct {
	// Cgroups lists the UIDs of the pods whose cgroups the agent reads below Root. A static pod, which the kubelet got
	// from a file, is listed by its annotation kubernetes.io/config.hash instead.
	Cgroups []string `json:"cgroups,omitempty"`
	// Root is the directory where the pod sees the node's /sys/fs/cgroup; "" if the pod does not see it.
	Root string `json:"root,omitempty"`
	// Follow makes the agent begin to sample the memory of a pod; nil: the agent begins nothing.
	Follow *Follow `json:"follow,omitempty"`
	// Followed is the Name of an earlier Follow. The agent ends its sampling and returns the peak.
	Followed string `json:"followed,omitempty"`
}

// Follow is a request for the peak of a pod's working set while a program runs. The kernel reports no peak for a span
// of time. The agent therefore samples the working set a few times a second.
type Follow struct {
	Name     string   `json:"name"`               // name given by the client, unique in its session
	Pod      string   `json:"pod"`                // UID of the pod, whose cgroup is below the Root of the CountersRequest
	Sidecars []string `json:"sidecars,omitempty"` // ids of containers whose memory is not counted
}

// Counters are running totals at one moment. A value that the pod cannot see is missing.
type Counters struct {
	machine.Totals
	BootID string        `json:"bootID"`
	Own    *cgroup.Usage `json:"own,omitempty"` // usage of the agent's own container
	// Grouped is the CPU time of all processes on the node, without kernel threads; nil if unknown.
	Grouped *time.Duration   `json:"grouped,omitempty"`
	Pods    []cgroup.Usage   `json:"pods,omitempty"`   // usage of the pods in CountersRequest.Cgroups that were found
	Network testbed.Resource `json:"network,omitzero"` // counters of the pod's network namespace
	Peak    int64            `json:"peak,omitempty"`   // largest working set since Follow, in bytes; 0 if unknown
}
