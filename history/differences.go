package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/experiment"
	"tare/journal"
	"tare/machine"
)

// parameters are what a run asked of one arm in one cell, everything that the
// values depend on by intent: the layers of the arm and of the baseline, the
// workload and the testbed, each parameter by its path (experiment.Aside says which are
// none). The number of rounds,
// the seed, limits and margins are not among them, nor which files were imported
// and how their trials were paired: they make a value more or less certain, not
// different.
type parameters struct {
	text  string // one line for all, to compare with
	paths map[string]string
}

// asker makes the parameters of a plan's arms and cells, each once.
type asker struct {
	plan  *experiment.Plan
	arms  map[string]map[string]string
	cells map[string]map[string]string
	made  map[[2]string]*parameters
}

func newAsker(plan *experiment.Plan) *asker {
	a := &asker{plan: plan, arms: map[string]map[string]string{}, cells: map[string]map[string]string{}, made: map[[2]string]*parameters{}}
	for _, arm := range plan.Arms {
		paths := map[string]string{}
		for _, l := range arm.Layers {
			flatten(paths, l.Kind, l.Config)
		}
		a.arms[arm.Name] = paths
	}
	for _, c := range plan.Cells {
		paths := map[string]string{"workload": c.Kind, "testbed": plan.Testbed}
		if plan.Import != nil {
			paths["import.tool"] = plan.Import.Tool
		}
		flatten(paths, c.Kind, c.Config)
		flatten(paths, "testbed", c.Testbed)
		maps.DeleteFunc(paths, func(path, _ string) bool {
			aside, _ := experiment.Aside(strings.TrimPrefix(path, c.Kind+"."))
			return aside
		})
		for _, l := range c.Levels {
			paths["level."+l.Factor] = l.Value
		}
		a.cells[c.ID] = paths
	}
	return a
}

// of gives the parameters of an arm in a cell.
func (a *asker) of(cell, arm string) *parameters {
	at := [2]string{cell, arm}
	if p := a.made[at]; p != nil {
		return p
	}
	p := &parameters{paths: map[string]string{}}
	maps.Copy(p.paths, a.cells[cell])
	maps.Copy(p.paths, a.arms[arm])
	if base := a.plan.ArmWith(experiment.Baseline); base != arm {
		for path, v := range a.arms[base] {
			p.paths["baseline."+path] = v
		}
	}
	maps.DeleteFunc(p.paths, func(_, v string) bool { return v == "" }) // the same as unset
	p.text = fmt.Sprintf("%q", p.paths)                                 // in the order of the paths
	a.made[at] = p
	return p
}

// flatten writes every leaf of a value as JSON has it under its path.
func flatten(into map[string]string, path string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		into[path] = fmt.Sprintf("%T", v)
		return
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var plain any
	_ = d.Decode(&plain) // what was just written
	leaves(into, path, plain)
}

func leaves(into map[string]string, path string, v any) {
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 {
			into[path] = "{}"
		}
		for k, member := range x {
			leaves(into, path+"."+k, member)
		}
	case []any:
		if len(x) == 0 {
			into[path] = "[]"
		}
		for i, member := range x {
			leaves(into, path+"."+strconv.Itoa(i), member)
		}
	case nil:
		into[path] = "none"
	default:
		into[path] = fmt.Sprint(x)
	}
}

func (p *parameters) differs(q *parameters) []Difference {
	return changed(p.paths, q.paths)
}

// changed compares two maps key by key, in the order of the keys.
func changed(was, is map[string]string) []Difference {
	keys := map[string]string{}
	maps.Copy(keys, was)
	maps.Copy(keys, is)
	var list []Difference
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if is[k] != was[k] {
			list = append(list, Difference{What: k, Is: is[k], Was: was[k]})
		}
	}
	return list
}

// factsOf collects what a run tells of its surroundings and its design.
func factsOf(j *journal.Run) facts {
	f := facts{environment: j.Environment, design: map[string]string{"confidence": j.Plan.Confidence.String()}}
	var arms []string
	for _, a := range j.Plan.Arms {
		if a.Role != experiment.Control {
			arms = append(arms, a.Name)
		}
	}
	f.design["arms"] = strings.Join(arms, ", ")
	if j.Plan.Import == nil { // an import has as many rounds as there were files
		f.design["rounds"] = strconv.Itoa(j.Plan.Rounds)
		if j.Plan.Slices != experiment.SlicesNone {
			f.design["slices"] = j.Plan.Slices.String()
		}
		if len(j.Plan.DecideAt) > 0 {
			f.design["looks"] = fmt.Sprint(j.Plan.DecideAt)
		}
		if j.Plan.Precision > 0 {
			f.design["precision"] = j.Plan.Precision.String()
		}
		return f
	}
	f.imported = map[string]string{}
	for _, a := range j.Plan.Import.Arms {
		for name, values := range a.Facts {
			if len(j.Plan.Import.Arms) > 1 {
				name += " of " + a.Name
			}
			f.imported[name] = strings.Join(values, ", ")
		}
	}
	return f
}

// note writes into every run what is different from the run before: from the
// last one, that is, which told anything.
func note(runs []*Run) {
	var last facts
	for _, r := range runs {
		f := r.facts
		r.Events = nil
		if f.environment != nil {
			if last.environment != nil {
				for _, p := range machine.Properties(last.environment, f.environment) {
					if !p.Same() {
						r.Events = append(r.Events, Difference{What: p.Name, Is: p.Values[1], Was: p.Values[0], Machine: true})
					}
				}
			}
			last.environment = f.environment
		}
		if len(f.imported) > 0 {
			if last.imported != nil {
				r.Events = append(r.Events, changed(last.imported, f.imported)...)
			}
			last.imported = f.imported
		}
		if last.design != nil {
			r.Events = append(r.Events, changed(last.design, f.design)...)
		}
		last.design = f.design
	}
}
