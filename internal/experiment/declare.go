package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment/quantity"
)

// LayerConfig holds a layer's parameters, decoded from the file. Package layer extends it with the methods that
// the runner needs. Implementations are pointers to structs whose fields with yaml tags are the parameters.
// Fields of type factor.Levels can be swept.
type LayerConfig interface {
	Declare() Declaration
}

// WorkloadConfig holds a workload's parameters, as LayerConfig holds a layer's. Package workload extends it.
type WorkloadConfig interface {
	Declare() Declaration
	// Measures describes the metrics of one trial. It is called after expansion, when every factor has one level.
	Measures() Measures
}

// Declaration describes a layer or a workload before anything runs. Declare is called whenever a part of the
// declaration is needed, also before validation. Before validation, factors may have several levels or none, and fields
// hold any value in the file. A zero field means that the layer or workload does not have or need the feature.
type Declaration struct {
	// Fill sets fields that the file leaves out to values that depend on other fields, such as the values of
	// a named profile. The function given reports whether the file sets a field, by its yaml name. Fill is
	// called once, after decoding and before ReadFiles. After Fill, Declare is called again.
	Fill func(given func(field string) bool)
	// ReadFiles reads the files that the parameters name, such as manifests, and keeps their content. The
	// plan stores the content, so that a resumed run uses the same content. ReadFiles is called once, after
	// decoding and before Validate. Every problem names its field.
	ReadFiles func(read func(name string) ([]byte, error)) []FieldError
	// Validate checks the conditions that struct tags cannot express, and returns every problem. A field that
	// is already known to be wrong holds its default.
	Validate func() []FieldError
	Needs    Needs // the testbed's features that the layer or workload needs
	// Elsewhere is the hint for an experiment on another testbed than the testbed Needs.Only:
	// "examples/kubernetes/cilium-wireguard.yaml: …".
	Elsewhere string
	Programs  []Program // the programs that are started, if the file names them
	Tools     []Tool    // the programs whose versions are recorded with the environment
	// Tests is the resource that the workload measures, one of the constants that begin with Tests. If it is
	// "", Tare does not examine which resource limits the results. If it is TestsServer, the local testbed's
	// wire has no limit unless the file sets its rate.
	Tests string
	// Rights lists the rights that a cluster must grant so that objects can be applied, created or read.
	// Namespace is the namespace of the arm's pods, or "" for a namespace that Tare creates.
	Rights func(namespace string) []Right

	Replaceable bool // set if the file names the workload's program, so that a layer may replace it with another

	// The fields below apply to layers only.

	Replaces bool   // set if the layer replaces the workload's program. It fits only a Replaceable workload.
	Workload string // the kind of workload that the experiment must have for this layer; "" for any

	Context string // the context of the kubeconfig for the arm's cluster; "" for the testbed's own
	// Shapes is set if Up changes only the description of the site, and nothing outside of Tare. tare doctor
	// then calls Up to find out by dry runs whether a cluster would create such a site.
	Shapes bool
	// Switches is set if other arms also get the layer while it is on. Such a layer is turned on and off
	// between the trials of arms (layer.Active.Switch).
	Switches bool
	// Launched is set if Tare's launcher (package launcher) starts the programs. In this case, the launcher starts
	// the programs of all arms.
	Launched bool
	// ProvesBeside is set if ProveOff and ProveOffAfter also work in an arm that has a layer of the same kind
	// with other parameters (layer.Session.Own).
	ProvesBeside bool
	// OwnProves is set if the proof that a layer of this kind is on also shows that no layer of this kind with other
	// parameters is on. In an arm that has this kind of layer with other parameters, ProveOff and ProveOffAfter are
	// then not called.
	OwnProves bool
}

// The resources that workloads measure.
const (
	TestsServer  = "server" // a server, measured by requests from outside
	TestsNetwork = "network"
	TestsDisk    = "disk"
)

// FieldError is the error of one field in a config.
type FieldError struct {
	Field   string // the yaml path inside the config: "metrics[1].regex"
	Message string // names the wrong value and the allowed values
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
	HostNetwork bool `json:"hostNetwork,omitempty"` // programs on the nodes themselves, in the host's network
	// Members is the number of server pods of a service with several members, if Network is set. 0 and 1 mean one pod.
	Members int `json:"members,omitempty"`
	// Clients is the number of pods that create the load, if Network is set and the testbed supports several
	// client pods (testbed.Clients). 0 and 1 mean one client pod.
	Clients int `json:"clients,omitempty"`
	// MemberVolume is the size of a volume with a file system in each member's pod, if Network is set; 0: no volume.
	MemberVolume quantity.Size `json:"memberVolume,omitempty"`

	// AppProtocol is the protocol of the server's ports, in the form of appProtocol in a Kubernetes Service: "http";
	// "tcp" for several protocols; "" if the protocol does not matter. Service meshes use this protocol.
	AppProtocol string `json:"appProtocol,omitempty"`

	// OwnPod asks for a pod if the testbed runs programs in pods. Without Network, the client's pod is the only
	// pod. On the local testbed nothing is created, and programs run on the machine itself.
	OwnPod bool `json:"ownPod,omitempty"`

	Volume *Volume `json:"volume,omitempty"` // a volume in the client's pod, which is the only pod if Network is not set
	Image  string  `json:"image,omitempty"`  // the image of the pods, if the testbed's image does not suit
	// Only names the single testbed that has the needed features; "" for any.
	Only string `json:"only,omitempty"`
	// UsesVolume is set if the layer changes the volume of the workloads. Without a volume, such a layer has no
	// effect.
	UsesVolume bool `json:"usesVolume,omitempty"`
	// PodSecurity lists the reasons why pods need more than the level restricted of Pod Security.
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

// And combines two Needs. It takes the larger of two volumes or counts, and the first of two images. Two different
// protocols become tcp.
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
	Why       string // the purpose: "programs are started through an agent in the pod"
	Optional  bool   // set if a run without the right only records less
}

// Name returns the resource in the form of kubectl and manifests: "daemonsets.apps".
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
	OnClusters, OnMachine []Metric  // additional metrics of the testbeds kubernetes and local
	Cost                  *Cost     // the metrics of CPU time and memory per unit of work; nil: there are no such metrics
	CPU                   string    // the name of a metric of CPU time besides the metrics of Cost; "": there is no such metric
	Loop                  *Loop     // two metrics that a closed loop ties together; nil: there are no such metrics
	PowerLaw              *PowerLaw // a metric that is expected to be a product of powers of the workload's factors; nil: none
	// Searches is set if a search before the measured part of a trial decides what is measured. On a busy machine a
	// search finds another load, so that the limits on the machine's condition apply to the search, too.
	Searches bool
	Expected time.Duration // the approximate duration of one trial
	Limit    time.Duration // the longest duration of one trial; 0: five times Expected plus half a minute
	// Slice is set if a trial can be cut into slices; nil: a trial cannot be cut. Expected and Limit apply to
	// a whole trial. A trial with Searches is never cut.
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

// Cost describes the names and units of a workload's cost metrics: CPU time and memory, besides speed.
type Cost struct {
	Prefix string   // "tcp" gives the metrics tcp-cpu, tcp-cpu-client, …
	Unit   string   // the unit of work that a trial counts: "Gbit"
	Parts  []string // the programs under test whose usage is measured: "client", "server"
}

// Metrics lists the cost metrics. CPU seconds per unit of work have one metric for each of Parts, one for the layers'
// own processes, one for the sum of these, and one for the whole machine. Peak memory has a metric for each of Parts.
// The layers' CPU time is compared as a difference, since it is truly zero in an arm without layers. The machine's
// CPU time includes the kernel's interrupts and threads, which no process is charged for. It also includes the CPU
// time of other programs.
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
	// Front is set for a wrapper that can be tried. It holds the wrapper and its arguments. If another
	// program stands after these arguments, the wrapper starts that program.
	Front []string
}

// Where is the place where a program must exist.
type Where int

// The places of programs. On the local testbed, all of them are this machine.
const (
	OnMachine    Where = iota // the machine that Tare runs on, for any testbed
	AtSite                    // the site's pods and nodes
	WrapperPlace              // the place where the workloads' programs run, for a wrapper that starts them
)

// ProgramsHere lists the programs that must be on the machine that Tare runs on. A workload's program is in the list
// only if some arm starts it without a wrapper, since a wrapped program may exist only in a container.
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
