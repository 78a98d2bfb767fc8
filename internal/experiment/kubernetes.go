package experiment

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// DefaultImage is the image of Tare's own pods if the file names none. `make image` builds it.
const DefaultImage = "tare:latest"

// Kubernetes is the testbed on a cluster, where programs run in pods on nodes.
type Kubernetes struct {
	Context    string                   `yaml:"context" doc:"context of the kubeconfig; the current one if absent"`
	Namespace  string                   `yaml:"namespace" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"the name of a namespace" doc:"existing namespace, shared by all arms; if absent, Tare creates one for each arm and deletes it again"`
	Image      string                   `yaml:"image" doc:"image of Tare's pods: tare, iperf3 and fio; make image builds it"`
	Secrets    []string                 `yaml:"imagePullSecrets" doc:"secrets for pulling images, in the field namespace"`
	Placement  factor.Levels[Placement] `yaml:"placement" enum:"different-nodes,same-node" doc:"nodes of the client and the server"`
	Spread     string                   `yaml:"spread" doc:"node label whose value must differ between the two nodes, such as topology.kubernetes.io/zone"`
	Client     NodeChoice               `yaml:"client" doc:"node of the client; any schedulable one if absent"`
	Server     NodeChoice               `yaml:"server" doc:"node of the server, and of all members of a service; any schedulable one if absent"`
	Nodes      factor.Levels[int]       `yaml:"nodes" min:"1" max:"64" doc:"number of nodes for the members of a service; if absent, one for each member, or all nodes if there are fewer"`
	Tolerate   []Toleration             `yaml:"tolerations" doc:"taints of nodes that the pods tolerate"`
	Priority   string                   `yaml:"priorityClass" also:"priorityClassName" doc:"priority class of the pods"`
	Resources  Resources                `yaml:"resources" doc:"CPU and memory of each pod's program"`
	Accounting Accounting               `yaml:"accounting" enum:"container,node" doc:"how CPU time and memory are counted"`
	Observe    []Observe                `yaml:"observe" doc:"pods whose CPU and memory are metrics of every trial"`
	Timeouts   Timeouts                 `yaml:"timeouts" doc:"longest waits for the cluster"`
}

// Placement selects the nodes of the client and the server.
type Placement string

const (
	DifferentNodes Placement = "different-nodes"
	SameNode       Placement = "same-node"
)

// NodeChoice selects nodes for pods.
type NodeChoice struct {
	Node   string            `yaml:"node" json:"node,omitempty" doc:"name of the node"`
	Labels map[string]string `yaml:"labels" json:"labels,omitempty" doc:"labels of the node"`
}

// Toleration is a taint that pods tolerate.
type Toleration struct {
	Key    string `yaml:"key" json:"key,omitempty" doc:"key of the taint; every taint if absent"`
	Value  string `yaml:"value" json:"value,omitempty" doc:"value of the taint; any if absent"`
	Effect string `yaml:"effect" json:"effect,omitempty" enum:"NoSchedule,PreferNoSchedule,NoExecute" doc:"effect of the taint; all if absent"`
}

// Resources are the requests and limits of a container. By default, each request equals its limit (quality of service
// Guaranteed).
type Resources struct {
	CPU           string `yaml:"cpu" json:"cpu" pattern:"^([0-9]+(\\.[0-9]+)?m?|none)$" form:"a number of CPUs such as 1, 0.5 or 500m, or none" doc:"CPU limit, and request unless cpuRequest is given"`
	Memory        string `yaml:"memory" json:"memory" pattern:"^([0-9]+([KMGT]i?)?|none)$" form:"a quantity such as 512Mi, or none" doc:"memory limit, and request unless memoryRequest is given"`
	CPURequest    string `yaml:"cpuRequest" json:"cpuRequest,omitempty" pattern:"^[0-9]+(\\.[0-9]+)?m?$" form:"a number of CPUs such as 1, 0.5 or 500m" doc:"CPU request, if it differs from the limit"`
	MemoryRequest string `yaml:"memoryRequest" json:"memoryRequest,omitempty" pattern:"^[0-9]+([KMGT]i?)?$" form:"a quantity such as 512Mi" doc:"memory request, if it differs from the limit"`
}

// Accounting selects where CPU time and memory are read.
type Accounting string

const (
	// InContainer reads CPU time and memory inside the container, for which no rights are needed. It misses processes
	// outside, such as a sidecar or gVisor.
	InContainer Accounting = "container"
	// OnNode reads the cgroups of whole pods on the node, exactly when a trial begins and ends. For this, a pod
	// sees the node's /sys/fs/cgroup read-only.
	OnNode Accounting = "node"
)

// Observe selects the API server or pods that are observed during trials. Its metrics are sums over the pods: cpu-NAME
// in cores, and memory-NAME in bytes.
type Observe struct {
	Name      string            `yaml:"name" json:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$" form:"lower-case letters, digits and dashes" doc:"name in the metrics: cpu-NAME, memory-NAME"`
	Server    bool              `yaml:"apiServer" json:"apiServer,omitempty" doc:"true: observes the API server instead of pods, by the counters at /metrics"`
	Namespace string            `yaml:"namespace" json:"namespace,omitempty" doc:"namespace of the pods"`
	Labels    map[string]string `yaml:"labels" json:"labels,omitempty" doc:"labels of the pods"`
	Nodes     ObserveNodes      `yaml:"nodes" json:"nodes" enum:"trial,all" doc:"nodes of the pods: trial for the nodes of the trial, all for all nodes"`
	Headline  []observedMetric  `yaml:"headline" json:"headline,omitempty" enum:"cpu,memory" doc:"headlines: cpu, memory or both; they get verdicts under the correction for many comparisons, and a trial without one of them is invalid"`
}

type observedMetric string

const (
	ofCPU    observedMetric = "cpu"
	ofMemory observedMetric = "memory"
)

// ObserveNodes selects the nodes whose pods are observed.
type ObserveNodes string

const (
	TrialNodes ObserveNodes = "trial"
	AllNodes   ObserveNodes = "all"
)

// Timeouts limit every wait for the cluster.
type Timeouts struct {
	Ready   quantity.Duration `yaml:"ready" json:"ready" doc:"longest time until pods, volumes and applied objects are ready"`
	Delete  quantity.Duration `yaml:"delete" json:"delete" doc:"longest time until deleted objects are gone"`
	Request quantity.Duration `yaml:"request" json:"request" doc:"longest time until the API server responds, repeated requests included"`
	Connect quantity.Duration `yaml:"connect" json:"connect" doc:"longest time of reconnecting to a pod during a trial"`
	Silence quantity.Duration `yaml:"silence" json:"silence" doc:"time after the last sign of the run until the cluster removes its objects"`
}

const shortestSilence = 5 * time.Minute // shortest allowed silence: a restart of the API server may take this long

// NewKubernetes returns the testbed with its defaults.
func NewKubernetes() *Kubernetes {
	return &Kubernetes{
		Image:      DefaultImage,
		Placement:  factor.Of(DifferentNodes),
		Resources:  Resources{CPU: "1", Memory: "512Mi"},
		Accounting: InContainer,
		Timeouts: Timeouts{
			Ready: quantity.Duration(3 * time.Minute), Delete: quantity.Duration(time.Minute),
			Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
			Silence: quantity.Duration(time.Hour),
		},
	}
}

func (k *Kubernetes) validate() []FieldError {
	var errs FieldErrors
	seen, pods, servers := map[string]bool{}, false, false
	for i, o := range k.Observe {
		at := fmt.Sprintf("observe[%d]", i)
		if o.Name != "" && seen[o.Name] {
			errs.Add(at+".name", "%q is the name of two observed groups of pods", o.Name)
		}
		seen[o.Name] = true
		pods = pods || !o.Server
		switch {
		case o.Server && (o.Namespace != "" || len(o.Labels) > 0 || o.Nodes != ""):
			errs.Add(at+".apiServer", "the API server is read at /metrics, and not from pods: leave namespace, labels and nodes out")
		case o.Server && servers:
			errs.Add(at+".apiServer", "the API server is observed twice")
		case o.Server:
		case o.Namespace == "":
			errs.Add(at+".namespace", "pods are observed in a namespace; the API server is with apiServer: true")
		case len(o.Labels) == 0:
			errs.Add(at+".labels", "no label is given: that would observe every pod of the namespace")
		}
		servers = servers || o.Server
	}
	if pods && k.Accounting != OnNode {
		errs.Add("observe", "pods can be observed with accounting: node only, which reads their cgroups on the node")
	}
	for field, d := range map[string]quantity.Duration{
		"timeouts.ready": k.Timeouts.Ready, "timeouts.delete": k.Timeouts.Delete,
		"timeouts.request": k.Timeouts.Request, "timeouts.connect": k.Timeouts.Connect,
	} {
		if d.Std() < time.Second || d.Std() > 24*time.Hour {
			errs.Add(field, "%v is not a time from 1s to 24h", d)
		}
	}
	if d := k.Timeouts.Silence; d.Std() < shortestSilence || d.Std() > 24*time.Hour {
		errs.Add("timeouts.silence", "%v is not a time from %v to 24h", d, quantity.Duration(shortestSilence))
	}
	if k.Client.Node != "" && k.Client.Node == k.Server.Node && slices.Contains(k.Placement, DifferentNodes) {
		errs.Add("server.node", "client and server are both on %s, but the placement is %s", k.Server.Node, DifferentNodes)
	}
	return errs
}

// metrics returns the metrics that the testbed adds to the workload's own. The argument m is what the workload
// measures.
func (t Testbed) metrics(m Measures) (metrics []Metric) {
	if t.Kubernetes == nil {
		return m.OnMachine
	}
	metrics = slices.Clip(m.OnClusters)
	for _, o := range t.Kubernetes.Observe {
		cpu, memory := slices.Contains(o.Headline, ofCPU), slices.Contains(o.Headline, ofMemory)
		metrics = append(metrics,
			Metric{Name: ObservedCPU(o.Name), Unit: "cores", Better: Lower, Scale: Difference, Headline: cpu, Optional: !cpu},
			Metric{Name: ObservedMemory(o.Name), Unit: "B", Better: Lower, Scale: Difference, Headline: memory, Optional: !memory})
	}
	return metrics
}

// ObservedCPU returns the name of the metric of an observed component's CPU time, in CPU seconds per second.
func ObservedCPU(name string) string { return "cpu-" + name }

// ObservedMemory returns the name of the metric of an observed component's working set at a trial's end, in bytes.
func ObservedMemory(name string) string { return "memory-" + name }
