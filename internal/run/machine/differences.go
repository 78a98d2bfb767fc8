package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// property is one property of machines or clusters, compared between environment records.
type property struct {
	Name   string
	Tool   string   // name of the tool whose version is compared; "": the property is no tool's version
	Values []string // one value for each record; "": unknown
	// Cluster is set for a property of the clusters on which trials ran. Other properties are of Tare's machine.
	Cluster bool
}

// toolPrefix is the start of a tool property's name.
const toolPrefix = "tool "

// Same reports whether every record has the same value of the property.
func (p property) Same() bool { return len(slices.Compact(slices.Clone(p.Values))) < 2 }

// FlagsProperty names the property that lists the processor's flags in order. Its value is too long for a sentence.
const FlagsProperty = "processor flags"

// Properties lists the properties that tell machines apart, in a fixed order, without changing ones such as the load. A
// nil record has unknown values.
func Properties(records ...*Environment) []property {
	var list []property
	add := func(name string, of func(*Environment) any) {
		p := property{Name: name, Values: make([]string, len(records))}
		for i, e := range records {
			if e != nil {
				p.Values[i] = fmt.Sprint(of(e))
			}
		}
		list = append(list, p)
	}
	keyed := func(what string, of func(*Environment) map[string]string) {
		keys := map[string]bool{}
		for _, e := range records {
			if e != nil {
				for k := range of(e) {
					keys[k] = true
				}
			}
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			add(what+k, func(e *Environment) any { return of(e)[k] })
		}
	}
	add("Tare", func(e *Environment) any { return e.TareVersion })
	add("Go", func(e *Environment) any { return e.Go })
	add("kernel", func(e *Environment) any { return e.Kernel })
	add("kernel build", func(e *Environment) any { return e.KernelBuild })
	add("operating system", func(e *Environment) any { return e.OS })
	add("architecture", func(e *Environment) any { return e.Architecture })
	add("processor", func(e *Environment) any { return e.CPU.Model })
	add("number of processors online", func(e *Environment) any { return e.CPU.Online })
	add("number of usable processors", func(e *Environment) any { return e.CPU.Usable })
	add("frequency governor", func(e *Environment) any { return e.CPU.Governor })
	add("turbo", func(e *Environment) any { return e.CPU.Turbo })
	add("SMT", func(e *Environment) any { return e.CPU.SMT })
	add("microcode", func(e *Environment) any { return e.CPU.Microcode })
	add("memory", func(e *Environment) any { return e.Memory })
	add("cgroup version", func(e *Environment) any { return e.Cgroup.Version })
	add("cgroup CPU quota", func(e *Environment) any { return e.Cgroup.CPUs })
	add("cgroup memory limit", func(e *Environment) any { return e.Cgroup.Memory })
	add("clock source", func(e *Environment) any { return e.ClockSource })
	add("hypervisor", func(e *Environment) any { return e.Hypervisor })
	add("instance type", func(e *Environment) any { return e.Instance })
	add("confidential computing", func(e *Environment) any { return e.Confidential })
	add("root", func(e *Environment) any { return e.Root })
	add("user namespace", func(e *Environment) any { return e.UserNS })
	add(FlagsProperty, func(e *Environment) any { return strings.Join(e.CPU.Flags, " ") })
	keyed("mitigation of ", func(e *Environment) map[string]string { return e.Mitigations })
	keyed("cipher driver of ", func(e *Environment) map[string]string { return e.CipherDriver })
	before := len(list)
	keyed(toolPrefix, func(e *Environment) map[string]string {
		versions := make(map[string]string, len(e.Tools))
		for _, t := range e.Tools {
			versions[t.Name] = t.Version
		}
		return versions
	})
	for i := range list[before:] {
		list[before+i].Tool = list[before+i].Name[len(toolPrefix):]
	}
	if !slices.ContainsFunc(records, func(e *Environment) bool { return e != nil && len(e.Clusters) > 0 }) {
		return list
	}
	machines := len(list)
	for _, p := range clusterProperties {
		add(p.name, func(e *Environment) any { return acrossClusters(e, p.values) })
	}
	keyed("image of container ", images)
	keyed("component ", components)
	for i := machines; i < len(list); i++ {
		list[i].Cluster = true
	}
	return list
}

// Differences lists how machine o, where a run is resumed, differs from e, where it began. The results are parts of
// sentences, such as "kernel is 6.8.0, was 6.6.1".
func (e *Environment) Differences(o *Environment) []string {
	var d []string
	for _, p := range Properties(e, o) {
		switch {
		case p.Same():
		case p.Name == FlagsProperty:
			d = append(d, "processor flags changed")
		default:
			d = append(d, fmt.Sprintf("%s is %s, was %s", p.Name, cmp.Or(p.Values[1], "unknown"), cmp.Or(p.Values[0], "unknown")))
		}
	}
	return d
}

// clusterProperties are properties that tell clusters apart. A node property holds the values of all nodes that trials
// ran on, whatever their names.
var clusterProperties = []struct {
	name   string
	values func(*Cluster) []string
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
	{"MTU of the pods", func(c *Cluster) []string {
		var values []string
		for _, a := range c.Arms {
			values = append(values, a.UplinksOf("MTU"))
		}
		return values
	}},
	{"confidential computing on the nodes", perNode(func(n *Node) string { return n.Confidential })},
}

// perCluster turns a function for one value of a cluster into one that returns a list.
func perCluster(value func(*Cluster) string) func(*Cluster) []string {
	return func(c *Cluster) []string { return []string{value(c)} }
}

// perNode turns the function value, which reads one value of a node, into a function that lists this value for all
// nodes of a cluster.
func perNode(value func(*Node) string) func(*Cluster) []string {
	return func(c *Cluster) []string {
		var values []string
		for i := range c.Nodes {
			values = append(values, value(&c.Nodes[i]))
		}
		return values
	}
}

// acrossClusters returns the distinct values of a property over all clusters of a record, sorted, as one text.
func acrossClusters(e *Environment, values func(*Cluster) []string) string {
	var all []string
	for i := range e.Clusters {
		all = append(all, values(&e.Clusters[i])...)
	}
	slices.Sort(all)
	// an unknown value is "" and comes first: the separator after it is cut off
	return strings.TrimPrefix(strings.Join(slices.Compact(all), ", "), ", ")
}

// components maps the names of components to their images over all clusters of a record.
func components(e *Environment) map[string]string {
	m := map[string]string{}
	for i := range e.Clusters {
		for name := range e.Clusters[i].Components {
			m[name] = acrossClusters(e, perCluster(func(c *Cluster) string { return c.Components[name] }))
		}
	}
	return m
}

// images maps containers of Tare's pods to the digests of their images.
func images(e *Environment) map[string]string {
	m := map[string]string{}
	for i := range e.Clusters {
		for _, n := range e.Clusters[i].Nodes {
			for name := range n.Images {
				m[name] = acrossClusters(e, perNode(func(n *Node) string { return n.Images[name] }))
			}
		}
	}
	return m
}
