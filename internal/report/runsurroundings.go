package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/lists"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
	"tare/internal/run/machine"
	"tare/internal/testbed"
)

func (s *sheet) machineSection() doc.Section {
	section := doc.Section{ID: "machine", Title: "Machine and tools", NoTitle: doc.Markdown}
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
	facts, many := doc.Facts{List: machineFacts(e)}, len(e.Clusters) > 0
	var tools []doc.Row
	for _, t := range e.Tools {
		tools = append(tools, doc.Row{Cells: append(doc.Cells(plain(t.Name), plain(t.Version)),
			doc.Of(doc.In(doc.Mono, plain(t.Path))))})
	}
	page(doc.If(many, doc.Section{Title: "The machine on which tare run was called", Blocks: []doc.Block{facts}}),
		doc.If(!many, facts),
		doc.If(tools != nil, doc.Simple([]doc.Column{{Title: "tool"}, {Title: "version", Kind: doc.Prose},
			{Title: "path", Kind: doc.Prose}}, tools)),
		machineDetail("CPU vulnerabilities and mitigations", byName(e.Mitigations)),
		machineDetail("Cipher drivers", byName(e.CipherDriver)),
		machineDetail("CPU flags", known("Flags", strings.Join(e.CPU.Flags, " "))))
	return section
}

func machineFacts(e *machine.Environment) []doc.Fact {
	bytes := func(n float64) string { return wording.Value(n, "B") }
	cores := fmt.Sprintf("%d online, %d usable", e.CPU.Online, e.CPU.Usable) +
		when(e.Cgroup.CPUs > 0, ", limited to "+wording.Number(e.Cgroup.CPUs, 3)+" cores by the cgroup")
	memory := when(e.Memory > 0, bytes(float64(e.Memory))) +
		when(e.Cgroup.Memory > 0, ", limited to "+bytes(float64(e.Cgroup.Memory))+" by the cgroup")
	rights := cmp.Or(when(e.Root, "root"), "unprivileged")
	rights += when(e.UserNS, ", in a user namespace of its own")
	return known("System", e.OS, "Kernel", strings.TrimSpace(e.Kernel+" "+e.KernelBuild), "Architecture", e.Architecture,
		"Processor", e.CPU.Model, "Cores", cores, "Frequency governor", e.CPU.Governor, "Turbo", e.CPU.Turbo,
		"SMT", e.CPU.SMT, "Microcode", e.CPU.Microcode, "Memory", memory, "Clock source", e.ClockSource,
		"Load at the start", fmt.Sprintf("%.2f, %.2f, %.2f (1, 5, 15 minutes)", e.Load[0], e.Load[1], e.Load[2]),
		"Hypervisor", e.Hypervisor, "Cloud instance", e.Instance, "Confidential VM", e.Confidential,
		"Rights", rights, "Tare", strings.TrimSpace(e.TareVersion+" "+e.Go))
}

func machineDetail(title string, list []doc.Fact) doc.Block {
	return doc.If(list != nil, doc.Folded(title, doc.Facts{List: list}))
}

func byName(m map[string]string) []doc.Fact {
	return lists.Map(slices.Sorted(maps.Keys(m)), func(k string) doc.Fact { return doc.Fact{Key: plain(k), Value: plain(m[k])} })
}

func clusterSection(c machine.Cluster) doc.Section {
	pairs := []string{"Kubernetes", c.Version, "Platform", c.Platform, "UID", c.UID}
	for _, name := range slices.Sorted(maps.Keys(c.Components)) {
		pairs = append(pairs, name, c.Components[name])
	}
	for _, a := range c.Arms {
		for _, u := range a.Uplinks {
			properties, text := u.Properties(), u.Name
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				text += ", " + name + " " + properties[name]
			}
			pairs = append(pairs, "Network interface of the pods of "+a.Arm, text)
		}
	}
	joined := func(parts ...string) string { return plain(join(", ", parts...)) }
	images := map[string][]string{}
	var rows []doc.Row
	for _, n := range c.Nodes {
		cpus, memory := when(n.CPUs != "", n.CPUs+" CPUs"), when(n.Memory != "", n.Memory+" memory")
		rows = append(rows, doc.Row{Cells: doc.Cells(plain(n.Name), joined(n.Region, n.Zone), joined(n.Instance, n.Confidential),
			joined(n.CPU, cpus, memory), joined(n.OS, n.Kernel, n.Architecture), joined(n.Runtime, n.Kubelet))})
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

func (s *sheet) surroundings(o RunOptions) []doc.Block {
	if s.imported() {
		command := s.plan.Import.Command
		return []doc.Block{s.factSection(), doc.Section{ID: "repeat", Title: "Where the trials are from", Blocks: []doc.Block{
			doc.Facts{List: s.sources()},
			doc.If(command != "", doc.On(doc.Page, doc.Say("The same files are imported again by:"), doc.Code{Text: command})),
			s.directoryLinks(o)}}}
	}
	h := s.run.Harness
	return []doc.Block{s.machineSection(), doc.On(doc.Page,
		doc.Section{ID: "harness", Title: "Cost of measuring", Blocks: []doc.Block{doc.Say(
			fmt.Sprintf("Outside trials Tare took %s of the run's wall clock, and during trials its own process used %s of one CPU core.",
				wording.Share(h.WallShare), wording.Share(h.CPUShare)))}},
		doc.Section{ID: "repeat", Title: "How to repeat", Blocks: s.repeatBlocks(o)})}
}

func (s *sheet) repeatBlocks(o RunOptions) []doc.Block {
	note := fmt.Sprintf("The order of trials is drawn from the seed. With seed: %d under design in the experiment file, the same order is run again.", s.plan.Seed)
	var rows []doc.Row
	for _, a := range s.plan.Arms {
		layers := lists.Map(a.Layers, func(l experiment.PlannedLayer) doc.Text { return doc.In(doc.Mono, plain(l.Kind)+" "+compact(l.Config)) })
		if layers == nil {
			layers = []doc.Text{doc.In(doc.Muted, "none")}
		}
		rows = append(rows, doc.Row{Cells: append(doc.Cells(plain(a.Name), string(a.Role)), doc.Of(layers...))})
	}
	file := string(bytes.TrimRight(o.Experiment, "\n"))
	return []doc.Block{doc.Say(note), doc.Code{Text: cmp.Or(o.Command, "tare run experiment.yaml")},
		doc.If(file != "", doc.Section{Title: "The experiment file", Fold: doc.Page, Open: true,
			Blocks: []doc.Block{doc.Code{Text: file}}}),
		doc.Folded("Arms", doc.Simple([]doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "role"},
			{Title: "layers with their parameters in force", Kind: doc.Prose}}, rows)), s.directoryLinks(o)}
}

func compact(config any) string {
	if config == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(config); err != nil {
		return "(parameters that cannot be written: " + plain(err.Error()) + ")"
	}
	return plain(b.String())
}

func (s *sheet) factSection() doc.Section {
	columns, names := []doc.Column{{Title: "fact", Kind: doc.Name}}, map[string]bool{}
	for _, a := range s.plan.Import.Arms {
		columns = append(columns, doc.Column{Title: plain(a.Name), Kind: doc.Prose})
		for name := range a.Facts {
			names[name] = true
		}
	}
	var differing, same []doc.Row
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := doc.Row{Cells: doc.Cells(name)}
		var distinct []string
		for _, a := range s.plan.Import.Arms {
			values := plainAll(a.Facts[name])
			text := doc.In(doc.Muted, "unknown")
			if len(values) > 0 {
				text = doc.Words(firstFew(values, maxValues, ", ", " and "))
				slices.Sort(values)
				distinct = append(distinct, strings.Join(slices.Compact(values), "\n"))
			}
			row.Cells = append(row.Cells, doc.Of(text))
		}
		if len(slices.Compact(distinct)) > 1 {
			row.Cells[0] = doc.Of(doc.In(doc.Strong, name))
			differing = append(differing, row)
		} else {
			same = append(same, row)
		}
	}
	rows := slices.Concat(differing, same)
	return doc.Section{ID: "machine", Title: "Machines and versions", ScreenOnly: s.many(), Blocks: []doc.Block{
		doc.SayIf(rows == nil, "The files contain no facts about their systems."),
		doc.If(rows != nil, doc.Say("Facts that the files contain about their systems. Facts in bold differ between arms, so their effect is part of every comparison."),
			doc.Simple(columns, rows))}}
}

func (s *sheet) partBlocks() []doc.Block {
	t := doc.Table{Split: true, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "part"}, {Title: "CPUs", Right: true}, {Title: "CPU time of the work", Right: true},
		{Title: "memory", Right: true}, {Title: "trials", Right: true}}}
	for _, cell := range s.run.Cells {
		if len(cell.Parts) == 0 {
			continue
		}
		g := doc.Group{Title: doc.Words(plain(cell.ID)), Parts: []doc.Part{{}}}
		for _, p := range cell.Parts {
			g.Add(doc.Row{Cells: doc.Cells(plain(p.Arm), plain(p.Part), median(p.CPUs, "cores"), when(p.PerWork.N > 0, median(p.PerWork, p.Unit)), when(p.Memory.N > 0, median(p.Memory, "B")), number(p.CPUs.N))})
		}
		t.Groups = append(t.Groups, g)
	}
	if t.Groups == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: "parts", Title: "CPU time and memory by part", Fold: doc.Page, Blocks: []doc.Block{
		doc.Say("CPU time and memory of the programs and of the layers' own processes: medians of the valid trials of an arm, with their interval by order statistics where there are enough. Memory is the largest resident size."), t}}}
}

// quotaBlocks shows whether observed components reached their limits.
func (s *sheet) quotaBlocks() []doc.Block {
	var rows []doc.Row
	for _, q := range s.run.Quotas {
		u := q.Quota
		rows = append(rows, doc.Row{Cells: doc.Cells(plain(q.Component), plain(q.Arm), cmp.Or(plain(q.Cell), "before the first trial"),
			cmp.Or(when(u.CPU > 0, wording.Value(u.CPU, "cores")), "none"), when(u.CPU > 0, wording.Share(q.Throttled)),
			cmp.Or(when(u.Memory > 0, wording.Value(float64(u.Memory), "B")), "none"), when(u.Peak > 0, wording.Value(float64(u.Peak), "B")),
			number(u.Restarts), wording.Quota(&q))})
	}
	if rows == nil {
		return nil
	}
	return []doc.Block{doc.Section{ID: "quotas", Title: "Quotas of observed components", Short: "Quotas", Blocks: []doc.Block{
		doc.Say("The limits of observed pods, and whether the pods reached them: at their start, and in the trials of each cell. Of several containers, the one nearest to a limit counts. Peak is the largest memory since the container's start, page cache included."),
		doc.Simple([]doc.Column{{Title: "component", Kind: doc.Name}, {Title: "arm", Kind: doc.Name}, {Title: "trials of", Kind: doc.Name}, {Title: "CPU limit", Right: true}, {Title: "throttled", Right: true},
			{Title: "memory limit", Right: true}, {Title: "peak", Right: true}, {Title: "restarts", Right: true}, {Title: "verdict", Kind: doc.Prose}}, rows)}}}
}

// resources returns two texts. wires lists the link speeds of the run's cells ("1 Gbit/s", "unlimited"; "": unknown),
// usedUp the resources that trials used up.
func (s *sheet) resources() (wires, usedUp string) {
	var at, full []string
	for _, cell := range s.run.Cells {
		for _, r := range cell.Resources {
			if r.Name == testbed.ResourceWire {
				at = append(at, cmp.Or(when(r.Of > 0, wording.Value(r.Of, "bit/s")), "unlimited"))
			}
			if r.Exhausted {
				full = append(full, wording.ResourceName(r.Name))
			}
		}
	}
	each := func(list []string) string {
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(list))), "; ")
	}
	return each(at), each(full)
}
