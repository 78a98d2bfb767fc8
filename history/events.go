package history

import (
	"strconv"
	"strings"

	"tare/experiment"
	"tare/journal"
	"tare/machine"
)

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
				r.Events = append(r.Events, machines(last.environment, f.environment)...)
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

// machines says in what two machines differ.
func machines(was, is *machine.Environment) []Difference {
	var list []Difference
	for _, p := range machine.Properties(was, is) {
		if !p.Same() {
			list = append(list, Difference{What: p.Name, Is: p.Values[1], Was: p.Values[0], Machine: true})
		}
	}
	return list
}
