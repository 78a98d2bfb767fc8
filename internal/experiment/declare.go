package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment/quantity"
)

// LayerConfig holds a layer's parameters from the file. It is a pointer to a struct, whose fields with yaml tags are
// the parameters. Package layer adds the methods that the runner needs.
type LayerConfig interface {
	Declare() Declaration
}

// WorkloadConfig holds a workload's parameters, decoded from the file. Package workload adds the methods that the
// runner needs.
type WorkloadConfig interface {
	Declare() Declaration
	// Measures describes the metrics of one trial. It is called after expansion, when every factor has one level.
	Measures() Measures
}

// Declaration describes a layer or workload before anything runs. Before validation, fields may hold any value, and
// factors any number of levels. A zero field: no such feature or need.
type Declaration struct {
	// Fill sets absent fields whose values depend on other fields. given reports whether the file sets a field. Fill is
	// called once, before ReadFiles; then Declare is called again.
	Fill func(given func(field string) bool)
	// ReadFiles reads the files that parameters name, and keeps their content for the plan. It is called once, after
	// decoding and before Validate. Every problem names its field.
	ReadFiles func(read func(name string) ([]byte, error)) []FieldError
	// Validate returns every problem that struct tags cannot express. A field in which decoding or ReadFiles found a
	// problem holds its default value.
	Validate func() []FieldError
	Needs    Needs // the testbed's features that the layer or workload needs
	// Elsewhere is the hint if an experiment has another testbed than the one in Needs.Only, such as
	// "examples/kubernetes/cilium-wireguard.yaml: …".
	Elsewhere string
	Programs  []Program // programs that the layer or workload starts, if the file names them
	Tools     []Tool    // the programs whose versions are recorded with the environment
	// Tests is the resource that the workload measures, a constant Tests…; "": limiting resources are not examined.
	// With TestsServer, the local testbed's wire has no default limit.
	Tests string
	// Rights returns the rights that the layer or workload needs on a cluster. namespace is that of the arm's pods; "":
	// Tare makes one.
	Rights func(namespace string) []Right

	Replaceable bool // set if the experiment file names the workload's program; a layer may then replace it

	// The fields below apply to layers only.

	Replaces bool   // set if the layer replaces the workload's program; the workload must be Replaceable
	Workload string // the kind of workload that the experiment must have for this layer; "" for any

	Context string // the context of the kubeconfig for the arm's cluster; "" for the testbed's own
	// Shapes is set if the layer's Up changes only the description of the site to be made. tare doctor then tests the
	// site by dry runs.
	Shapes bool
	// Switches is set if the layer acts on all arms while it is on. Tare then turns it on only for the trials of its
	// own arm (layer.Active.Switch).
	Switches bool
	// Launched is set if Tare's launcher (package launcher) must start the programs. The launcher then starts the
	// programs of all arms.
	Launched bool
	// ProvesBeside is set if the layer can be proved off in an arm that has a layer of its kind with other parameters.
	// ProveOff and ProveOffAfter then run in such an arm as in an arm without a layer of this kind.
	ProvesBeside bool
	// OwnProves is set if the proof of this layer excludes layers of its kind with other parameters. An arm with this
	// layer then needs no ProveOff and ProveOffAfter of such layers.
	OwnProves bool
}

// These are the resources that workloads measure: a server, a network or a disk.
const (
	TestsServer  = "server" // a server, measured by requests from outside
	TestsNetwork = "network"
	TestsDisk    = "disk"
)

// FieldError is the error of one field in a config.
type FieldError struct {
	Field   string // the yaml path inside the config: "metrics[1].regex"
	Message string // says which value is wrong and which values are allowed
}

// FieldErrors lists the errors in a config.
type FieldErrors []FieldError

// Add adds the error of a field.
func (e *FieldErrors) Add(field, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Needs lists the features of a testbed that a layer or workload needs.
type Needs struct {
	Network     bool `json:"network,omitempty"`     // two nodes with a pod each, and a service
	HostNetwork bool `json:"hostNetwork,omitempty"` // programs run on the nodes themselves, in the network of the host
	// Members is the number of server pods of a service with several members, if Network is set. 0 and 1 mean one pod.
	Members int `json:"members,omitempty"`
	// Clients is the number of pods that create the load; 0 and 1: one pod. It counts only if Network is set and the
	// testbed supports several client pods (testbed.Clients).
	Clients int `json:"clients,omitempty"`
	// MemberVolume is the size of a volume with a file system in the pod of each member; 0: no volume. It counts
	// only if Network is set.
	MemberVolume quantity.Size `json:"memberVolume,omitempty"`

	// AppProtocol is the protocol of the server's ports, as in appProtocol of a Kubernetes Service, for service meshes.
	// "tcp": several protocols; "": any protocol.
	AppProtocol string `json:"appProtocol,omitempty"`

	// OwnPod asks for a pod for the programs, if the testbed has pods. Without Network, it is the client's pod, and the
	// only one.
	OwnPod bool `json:"ownPod,omitempty"`

	Volume *Volume `json:"volume,omitempty"` // a volume in the client's pod; this pod is the only pod if Network is not set
	Image  string  `json:"image,omitempty"`  // the image of the pods, if the testbed's image does not suit
	// Only is the name of the only testbed that has the needed features; "": every testbed has them.
	Only string `json:"only,omitempty"`
	// UsesVolume is set if the layer changes the volume of the workloads. Without a volume, such a layer has no
	// effect.
	UsesVolume bool `json:"usesVolume,omitempty"`
	// PodSecurity lists the reasons why the pods do not meet the level restricted of the Pod Security Standards.
	PodSecurity []PodSecurity `json:"podSecurity,omitempty"`
}

// PodSecurity is a reason why pods do not meet the level restricted of the Pod Security Standards.
type PodSecurity struct {
	Level string `json:"level"` // the strictest level that allows the pods: "baseline" or "privileged"
	Why   string `json:"why"`   // such as "seccomp profile Unconfined (layer pod)"
}

// Volume is storage that a workload needs.
type Volume struct {
	Size  quantity.Size `json:"size"`
	Block bool          `json:"block,omitempty"` // a raw block device instead of a file system
}

// Pods reports whether the workload runs in pods or on nodes on every testbed.
func (n Needs) Pods() bool { return n.Network || n.HostNetwork || n.Volume != nil }

// PodsOnClusters reports whether the workload runs in pods or on nodes on a cluster.
func (n Needs) PodsOnClusters() bool { return n.Pods() || n.OwnPod }

// Volumes reports whether some pod has a volume.
func (n Needs) Volumes() bool { return n.Volume != nil || n.MemberVolume > 0 }

// And combines two needs. It takes the larger volume and counts, and the image of n before that of o. Different
// protocols become "tcp".
func (n Needs) And(o Needs) Needs {
	n.Network, n.HostNetwork = n.Network || o.Network, n.HostNetwork || o.HostNetwork
	if n.Volume == nil || o.Volume != nil && o.Volume.Size > n.Volume.Size {
		n.Volume = o.Volume
	}
	n.OwnPod = n.OwnPod || o.OwnPod
	n.Members, n.MemberVolume = max(n.Members, o.Members), max(n.MemberVolume, o.MemberVolume)
	n.Clients = max(n.Clients, o.Clients)
	n.Image, n.Only = cmp.Or(n.Image, o.Image), cmp.Or(n.Only, o.Only)
	if p := cmp.Or(o.AppProtocol, n.AppProtocol); n.AppProtocol == "" || p == n.AppProtocol {
		n.AppProtocol = p
	} else {
		n.AppProtocol = "tcp"
	}
	n.UsesVolume = n.UsesVolume || o.UsesVolume
	for _, p := range o.PodSecurity {
		if !slices.Contains(n.PodSecurity, p) {
			n.PodSecurity = append(slices.Clip(n.PodSecurity), p)
		}
	}
	return n
}

// Right is a right to one kind of objects of a cluster.
type Right struct {
	Group     string // "" for the core group
	Resource  string // the resource, with its subresource: "pods/exec"; or the path of a URL: "/metrics"
	Verbs     []string
	Namespace string // the namespace that the right must cover; "" for the whole cluster
	Why       string // purpose of the right: "programs are started through an agent in the pod"
	Optional  bool   // set if a run also works without the right, but records less
}

// Name returns the resource as kubectl and manifests write it, such as "daemonsets.apps".
func (r Right) Name() string {
	if r.IsPath() {
		return r.Resource
	}
	resource, sub, has := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if has {
		resource += "/" + sub
	}
	return resource
}

// IsPath reports whether the right covers a path of the API server rather than objects.
func (r Right) IsPath() bool { return strings.HasPrefix(r.Resource, "/") }

// Tool is a program whose version is recorded.
type Tool struct {
	Name    string
	Path    string   // the path of the program; "": it is looked up in PATH by its name
	Version []string // the arguments with which the program prints its version
}

// Measures describes the metrics of one trial of a workload, and what the workload expects of these metrics.
type Measures struct {
	Metrics               []Metric  // the metrics, except the metrics of Cost
	OnClusters, OnMachine []Metric  // metrics that only one testbed has: kubernetes (OnClusters) or local (OnMachine)
	Cost                  *Cost     // the metrics of CPU time and memory per unit of work; nil: there are no such metrics
	CPU                   string    // name of a metric of CPU time that is not among the metrics of Cost; "": none
	Loop                  *Loop     // two metrics that a closed loop ties together; nil: there are no such metrics
	PowerLaw              *PowerLaw // law of a metric: it is a product of powers of the workload's factors; nil: no law
	Remark                string    // weakness of the set-up that a reader of the results must know; "": none
	// Searches is set if a trial begins with a search for its load. The limits on the machine's condition then hold
	// during the search and the measured part.
	Searches bool
	Expected time.Duration // the approximate duration of one trial
	Limit    time.Duration // the longest duration of one trial; 0: five times Expected plus 30 s
	// Slice describes one slice of a trial; nil: trials cannot be cut. A trial with Searches is never cut. Expected and
	// Limit are for a trial that is not cut.
	Slice *Slice
}

// All lists the metrics, including the metrics of Cost.
func (m Measures) All() []Metric {
	if m.Cost == nil {
		return m.Metrics
	}
	return append(slices.Clip(m.Metrics), m.Cost.Metrics()...)
}

// Bound returns the longest duration of a trial.
func (m Measures) Bound() time.Duration {
	if m.Limit > 0 {
		return m.Limit
	}
	return 5*m.Expected + 30*time.Second
}

// Cost describes a workload's cost metrics, which are CPU time and memory, by their names and units.
type Cost struct {
	Prefix string   // "tcp" gives the metrics tcp-cpu, tcp-cpu-client, …
	Unit   string   // unit of work for CPU time: "Gbit" means CPU seconds per Gbit
	Parts  []string // the programs under test whose usage is measured: "client", "server"
}

// Metrics lists the cost metrics: CPU seconds per unit of work, and the peak memory of Parts. The machine's CPU time
// includes interrupts, kernel threads and unrelated programs.
func (c Cost) Metrics() []Metric {
	unit := "s/" + c.Unit
	metrics := []Metric{{Name: c.Prefix + "-cpu", Unit: unit, Better: Lower, Headline: true, Scale: Ratio}}
	for _, part := range c.Parts {
		metrics = append(metrics, Metric{Name: c.Prefix + "-cpu-" + part, Unit: unit, Better: Lower, Scale: Ratio})
	}
	metrics = append(metrics, Metric{Name: c.Prefix + "-cpu-layer", Unit: unit, Better: Lower, Scale: Difference})
	metrics = append(metrics, Metric{Name: c.Prefix + "-cpu-machine", Unit: unit, Better: Lower, Scale: Ratio, Optional: true})
	for _, part := range c.Parts {
		metrics = append(metrics, Metric{Name: c.Prefix + "-memory-" + part, Unit: "B", Better: Lower, Scale: Ratio, Discrete: true})
	}
	return metrics
}

// Program is a program that a layer or a workload starts, with its name in the file.
type Program struct {
	Name  string
	Dir   string // the directory that a relative name starts from; "": the working directory
	Where Where
	Hint  string // how to install the program; "": the experiment file names the program
	// Front is a wrapper with its arguments, which starts the program that follows. It is set only if the wrapper can
	// be tried alone.
	Front []string
}

// Where is the place where a program must exist.
type Where int

// The places of programs. On the local testbed, all three places are this machine.
const (
	OnMachine    Where = iota // the machine that Tare runs on, for any testbed
	AtSite                    // the site's pods and nodes
	WrapperPlace              // the place where the workloads' programs run, for a wrapper that starts them
)

// ProgramsHere lists the programs that must exist on this machine. A wrapped program may be in a container, so a
// workload's program counts only if some arm starts it bare.
func (x *Experiment) ProgramsHere() []Program {
	var here []Program
	add := func(p Program, there bool) {
		same := func(o Program) bool { return o.Name == p.Name && slices.Equal(o.Front, p.Front) }
		if there && p.Name != "" && !slices.ContainsFunc(here, same) {
			here = append(here, p)
		}
	}
	local := x.Testbed.Kubernetes == nil
	loads := local || slices.ContainsFunc(x.Workloads, func(w WorkloadItem) bool { return !w.Config.Declare().Needs.PodsOnClusters() })
	bare := false
	for _, a := range x.Arms {
		hidden := false
		for _, l := range a.Layers {
			for _, p := range l.Config.Declare().Programs {
				hidden = hidden || p.Where == WrapperPlace
				add(p, p.Where == OnMachine || local || p.Where == WrapperPlace && loads)
			}
		}
		bare = bare || !hidden
	}
	for _, w := range x.Workloads {
		for _, p := range w.Config.Declare().Programs {
			add(p, bare && (local || p.Where == OnMachine))
		}
	}
	return here
}
