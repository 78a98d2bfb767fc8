package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/experiment/quantity"
)

// LayerConfig is a layer's parameters as decoded from the file. Package layer
// extends it with what the runner needs. Implementations are pointers to structs
// whose yaml-tagged fields are the parameters; fields of type factor.Levels are
// swept.
type LayerConfig interface {
	Declare() Declaration
}

// WorkloadConfig is a workload's parameters, in the same way. Package workload
// extends it.
type WorkloadConfig interface {
	Declare() Declaration
	// Measures says what one trial measures, with every factor at one level. It is
	// called after expansion only.
	Measures() Measures
}

// Declaration is all that a layer or a workload says of itself before anything
// runs. Declare is called whenever something of it is wanted, before validation
// too: factors may have several levels or none, and fields hold whatever the file
// says. What is not declared is not needed.
type Declaration struct {
	// Fill gives fields that the file leaves out the values that go with what it says, such as
	// those of a named profile. It is told which fields the file gives, by their yaml names, and
	// is called once, after decoding and before ReadFiles; what is declared is asked for
	// again after it.
	Fill func(given func(field string) bool)
	// ReadFiles reads the files that the parameters name, such as manifests, and
	// keeps their content: the plan holds what was read, and resuming a run reads what
	// that run read. It is called once, after decoding and before Validate. Every
	// problem names its field.
	ReadFiles func(read func(name string) ([]byte, error)) []FieldError
	// Validate checks what struct tags cannot say, and reports every problem. Fields
	// with problems of their own hold their defaults then.
	Validate func() []FieldError
	// Needs is what is asked of the testbed.
	Needs Needs
	// Elsewhere says, where Needs.Only names one testbed, what does the like on the others:
	// "examples/kubernetes/cilium-wireguard.yaml: …". It is the hint of the error there.
	Elsewhere string
	// Programs are those that are started, as far as the file names them.
	Programs []Program
	// Tools are the programs whose versions belong into the record of the environment.
	Tools []Tool
	// Tests is the resource that the workload measures, one of the constants that begin with Tests; "": it is not
	// judged what bounds its results. Where a server is measured, the local testbed's wire is unlimited
	// unless the file gives its rate.
	Tests string
	// Rights are those that a cluster must grant for what is applied, made or read
	// there. The namespace is where the arm's pods are; "" for one that Tare makes.
	Rights func(namespace string) []Right

	// Replaceable: the workload's program is the file's, and a layer may put another in its place.
	Replaceable bool

	// The rest is of layers only.

	// Replaces: the layer does that, and nothing for any other workload.
	Replaces bool
	// Workload is the kind of the workload that the layer is about, which the experiment must have; "" for any.
	Workload string

	// Context is the context of the kubeconfig on whose cluster the arm is; "" for
	// the testbed's own.
	Context string
	// Shapes: Up changes only what the site is asked to be, and nothing outside of
	// Tare. tare doctor calls Up then, to try by dry runs whether a cluster would
	// make such a site.
	Shapes bool
	// Switches: other arms get the layer too while it is on, so that it is turned on and
	// off between the trials of arms (layer.Active.Switch).
	Switches bool
	// Launched: programs are started by Tare's launcher (package launcher), as those of the other arms are then, too.
	Launched bool
	// ProvesBeside: ProveOff, and ProveOffAfter if there is one, can tell in an arm that has a layer of the same kind
	// with other parameters, too (layer.Session.Own).
	ProvesBeside bool
	// OwnProves: the proof of such an arm's own layer shows which of the two is on, so that neither of them is called there.
	OwnProves bool
}

// What workloads measure.
const (
	TestsServer  = "server" // by requests from outside
	TestsNetwork = "network"
	TestsDisk    = "disk"
)

// FieldError is a bad value in a config.
type FieldError struct {
	Field   string // yaml path inside the config: "metrics[1].regex"
	Message string // says the bad value and what is allowed
}

// FieldErrors gathers what is wrong with a config.
type FieldErrors []FieldError

// Add notes a bad value.
func (e *FieldErrors) Add(field, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Needs is what a layer or workload asks of a testbed.
type Needs struct {
	Network     bool `json:"network,omitempty"`     // two nodes with a pod each, and a service
	HostNetwork bool `json:"hostNetwork,omitempty"` // programs on the nodes themselves, in the host's network
	// Members is how many server pods there are, of a service with several members, with
	// Network; 0 and 1: one server pod.
	Members int `json:"members,omitempty"`
	// Clients is from how many pods the load comes, with Network, on a testbed whose clients
	// can have pods of their own (testbed.Clients); 0 and 1: one client pod.
	Clients int `json:"clients,omitempty"`
	// MemberVolume is the size of a volume with a file system in the pod of each member, with
	// Network; 0: none.
	MemberVolume quantity.Size `json:"memberVolume,omitempty"`

	// AppProtocol is what the server's ports speak, as a Service of Kubernetes has it
	// (appProtocol): "http"; "tcp" for bytes of several kinds; "" if it does not matter. Meshes go by it.
	AppProtocol string `json:"appProtocol,omitempty"`

	// OwnPod asks for a pod where programs run in pods, that of the client alone without Network.
	// On this machine nothing is made for it, and programs run on the machine itself.
	OwnPod bool `json:"ownPod,omitempty"`

	Volume *Volume `json:"volume,omitempty"` // a volume in the client's pod; that pod alone without Network
	Image  string  `json:"image,omitempty"`  // image of the pods, where the testbed's will not do
	// Only names the one testbed that can give what is needed; "" for any.
	Only string `json:"only,omitempty"`
	// UsesVolume is set by a layer that shapes the volume of the workloads, and so
	// does nothing where none of them has one.
	UsesVolume bool `json:"usesVolume,omitempty"`
	// PodSecurity says what needs more than the level restricted of Pod Security.
	PodSecurity []PodSecurity `json:"podSecurity,omitempty"`
}

// PodSecurity is a reason why pods do not meet the level restricted of the Pod
// Security Standards.
type PodSecurity struct {
	Level string `json:"level"` // the least one that allows it: "baseline", "privileged"
	Why   string `json:"why"`   // "seccomp profile Unconfined (layer pod)"
}

// Volume is storage that a workload asks for.
type Volume struct {
	Size  quantity.Size `json:"size"`
	Block bool          `json:"block,omitempty"` // a raw block device in place of a file system
}

// Pods says whether the workload runs in pods or on nodes on every testbed.
func (n Needs) Pods() bool { return n.Network || n.HostNetwork || n.Volume != nil }

// PodsOnClusters says whether it does on a cluster.
func (n Needs) PodsOnClusters() bool { return n.Pods() || n.OwnPod }

// Volumes says whether there is a volume in some pod.
func (n Needs) Volumes() bool { return n.Volume != nil || n.MemberVolume > 0 }

// And is what two ask for together. Of two volumes it is the larger, of two
// images the first, of two numbers of members or of clients the larger, of two protocols tcp.
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

// Right is what is asked of one kind of objects of a cluster.
type Right struct {
	Group    string // "" for the core group
	Resource string // with the subresource: "pods/exec"; or the path of an URL: "/metrics"
	Verbs    []string
	// Namespace is where the right is needed; "" for the whole cluster.
	Namespace string
	Why       string // what it is for: "programs are started through an agent in the pod"
	// Optional is a right without which a run only tells less.
	Optional bool
}

// Name is the resource as kubectl and manifests have it: "daemonsets.apps".
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

// IsPath says whether the right is to a path of the API server, and not to objects.
func (r Right) IsPath() bool { return strings.HasPrefix(r.Resource, "/") }

// Tool is a program whose version is recorded.
type Tool struct {
	Name    string
	Path    string   // of the program; "": it is looked up in PATH by its name
	Version []string // arguments with which it prints its version
}

// Measures is what one trial of a workload measures, and what to expect of it.
type Measures struct {
	Metrics []Metric // but those of Cost
	// OnClusters and OnMachine are metrics that one testbed alone has beside these.
	OnClusters, OnMachine []Metric
	// Cost has trials priced: CPU time and memory per unit of work; nil: they are not.
	Cost *Cost
	// CPU is the metric that is CPU time, beside that of Cost; "": there is none.
	CPU string
	// Loop says which metrics are one thing seen from two sides; nil: none are.
	Loop *Loop
	// PowerLaw says which metric is expected to be a product of powers of the workload's factors;
	// nil: none is.
	PowerLaw *PowerLaw
	// Searches: what comes before the measured part of a trial searches for what is
	// then measured. A search on a busy machine finds something else, so that the
	// limits on the machine's conditions hold for it too.
	Searches bool
	// Expected is how long one trial takes, roughly.
	Expected time.Duration
	// Limit is how long it may take at most; 0: five times what is expected and half
	// a minute.
	Limit time.Duration
	// Slice says that a trial can be cut into slices; nil: it cannot. What is expected of a
	// trial, and its limit, are told for a whole one. A trial that Searches is never cut.
	Slice *Slice
}

// All lists the metrics, those of the cost included.
func (m Measures) All() []Metric {
	if m.Cost == nil {
		return m.Metrics
	}
	return append(slices.Clip(m.Metrics), m.Cost.Metrics()...)
}

// Bound is how long a trial may take at most.
func (m Measures) Bound() time.Duration {
	if m.Limit > 0 {
		return m.Limit
	}
	return 5*m.Expected + 30*time.Second
}

// Cost says how the cost metrics of a workload are named and counted: CPU time and
// memory beside speed.
type Cost struct {
	Prefix string   // "tcp": the metrics are tcp-cpu, tcp-cpu-client, …
	Unit   string   // unit of work, of which a trial tells the amount: "Gbit"
	Parts  []string // the programs under test whose usage a trial tells: "client", "server"
}

// Metrics lists the cost metrics: CPU seconds per unit of work in all (the
// parts and the layers' own processes together), per part and of the layers, of
// the whole machine, and peak memory per part. The layers' share is compared as
// a difference, since it is truly zero in an arm without layers. The machine's
// includes what the kernel does in interrupts and threads of its own, which no
// process is charged for; it also includes other programs.
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
