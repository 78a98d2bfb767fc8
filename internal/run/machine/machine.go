// Package machine describes the machine (Describe), and measures the CPU use of other programs during a trial
// (Sampler). It only reads /proc and /sys, and only starts version queries of tools.
package machine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Environment is the record of the machine that a run was made on: environment.json. Unknown fields are empty.
type Environment struct {
	Schema       string            `json:"schema"` // name of the format (EnvironmentSchema)
	Time         time.Time         `json:"time"`
	TareVersion  string            `json:"tareVersion"`
	Go           string            `json:"go"`
	Kernel       string            `json:"kernel"` // kernel release, as from uname -r
	KernelBuild  string            `json:"kernelBuild"`
	OS           string            `json:"os"` // PRETTY_NAME of os-release
	Architecture string            `json:"architecture"`
	CPU          CPU               `json:"cpu"`
	Mitigations  map[string]string `json:"mitigations,omitempty"` // mitigation of each vulnerability, from /sys/devices/system/cpu/vulnerabilities
	Memory       int64             `json:"memory"`                // memory in bytes
	Cgroup       Cgroup            `json:"cgroup"`
	ClockSource  string            `json:"clockSource"`
	Load         [3]float64        `json:"load"`
	Hypervisor   string            `json:"hypervisor,omitempty"`
	Instance     string            `json:"instance,omitempty"`     // cloud instance type, if the firmware (DMI) contains it
	Confidential string            `json:"confidential,omitempty"` // "SEV-SNP", "TDX", …
	Root         bool              `json:"root"`
	UserNS       bool              `json:"userNamespace"` // whether Tare runs in a user namespace of its own
	Tools        []Tool            `json:"tools,omitempty"`
	CipherDriver map[string]string `json:"cipherDrivers,omitempty"` // preferred driver of each algorithm in /proc/crypto
	Notes        []string          `json:"notes,omitempty"`         // peculiarities of the machine: "no AES instructions"
	Clusters     []Cluster         `json:"clusters,omitempty"`      // clusters of the testbed kubernetes on which trials ran
}

// EnvironmentSchema names the format of environment.json.
const EnvironmentSchema = "tare.environment/v1"

// CPU describes the processors.
type CPU struct {
	Model     string   `json:"model"`
	Online    int      `json:"online"`
	Usable    int      `json:"usable"` // number of processors that Tare may use (affinity mask)
	Flags     []string `json:"flags"`
	Governor  string   `json:"governor,omitempty"`
	Turbo     string   `json:"turbo,omitempty"` // "on", "off"
	SMT       string   `json:"smt,omitempty"`
	Microcode string   `json:"microcode,omitempty"`
}

// Cgroup holds the limits of Tare's own cgroup.
type Cgroup struct {
	Version int     `json:"version"`
	CPUs    float64 `json:"cpus,omitempty"`   // quota in cores; 0: none
	Memory  int64   `json:"memory,omitempty"` // limit in bytes; 0: none
}

// Tool is a program that the run uses.
type Tool struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"` // first line of the program's version output
}

// Conditions is the condition of the machine during a trial.
type Conditions struct {
	ForeignCPU float64 `json:"foreignCPU"` // CPU time of other programs as a share of the machine's capacity; -1: unknown
	Steal      float64 `json:"steal"`      // CPU time taken by the hypervisor, as a share of the machine's capacity; -1: unknown
	// CPU time of kernel threads and interrupts, as a share of the machine's capacity; -1: unknown
	KernelCPU float64 `json:"kernelCPU"`
	// Busy is the CPU time of the whole machine, including interrupts, kernel threads and other programs.
	Busy        time.Duration `json:"busy"`
	CPUPressure float64       `json:"cpuPressure"` // share of the time in which some task waited for a CPU; -1: unknown
	Throttled   int           `json:"throttled"`   // number of slow-downs by heat or by a cgroup's CPU quota; -1: unknown
	Load        float64       `json:"load"`        // 1-minute load average at the end
	// Programs lists the other programs that used most CPU time, to explain a broken limit. The list is not in the
	// journal.
	Programs []Program `json:"-"`
}

// Joined joins the conditions of two successive periods with their durations. If both Activities are known, add the
// Activities: the result is more exact.
func (c Conditions) Joined(o Conditions, first, later time.Duration) Conditions {
	share := func(a, b float64) float64 {
		switch whole := (first + later).Seconds(); {
		case a < 0 || b < 0:
			return -1
		case whole <= 0:
			return max(a, b)
		default:
			return (a*first.Seconds() + b*later.Seconds()) / whole
		}
	}
	sum := Conditions{
		ForeignCPU: share(c.ForeignCPU, o.ForeignCPU), Steal: share(c.Steal, o.Steal), KernelCPU: share(c.KernelCPU, o.KernelCPU),
		Busy: c.Busy + o.Busy, CPUPressure: share(c.CPUPressure, o.CPUPressure), Throttled: -1, Load: o.Load,
	}
	if c.Throttled >= 0 && o.Throttled >= 0 {
		sum.Throttled = c.Throttled + o.Throttled
	}
	return sum
}

// Cluster describes a Kubernetes cluster that trials ran on.
type Cluster struct {
	Context  string     `json:"context"`        // name of the context in the kubeconfig
	UID      string     `json:"uid"`            // UID of the namespace kube-system
	Version  string     `json:"version"`        // version of the API server
	Platform string     `json:"platform"`       // "linux/amd64"
	Nodes    []Node     `json:"nodes"`          // nodes that trials ran on
	Arms     []ArmNodes `json:"arms,omitempty"` // nodes and network interfaces of each arm
	// Components maps names of DaemonSets and Deployments to their images. It has only components that can affect
	// results, such as the network plug-in.
	Components map[string]string `json:"components,omitempty"`
	// StandIns maps names of components to remarks on their parts that only imitate something real.
	StandIns map[string]string `json:"standIns,omitempty"`
	Notes    []string          `json:"notes,omitempty"` // peculiarities of the cluster that a reader of the run should know
}

// ArmNodes lists the nodes and interfaces of an arm's pods, over all levels of the testbed.
type ArmNodes struct {
	Arm   string   `json:"arm"`   // name of the arm
	Nodes []string `json:"nodes"` // names of the nodes, sorted
	// Uplinks lists the network interfaces of the arm's pods, each kind once.
	Uplinks []Uplink `json:"uplinks,omitempty"`
}

// Uplink is the network interface of a pod's default route.
type Uplink struct {
	Name     string          `json:"name"`               // name in the pod: "eth0"
	MTU      int             `json:"mtu"`                // largest IP packet by this interface and its route, in bytes
	GSO      int             `json:"gso,omitempty"`      // size up to which the kernel hands the interface several packets as one, in bytes; 0: unknown
	Offloads map[string]bool `json:"offloads,omitempty"` // whether an offload is on: "TSO", "GSO", "GRO", "TX checksum offload", "RX checksum offload"
}

// Properties returns the values that tell interfaces apart, by name. Unknown values are left out.
func (u Uplink) Properties() map[string]string {
	p := map[string]string{"MTU": strconv.Itoa(u.MTU)}
	if u.GSO > 0 {
		p["GSO size"] = strconv.Itoa(u.GSO)
	}
	for name, on := range u.Offloads {
		p[name] = map[bool]string{true: "on", false: "off"}[on]
	}
	return p
}

// AddUplink adds an interface; nil, or one with the properties of an earlier one, adds nothing.
func (a *ArmNodes) AddUplink(u *Uplink) {
	same := func(o Uplink) bool { return maps.Equal(o.Properties(), u.Properties()) }
	if u != nil && !slices.ContainsFunc(a.Uplinks, same) {
		a.Uplinks = append(a.Uplinks, *u)
	}
}

// UplinksOf returns the distinct values of one property over the pods of an arm, as one text; "" if none is known.
func (a ArmNodes) UplinksOf(property string) string {
	var values []string
	for _, u := range a.Uplinks {
		if v := u.Properties()[property]; v != "" {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), " or ")
}

// Node is one node of a cluster.
type Node struct {
	Name         string            `json:"name"`                   // name of the node in the cluster
	Kernel       string            `json:"kernel"`                 // kernel release, as from uname -r
	OS           string            `json:"os"`                     // name and version of the distribution
	Architecture string            `json:"architecture"`           // "amd64"
	Runtime      string            `json:"runtime"`                // "containerd://1.7.27"
	Kubelet      string            `json:"kubelet"`                // version of the kubelet
	Zone         string            `json:"zone,omitempty"`         // availability zone, if the cluster has zones
	Region       string            `json:"region,omitempty"`       // region, if the cluster has regions
	Instance     string            `json:"instance,omitempty"`     // instance type
	CPU          string            `json:"cpu,omitempty"`          // model of the processor
	CPUs         string            `json:"cpus"`                   // number of CPUs that the node has
	Memory       string            `json:"memory"`                 // memory that the node has
	Confidential string            `json:"confidential,omitempty"` // kind of confidential VM: "SEV-SNP", "TDX"
	BootID       string            `json:"bootID,omitempty"`       // nodes with the same id share a kernel
	Images       map[string]string `json:"images,omitempty"`       // digests of the images of Tare's pods, by container
}

// Remarks lists the notes about the machine and the clusters.
func (e *Environment) Remarks() []string {
	all := slices.Clone(e.Notes)
	for i := range e.Clusters {
		all = append(all, e.Clusters[i].Notes...)
	}
	return all
}
