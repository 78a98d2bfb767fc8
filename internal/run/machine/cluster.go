package machine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cluster describes a Kubernetes cluster that trials ran on.
type Cluster struct {
	Context  string     `json:"context"`        // name of the context in the kubeconfig
	UID      string     `json:"uid"`            // UID of the namespace kube-system
	Version  string     `json:"version"`        // version of the API server
	Platform string     `json:"platform"`       // "linux/amd64"
	Nodes    []Node     `json:"nodes"`          // nodes that trials ran on
	Arms     []ArmNodes `json:"arms,omitempty"` // nodes of each arm
	// Components maps names of workloads to their images, for those that can affect results, such as the
	// network plug-in or the service mesh.
	Components map[string]string `json:"components,omitempty"`
	// StandIns maps names of components to their own remarks about a part that is a substitute.
	StandIns map[string]string `json:"standIns,omitempty"`
	// Notes lists peculiarities of the cluster that a reader of the run should know.
	Notes []string `json:"notes,omitempty"`
}

// ArmNodes lists the nodes of an arm's pods, over all levels of the testbed.
type ArmNodes struct {
	Arm   string   `json:"arm"`   // name of the arm
	Nodes []string `json:"nodes"` // sorted
}

// Node is one node of a cluster.
type Node struct {
	Name         string `json:"name"`                   // name of the node in the cluster
	Kernel       string `json:"kernel"`                 // kernel release, as from uname -r
	OS           string `json:"os"`                     // name and version of the distribution
	Architecture string `json:"architecture"`           // "amd64"
	Runtime      string `json:"runtime"`                // "containerd://1.7.27"
	Kubelet      string `json:"kubelet"`                // version of the kubelet
	Zone         string `json:"zone,omitempty"`         // availability zone, if the cluster has zones
	Region       string `json:"region,omitempty"`       // region, if the cluster has regions
	Instance     string `json:"instance,omitempty"`     // instance type
	CPU          string `json:"cpu,omitempty"`          // model of the processor
	CPUs         string `json:"cpus"`                   // capacity
	Memory       string `json:"memory"`                 // capacity
	Confidential string `json:"confidential,omitempty"` // kind of confidential VM: "SEV-SNP", "TDX"
	BootID       string `json:"bootID,omitempty"`       // nodes with equal ids share a kernel
	// digests of the images of Tare's pods, by container
	Images map[string]string `json:"images,omitempty"`
}

// Remarks lists the notes about the machine and the clusters.
func (e *Environment) Remarks() []string {
	all := slices.Clone(e.Notes)
	for i := range e.Clusters {
		all = append(all, e.Clusters[i].Notes...)
	}
	return all
}

// clusterProperties are the properties by which clusters differ. Nodes may be replaced under new names.
// A value is therefore the set over all nodes that trials ran on.
var clusterProperties = []struct {
	name string
	of   func(*Cluster) []string
}{
	{"cluster", perCluster(func(c *Cluster) string { return c.UID })},
	{"cluster version", perCluster(func(c *Cluster) string { return c.Version })},
	{"cluster platform", perCluster(func(c *Cluster) string { return c.Platform })},
	{"number of nodes used", perCluster(func(c *Cluster) string { return strconv.Itoa(len(c.Nodes)) })},
	{"kernel of the nodes", perNode(func(n *Node) string { return n.Kernel })},
	{"operating system of the nodes", perNode(func(n *Node) string { return n.OS })},
	{"architecture of the nodes", perNode(func(n *Node) string { return n.Architecture })},
	{"container runtime of the nodes", perNode(func(n *Node) string { return n.Runtime })},
	{"kubelet of the nodes", perNode(func(n *Node) string { return n.Kubelet })},
	{"region of the nodes", perNode(func(n *Node) string { return n.Region })},
	{"zone of the nodes", perNode(func(n *Node) string { return n.Zone })},
	{"instance type of the nodes", perNode(func(n *Node) string { return n.Instance })},
	{"processor of the nodes", perNode(func(n *Node) string { return n.CPU })},
	{"number of processors of the nodes", perNode(func(n *Node) string { return n.CPUs })},
	{"memory of the nodes", perNode(func(n *Node) string { return n.Memory })},
	{"stand-ins on the cluster", func(c *Cluster) []string { return slices.Sorted(maps.Values(c.StandIns)) }},
	{"confidential computing on the nodes", perNode(func(n *Node) string { return n.Confidential })},
}

// perCluster turns a function of a cluster into a list with one value.
func perCluster(of func(*Cluster) string) func(*Cluster) []string {
	return func(c *Cluster) []string { return []string{of(c)} }
}

// perNode turns a function of a node into a list with a value for every node of a cluster.
func perNode(of func(*Node) string) func(*Cluster) []string {
	return func(c *Cluster) []string {
		var values []string
		for i := range c.Nodes {
			values = append(values, of(&c.Nodes[i]))
		}
		return values
	}
}

// acrossClusters lists the distinct values of a property over all clusters of a record, sorted.
func acrossClusters(e *Environment, of func(*Cluster) []string) string {
	var all []string
	for i := range e.Clusters {
		for _, v := range of(&e.Clusters[i]) {
			if v != "" {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// components maps the names of components to their images over all clusters of a record.
func components(e *Environment) map[string]string {
	names := map[string]bool{}
	for i := range e.Clusters {
		for name := range e.Clusters[i].Components {
			names[name] = true
		}
	}
	m := make(map[string]string, len(names))
	for name := range names {
		m[name] = acrossClusters(e, perCluster(func(c *Cluster) string { return c.Components[name] }))
	}
	return m
}

// images maps containers of Tare's pods to the digests of their images.
func images(e *Environment) map[string]string {
	m := map[string]string{}
	for i := range e.Clusters {
		for _, n := range e.Clusters[i].Nodes {
			for name := range n.Images {
				if _, known := m[name]; !known {
					m[name] = acrossClusters(e, perNode(func(n *Node) string { return n.Images[name] }))
				}
			}
		}
	}
	return m
}
