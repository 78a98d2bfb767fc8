// Package machine says what the machine is (Describe: the environment record of
// a run) and how it is doing (Sampler: what else used the CPU during a trial).
// It reads /proc and /sys only; nothing in it starts a program but the version
// queries of the tools that Describe is asked for.
package machine

import "time"

// Environment is the record of the machine that a run was made on:
// environment.json. Fields that the machine does not tell are empty.
type Environment struct {
	Schema       string            `json:"schema"` // EnvironmentSchema
	Time         time.Time         `json:"time"`
	TareVersion  string            `json:"tareVersion"`
	Go           string            `json:"go"`
	Kernel       string            `json:"kernel"` // uname -r
	KernelBuild  string            `json:"kernelBuild"`
	OS           string            `json:"os"` // PRETTY_NAME of os-release
	Architecture string            `json:"architecture"`
	CPU          CPU               `json:"cpu"`
	Mitigations  map[string]string `json:"mitigations,omitempty"` // /sys/devices/system/cpu/vulnerabilities
	Memory       int64             `json:"memory"`                // bytes
	Cgroup       Cgroup            `json:"cgroup"`
	ClockSource  string            `json:"clockSource"`
	Load         [3]float64        `json:"load"`
	Hypervisor   string            `json:"hypervisor,omitempty"`
	Instance     string            `json:"instance,omitempty"`     // cloud instance type, where DMI gives it
	Confidential string            `json:"confidential,omitempty"` // "SEV-SNP", "TDX", …
	Root         bool              `json:"root"`
	UserNS       bool              `json:"userNamespace"` // Tare runs in a user namespace of its own
	Tools        []Tool            `json:"tools,omitempty"`
	CipherDriver map[string]string `json:"cipherDrivers,omitempty"` // algorithm to driver of highest priority, /proc/crypto
	Notes        []string          `json:"notes,omitempty"`         // what a reader should know: "no AES instructions"
	Clusters     []Cluster         `json:"clusters,omitempty"`      // where trials ran, on the testbed kubernetes
}

// EnvironmentSchema names the format of environment.json.
const EnvironmentSchema = "tare.environment/v1"

// CPU describes the processors.
type CPU struct {
	Model     string   `json:"model"`
	Online    int      `json:"online"`
	Usable    int      `json:"usable"` // by affinity
	Flags     []string `json:"flags"`
	Governor  string   `json:"governor,omitempty"`
	Turbo     string   `json:"turbo,omitempty"` // "on", "off"
	SMT       string   `json:"smt,omitempty"`
	Microcode string   `json:"microcode,omitempty"`
}

// Cgroup is what limits Tare's own cgroup.
type Cgroup struct {
	Version int     `json:"version"`
	CPUs    float64 `json:"cpus,omitempty"`   // quota in cores; 0: none
	Memory  int64   `json:"memory,omitempty"` // limit in bytes; 0: none
}

// Tool is a program that the run uses.
type Tool struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"` // first line of what it says of itself
}

// Conditions is how the machine did during a trial.
type Conditions struct {
	ForeignCPU float64 `json:"foreignCPU"` // CPU time of other programs as a share of the machine's; -1: not told
	Steal      float64 `json:"steal"`      // CPU time taken by the hypervisor, same
	KernelCPU  float64 `json:"kernelCPU"`  // kernel threads and softirqs, same: not attributed to anyone
	// Busy is the CPU time that the whole machine used, in interrupts, in the
	// kernel's threads and for other programs as well.
	Busy        time.Duration `json:"busy"`
	CPUPressure float64       `json:"cpuPressure"` // share of the time in which some task waited for a CPU; -1: not told
	Throttled   int           `json:"throttled"`   // thermal and cgroup throttling events; -1: not told
	Load        float64       `json:"load"`        // 1-minute load average at the end
	// Programs are those of others that used most CPU time. They are on record where they broke a
	// limit, in its words.
	Programs []Program `json:"-"`
}

// Joined is how the machine did over two stretches of that length, of which o is the
// later. Where both are known as Spent, that adds up more exactly.
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
