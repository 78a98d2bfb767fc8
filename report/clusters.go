package report

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/machine"
)

// pageCluster is a cluster that trials ran on.
type pageCluster struct {
	Title string
	Rows  []entry
	Nodes []pageNode
}

// pageNode is a node that trials ran on.
type pageNode struct{ Name, Place, Instance, CPU, System, Runtime string }

// clusters are those of the run's environment; none where it ran on this machine.
func (s *sheet) clusters() []pageCluster {
	if s.run.Environment == nil {
		return nil
	}
	var list []pageCluster
	for _, c := range s.run.Environment.Clusters {
		p := pageCluster{Title: "Cluster " + plain(c.Context)}
		row := func(key, value string) {
			if value = plain(value); value != "" {
				p.Rows = append(p.Rows, entry{plain(key), value})
			}
		}
		row("Kubernetes", c.Version)
		row("Platform", c.Platform)
		row("UID", c.UID)
		for _, name := range slices.Sorted(maps.Keys(c.Components)) {
			row(name, c.Components[name])
		}
		images := map[string][]string{}
		for _, n := range c.Nodes {
			p.Nodes = append(p.Nodes, nodeRow(n))
			for container, image := range n.Images {
				images[container] = append(images[container], image)
			}
		}
		for _, container := range slices.Sorted(maps.Keys(images)) {
			slices.Sort(images[container])
			row("Image of container "+container, strings.Join(slices.Compact(images[container]), ", "))
		}
		list = append(list, p)
	}
	return list
}

func nodeRow(n machine.Node) pageNode {
	joined := func(parts ...string) string {
		return plain(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", "))
	}
	cpus, memory := "", ""
	if n.CPUs != "" {
		cpus = n.CPUs + " CPUs"
	}
	if n.Memory != "" {
		memory = n.Memory + " memory"
	}
	return pageNode{
		Name: plain(n.Name), Place: joined(n.Region, n.Zone), Instance: joined(n.Instance, n.Confidential),
		CPU: joined(n.CPU, cpus, memory), System: joined(n.OS, n.Kernel, n.Architecture), Runtime: joined(n.Runtime, n.Kubelet),
	}
}

// markdownClusters writes the clusters.
func (s *sheet) markdownClusters(b *bufio.Writer) {
	for _, c := range s.clusters() {
		fmt.Fprintf(b, "## %s\n\n| | |\n|---|---|\n", md(c.Title))
		for _, row := range c.Rows {
			fmt.Fprintf(b, "| %s | %s |\n", md(row.Key), md(row.Value))
		}
		fmt.Fprintf(b, "\n| node | zone | instance type | processor | system | runtime, kubelet |\n|---|---|---|---|---|---|\n")
		for _, n := range c.Nodes {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", md(n.Name), md(n.Place), md(n.Instance), md(n.CPU), md(n.System), md(n.Runtime))
		}
		fmt.Fprintln(b)
	}
}
