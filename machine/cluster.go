package machine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cluster describes a Kubernetes cluster that trials ran on.
type Cluster struct {
	Context  string     `json:"context"`        // by which the kubeconfig names it
	UID      string     `json:"uid"`            // of the namespace kube-system
	Version  string     `json:"version"`        // of the API server
	Platform string     `json:"platform"`       // "linux/amd64"
	Nodes    []Node     `json:"nodes"`          // those that trials ran on
	Arms     []ArmNodes `json:"arms,omitempty"` // where the arms were
	// Components are images of what is known to matter for results (the network
	// plug-in, the service mesh), by the name of the workload that runs them.
	Components map[string]string `json:"components,omitempty"`
	// StandIns are what components say of a part of theirs that is not the real thing, by their names.
	StandIns map[string]string `json:"standIns,omitempty"`
	// Notes say what a reader of the run should know about the cluster.
	Notes []string `json:"notes,omitempty"`
}

// ArmNodes says on which nodes the pods of an arm were, at every level of the
// testbed.
type ArmNodes struct {
	Arm   string   `json:"arm"`   // name of the arm
	Nodes []string `json:"nodes"` // sorted
}

// Node is one node of a cluster.
type Node struct {
	Name         string            `json:"name"`                   // as the cluster names it
	Kernel       string            `json:"kernel"`                 // release, uname -r
	OS           string            `json:"os"`                     // name and version of the distribution
	Architecture string            `json:"architecture"`           // "amd64"
	Runtime      string            `json:"runtime"`                // "containerd://1.7.27"
	Kubelet      string            `json:"kubelet"`                // version
	Zone         string            `json:"zone,omitempty"`         // availability zone, where the cluster has them
	Region       string            `json:"region,omitempty"`       // where the cluster has them
	Instance     string            `json:"instance,omitempty"`     // type of the machine
	CPU          string            `json:"cpu,omitempty"`          // model
	CPUs         string            `json:"cpus"`                   // capacity
	Memory       string            `json:"memory"`                 // capacity
	Confidential string            `json:"confidential,omitempty"` // kind of confidential VM: "SEV-SNP", "TDX"
	BootID       string            `json:"bootID,omitempty"`       // nodes with the same one share a kernel
	Images       map[string]string `json:"images,omitempty"`       // digests of the images of Tare's pods, by container
}

// Remarks are the notes on the machine and on the clusters.
func (e *Environment) Remarks() []string {
	all := slices.Clone(e.Notes)
	for i := range e.Clusters {
		all = append(all, e.Clusters[i].Notes...)
	}
	return all
}

// clusterProperties are what makes the clusters of one record different from
// those of another. Nodes come and go under other names, so that their values are
// sets over all nodes that trials ran on.
var clusterProperties = []struct {
	name string
	of   func(*Cluster) []string
}{
	{"cluster", one(func(c *Cluster) string { return c.UID })},
	{"cluster version", one(func(c *Cluster) string { return c.Version })},
	{"cluster platform", one(func(c *Cluster) string { return c.Platform })},
	{"number of nodes used", one(func(c *Cluster) string { return strconv.Itoa(len(c.Nodes)) })},
	{"kernel of the nodes", each(func(n *Node) string { return n.Kernel })},
	{"operating system of the nodes", each(func(n *Node) string { return n.OS })},
	{"architecture of the nodes", each(func(n *Node) string { return n.Architecture })},
	{"container runtime of the nodes", each(func(n *Node) string { return n.Runtime })},
	{"kubelet of the nodes", each(func(n *Node) string { return n.Kubelet })},
	{"region of the nodes", each(func(n *Node) string { return n.Region })},
	{"zone of the nodes", each(func(n *Node) string { return n.Zone })},
	{"instance type of the nodes", each(func(n *Node) string { return n.Instance })},
	{"processor of the nodes", each(func(n *Node) string { return n.CPU })},
	{"number of processors of the nodes", each(func(n *Node) string { return n.CPUs })},
	{"memory of the nodes", each(func(n *Node) string { return n.Memory })},
	{"stand-ins on the cluster", func(c *Cluster) []string { return slices.Sorted(maps.Values(c.StandIns)) }},
	{"confidential computing on the nodes", each(func(n *Node) string { return n.Confidential })},
}

// one makes a property of a cluster one of a record.
func one(of func(*Cluster) string) func(*Cluster) []string {
	return func(c *Cluster) []string { return []string{of(c)} }
}

// each makes a property of a node one of a record.
func each(of func(*Node) string) func(*Cluster) []string {
	return func(c *Cluster) []string {
		var values []string
		for i := range c.Nodes {
			values = append(values, of(&c.Nodes[i]))
		}
		return values
	}
}

// acrossClusters is a property over all clusters of a record: its distinct
// values in order.
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

// components are those of all clusters of a record, by name.
func components(e *Environment) map[string]string {
	names := map[string]bool{}
	for i := range e.Clusters {
		for name := range e.Clusters[i].Components {
			names[name] = true
		}
	}
	m := make(map[string]string, len(names))
	for name := range names {
		m[name] = acrossClusters(e, one(func(c *Cluster) string { return c.Components[name] }))
	}
	return m
}

// images are the digests of the images of Tare's pods, by container.
func images(e *Environment) map[string]string {
	m := map[string]string{}
	for i := range e.Clusters {
		for _, n := range e.Clusters[i].Nodes {
			for name := range n.Images {
				if _, known := m[name]; !known {
					m[name] = acrossClusters(e, each(func(n *Node) string { return n.Images[name] }))
				}
			}
		}
	}
	return m
}
