package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/runs/compare"
)

// parameters maps paths to all that is meant to affect an arm's values in a cell: layers of arm and baseline, workload
// and testbed (but see experiment.OutsideQuestion).
type parameters map[string]string

// parametersOf returns the parameters of every cell and arm of a plan, by cell and arm.
func parametersOf(plan *experiment.Plan) map[[2]string]parameters {
	layers := map[string]parameters{}
	for i := range plan.Arms {
		kinds, paths := compare.LayersOf(&plan.Arms[i])
		paths["layers"] = kinds
		layers[plan.Arms[i].Name] = paths
	}
	base, all := plan.ArmWith(experiment.Baseline), map[[2]string]parameters{}
	for _, c := range plan.Cells {
		shared := sharedParameters(plan, c)
		for arm, own := range layers {
			p := maps.Clone(shared)
			maps.Copy(p, own)
			if arm != base {
				for path, v := range layers[base] {
					p["baseline."+path] = v
				}
			}
			maps.DeleteFunc(p, func(_, v string) bool { return v == "" }) // "" means unset
			all[[2]string{c.ID, arm}] = p
		}
	}
	return all
}

func sharedParameters(plan *experiment.Plan, c experiment.Cell) parameters {
	p := parameters{"workload": c.Kind, "testbed": plan.Testbed}
	if plan.Import != nil {
		p["import.tool"] = plan.Import.Tool
	}
	for path, v := range compare.Flatten(c.Config) {
		if aside, _ := experiment.OutsideQuestion(path); !aside {
			p[c.Kind+"."+path] = v
		}
	}
	for path, v := range compare.Flatten(c.Testbed) {
		if aside, _ := experiment.OutsideQuestion("testbed." + path); !aside {
			p["testbed."+path] = v
		}
	}
	for _, l := range c.Levels {
		p["level."+l.Factor] = l.Value
	}
	return p
}

// changed returns the differences between two sets of parameters or facts, sorted by path. A nil set has no
// differences.
func changed(was, is map[string]string) []Difference {
	return lists.Map(compare.Differing(was, is), func(p compare.Property) Difference {
		return Difference{What: p.Path, Is: p.Values[1], Was: p.Values[0]}
	})
}

func factsOf(j *journal.Run) facts {
	design := compare.DesignOf(j.Plan)
	f := facts{environment: j.Environment, design: map[string]string{"confidence": design["confidence"]}}
	var arms []string
	for _, a := range j.Plan.Arms {
		if a.Role != experiment.Control {
			arms = append(arms, a.Name)
		}
	}
	f.design["arms"] = strings.Join(arms, ", ")
	if j.Plan.Import == nil { // left out for an import: there the number of rounds is just the number of files
		for _, name := range []string{"rounds", "slices", "looks", "precision"} {
			if v := design[name]; v != "none" {
				f.design[name] = v
			}
		}
		return f
	}
	for _, a := range j.Plan.Import.Arms {
		for name, values := range a.Facts {
			if f.imported == nil {
				f.imported = map[string]string{}
			}
			if len(j.Plan.Import.Arms) > 1 {
				name += " of " + a.Name
			}
			f.imported[name] = strings.Join(values, ", ")
		}
	}
	return f
}

// recordEvents records in every run which facts have changed. It compares a fact with the last earlier run that has
// facts of this kind.
func recordEvents(runs []*Run) {
	var last facts
	for _, r := range runs {
		f := r.facts
		f.environment = cmp.Or(f.environment, last.environment)
		if f.imported == nil {
			f.imported = last.imported
		}
		var moved []Difference
		for _, p := range machine.Properties(last.environment, f.environment) {
			if last.environment != nil && !p.Same() {
				moved = append(moved, Difference{What: p.Name, Is: p.Values[1], Was: p.Values[0], Machine: true})
			}
		}
		r.Events = slices.Concat(moved, changed(last.imported, f.imported), changed(last.design, f.design))
		last = f
	}
}
