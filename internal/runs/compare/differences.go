package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/lists"
	"tare/internal/run/machine"
)

// minorOnMachines are properties of a machine that seldom affect measurements. Versions of tools are a group of their
// own.
var minorOnMachines = []string{"Go", "kernel build", "microcode", "cgroup version", "clock source", "root", "user namespace",
	machine.FlagsProperty, "cipher driver of "}

func (c *comparison) differences() {
	var p properties
	c.compareArms(&p)
	c.compareFacts(&p)
	c.compareMachines(&p)
	c.compareCells(&p, testbeds, func(*experiment.Cell) string { return "" }, func(cell *experiment.Cell) any { return cell.Testbed })
	c.compareCells(&p, workloads, func(cell *experiment.Cell) string { return cell.Workload + ": " }, func(cell *experiment.Cell) any { return cell.Config })
	p.addLeaves(design, "", c.leaves(DesignOf))
	p.addLeaves(testbeds, "", c.leaves(func(plan *experiment.Plan) map[string]string { return map[string]string{"kind": plan.Testbed} }))
	p.addLeaves(tools, "", c.leaves(func(plan *experiment.Plan) map[string]string { return map[string]string{"Tare": plan.Version} }))
	c.result.Differences, c.result.Same = p.split()
}

// compareMachines compares the machines that runs record. If trials ran on clusters, properties of the machine that
// started Tare are minor.
func (c *comparison) compareMachines(p *properties) {
	records, has := make([]*machine.Environment, len(c.in)), make([]bool, len(c.in))
	var without []int
	for i, in := range c.in {
		records[i] = in.Run.Environment
		if has[i] = records[i] != nil; !has[i] {
			without = append(without, i+1)
		}
	}
	if len(without) > 0 {
		c.result.Unknown = append(c.result.Unknown, UnrecordedMachines{without})
	}
	onClusters := !slices.ContainsFunc(records, func(e *machine.Environment) bool { return e == nil || len(e.Clusters) == 0 })
	for _, property := range machine.Properties(records...) {
		group, name := Machine, property.Name
		minor := onClusters && !property.Cluster || slices.ContainsFunc(minorOnMachines, func(m string) bool { return strings.HasPrefix(name, m) })
		switch {
		case name == "Tare": // left out, because the plan has the version of Tare already
			continue
		case property.Tool != "":
			group, name = tools, property.Tool
		}
		p.add(group, name, property.Values, has, minor)
	}
}

// compareArms compares the layers of arms across runs. It compares arms with the same name, and arms that are matched
// as versions of one layer.
func (c *comparison) compareArms(p *properties) {
	for _, name := range c.names(armNames) {
		arms := lists.Map(c.in, func(in Input) *experiment.PlannedArm { return in.Run.Plan.Arm(name) })
		compareLayers(p, name, arms)
	}
	for _, m := range c.options.Matches {
		from, to := firstWith(c.in, m.Old), firstWith(c.in, m.New)
		if from == to {
			continue // both arms are in one plan, so the user knows how they differ
		}
		arms := make([]*experiment.PlannedArm, len(c.in))
		arms[from], arms[to] = c.in[from].Run.Plan.Arm(m.Old), c.in[to].Run.Plan.Arm(m.New)
		compareLayers(p, m.Old+" as "+m.New, arms)
	}
}

func compareLayers(p *properties, name string, arms []*experiment.PlannedArm) {
	leaves, kinds := make([]map[string]string, len(arms)), make([]map[string]string, len(arms))
	layered := false
	for i, a := range arms {
		if a == nil {
			continue
		}
		kinds[i] = map[string]string{}
		kinds[i]["layers"], leaves[i] = LayersOf(a)
		layered = layered || len(a.Layers) > 0
	}
	if layered {
		p.addLeaves(layers, name+": ", kinds)
	}
	p.addLeaves(layers, name+": ", leaves)
}

// LayersOf returns the kinds of an arm's layers, in order, and their effective parameters by path.
func LayersOf(a *experiment.PlannedArm) (kinds string, leaves map[string]string) {
	leaves = map[string]string{}
	counted := map[string]int{}
	var list []string
	for _, l := range a.Layers {
		list = append(list, l.Kind)
		key := l.Kind
		if counted[l.Kind]++; counted[l.Kind] > 1 {
			key = fmt.Sprintf("%s#%d", l.Kind, counted[l.Kind])
		}
		for path, v := range Flatten(l.Config) {
			leaves[key+"."+path] = v
		}
	}
	return cmp.Or(strings.Join(list, ", "), "none"), leaves
}

// leaves returns, for each run, its properties by path. The function list returns the properties in a run's plan.
func (c *comparison) leaves(list func(*experiment.Plan) map[string]string) []map[string]string {
	return lists.Map(c.in, func(in Input) map[string]string { return list(in.Run.Plan) })
}

// compareFacts compares the systems that imported files describe. Settings of the workload are left out, since they are
// parameters of cells.
func (c *comparison) compareFacts(p *properties) {
	settings := map[string]bool{}
	for _, in := range c.in {
		for _, cell := range in.Run.Plan.Cells {
			for name := range Flatten(cell.Config) {
				settings[name] = true
			}
		}
	}
	p.addLeaves(imported, "", c.leaves(func(plan *experiment.Plan) map[string]string {
		if plan.Import == nil {
			return nil
		}
		facts := factsOf(plan.Import)
		maps.DeleteFunc(facts, func(name, _ string) bool { return settings[name] })
		return facts
	}))
	p.addLeaves(imported, "", c.leaves(func(plan *experiment.Plan) map[string]string {
		if plan.Import == nil {
			return nil
		}
		return map[string]string{importFormat: plan.Import.Tool}
	}))
}

// factsOf returns the facts by name. If a fact differs between arms, its text lists the arms.
func factsOf(imported *experiment.Import) map[string]string {
	texts, byArm := map[string][]string{}, map[string][]string{}
	for _, a := range imported.Arms {
		for name, values := range a.Facts {
			v := listed(values, 4)
			texts[name], byArm[name] = append(texts[name], v), append(byArm[name], a.Name+": "+v)
		}
	}
	facts := map[string]string{}
	for name, own := range texts {
		if facts[name] = own[0]; len(slices.Compact(own)) > 1 {
			facts[name] = strings.Join(byArm[name], "; ")
		}
	}
	return facts
}

// listed joins values: "a, b and 3 more". The number most is the largest number of values that are written.
func listed(values []string, most int) string {
	if extra := len(values) - most; extra > 0 {
		return strings.Join(values[:most], ", ") + fmt.Sprintf(" and %d more", extra)
	}
	return strings.Join(values, ", ")
}

// compareCells compares parameters of cells that several runs have. A parameter with equal values in all cells appears
// once, other parameters appear by cell.
func (c *comparison) compareCells(p *properties, group Group, prefix func(*experiment.Cell) string, of func(*experiment.Cell) any) {
	rows := map[string][]Property{} // properties by path
	var order []string
	for _, id := range c.names(cellIDs) {
		head := ""
		var cell properties
		cell.addLeaves(group, "", c.leaves(func(plan *experiment.Plan) map[string]string {
			its := plan.Cell(id)
			if its == nil {
				return nil
			}
			head = prefix(its)
			return Flatten(of(its))
		}))
		for _, one := range cell {
			name := one.Path
			if group == testbeds {
				name = "testbed." + name
			}
			one.Minor, one.Limit = experiment.OutsideQuestion(name)
			path := head + one.Path
			if rows[path] == nil {
				order = append(order, path)
			}
			one.Path = id
			rows[path] = append(rows[path], one)
		}
	}
	for _, path := range order {
		cells := rows[path]
		if !slices.ContainsFunc(cells, func(one Property) bool { return !slices.Equal(one.Values, cells[0].Values) }) {
			cells[0].Path = path
			*p = append(*p, cells[0])
			continue
		}
		for _, one := range cells {
			if one.differs { // a parameter in which cells differ, but not runs, is left out: cells' names show it
				one.Path += ": " + path
				*p = append(*p, one)
			}
		}
	}
}

// DesignOf returns a run's design by property, such as its rounds, confidence and limits. It leaves out the seed, which
// only sets the order.
func DesignOf(plan *experiment.Plan) map[string]string {
	m := map[string]string{
		designConfidence: factor.Text(plan.Confidence), designMargin: factor.Text(plan.Equivalence), "power": factor.Text(plan.Power),
	}
	if plan.Paired() {
		m["rounds"] = fmt.Sprint(plan.Rounds)
	}
	if plan.Import == nil {
		m["attempts"] = fmt.Sprint(plan.Attempts)
		m[designSlices] = factor.Text(plan.Slices)
	}
	if len(plan.DecideAt) > 0 {
		m["looks"] = fmt.Sprint(plan.DecideAt)
	}
	if plan.Precision > 0 {
		m["precision"] = factor.Text(plan.Precision)
	}
	for path, v := range Flatten(plan.Limits) {
		m["limit of "+path] = cmp.Or(v, "none")
	}
	return m
}
