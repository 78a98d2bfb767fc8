package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/machine"
	doc "tare/report/document"
	"tare/wording"
)

// machineSection is where the run was made.
func (s *sheet) machineSection() doc.Section {
	section := doc.Section{ID: "machine", Title: "Machine and tools", Quiet: doc.Markdown}
	page := func(blocks ...doc.Block) {
		section.Blocks = append(section.Blocks, doc.On(doc.Page, blocks...))
	}
	e := s.run.Environment
	if e == nil {
		page(doc.Say("The run has no record of its machine."))
		return section
	}
	page(doc.List{Items: doc.Each(plainAll(e.Remarks()))})
	for _, c := range e.Clusters {
		section.Blocks = append(section.Blocks, clusterSection(c))
	}
	here := []doc.Block{doc.Facts{List: machineFacts(e)}}
	if len(e.Clusters) > 0 {
		here = []doc.Block{doc.Section{Title: "The machine on which tare run was called", Blocks: here}}
	}
	page(here...)
	if len(e.Tools) > 0 {
		var rows []doc.Row
		for _, t := range e.Tools {
			rows = append(rows, doc.Row{Cells: append(doc.Cells(plain(t.Name), plain(t.Version)), doc.Of(doc.In(doc.Mono, plain(t.Path))))})
		}
		page(doc.Simple([]doc.Column{{Title: "tool"}, {Title: "version", Kind: doc.Prose}, {Title: "path", Kind: doc.Prose}}, rows))
	}
	page(machineDetails(e)...)
	return section
}

// machineFacts are the environment's single facts; empty ones are left out.
func machineFacts(e *machine.Environment) []doc.Fact {
	cores := fmt.Sprintf("%d online, %d usable", e.CPU.Online, e.CPU.Usable)
	if e.Cgroup.CPUs > 0 {
		cores += fmt.Sprintf(", limited to %s cores by the cgroup", wording.Number(e.Cgroup.CPUs, 3))
	}
	memory := ""
	if e.Memory > 0 {
		memory = wording.Value(float64(e.Memory), "B")
	}
	if e.Cgroup.Memory > 0 {
		memory += ", limited to " + wording.Value(float64(e.Cgroup.Memory), "B") + " by the cgroup"
	}
	rights := "unprivileged"
	if e.Root {
		rights = "root"
	}
	if e.UserNS {
		rights += ", in a user namespace of its own"
	}
	return known("System", e.OS, "Kernel", strings.TrimSpace(e.Kernel+" "+e.KernelBuild), "Architecture", e.Architecture,
		"Processor", e.CPU.Model, "Cores", cores, "Frequency governor", e.CPU.Governor, "Turbo", e.CPU.Turbo,
		"SMT", e.CPU.SMT, "Microcode", e.CPU.Microcode, "Memory", memory, "Clock source", e.ClockSource,
		"Load at the start", fmt.Sprintf("%.2f, %.2f, %.2f (1, 5, 15 minutes)", e.Load[0], e.Load[1], e.Load[2]),
		"Hypervisor", e.Hypervisor, "Cloud instance", e.Instance, "Confidential VM", e.Confidential,
		"Rights", rights, "Tare", strings.TrimSpace(e.TareVersion+" "+e.Go))
}

// machineDetails are the environment's long parts.
func machineDetails(e *machine.Environment) []doc.Block {
	var blocks []doc.Block
	add := func(title string, m map[string]string) {
		var list []doc.Fact
		for _, k := range slices.Sorted(maps.Keys(m)) {
			list = append(list, doc.Fact{Key: plain(k), Value: plain(m[k])})
		}
		if list != nil {
			blocks = append(blocks, doc.Section{Title: title, Fold: doc.Page, Blocks: []doc.Block{doc.Facts{List: list}}})
		}
	}
	add("CPU vulnerabilities and mitigations", e.Mitigations)
	add("Cipher drivers", e.CipherDriver)
	if len(e.CPU.Flags) > 0 {
		add("CPU flags", map[string]string{"Flags": strings.Join(e.CPU.Flags, " ")})
	}
	return blocks
}

// clusterSection is a cluster that trials ran on, with its nodes.
func clusterSection(c machine.Cluster) doc.Section {
	pairs := []string{"Kubernetes", c.Version, "Platform", c.Platform, "UID", c.UID}
	for _, name := range slices.Sorted(maps.Keys(c.Components)) {
		pairs = append(pairs, name, c.Components[name])
	}
	images := map[string][]string{}
	var rows []doc.Row
	for _, n := range c.Nodes {
		rows = append(rows, nodeRow(n))
		for container, image := range n.Images {
			images[container] = append(images[container], image)
		}
	}
	for _, container := range slices.Sorted(maps.Keys(images)) {
		slices.Sort(images[container])
		pairs = append(pairs, "Image of container "+container, strings.Join(slices.Compact(images[container]), ", "))
	}
	return doc.Section{Title: "Cluster " + plain(c.Context), Blocks: []doc.Block{
		doc.Facts{List: known(pairs...)},
		doc.Simple([]doc.Column{{Title: "node", Kind: doc.Name}, {Title: "zone", Kind: doc.Prose}, {Title: "instance type", Kind: doc.Prose},
			{Title: "processor", Kind: doc.Prose}, {Title: "system", Kind: doc.Prose}, {Title: "runtime, kubelet", Kind: doc.Prose}}, rows)}}
}

func nodeRow(n machine.Node) doc.Row {
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
	return doc.Row{Cells: doc.Cells(plain(n.Name), joined(n.Region, n.Zone), joined(n.Instance, n.Confidential),
		joined(n.CPU, cpus, memory), joined(n.OS, n.Kernel, n.Architecture), joined(n.Runtime, n.Kubelet))}
}
