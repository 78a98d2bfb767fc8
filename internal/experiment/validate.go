package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tare/internal/experiment/strictyaml"
)

// validate checks the conditions that types cannot express, and sets the number of rounds.
func (l *loader) validate(x *Experiment) {
	l.design(&x.Design)
	l.arms(x.Arms)
	l.workloads(x.Workloads)
	l.factorial(x)
	l.differ(x.Arms)
	l.whole(x)
}

func (l *loader) design(d *design) {
	rounds, precision := l.file.Has("design.rounds"), l.file.Has("design.precision")
	if rounds && precision {
		l.file.ReportKey("design.precision", "rounds and precision exclude each other",
			"keep rounds for a fixed number, or precision to have the number found by a pilot")
	}
	if !rounds && !precision {
		d.Rounds.Fixed = defaultRounds
	}
	for _, field := range []string{"pilot", "maxRounds"} {
		if at := "design." + field; !precision && l.file.Has(at) {
			l.file.ReportKey(at, field+" has no effect without precision", "")
		}
	}
	l.stops(d)
	if d.MaxRounds < d.Pilot {
		at := "design.maxRounds"
		if !l.file.Has(at) {
			at = "design.pilot"
		}
		l.file.ReportAt(at, fmt.Sprintf("maxRounds (%d) is less than the pilot's %d rounds", d.MaxRounds, d.Pilot), "")
	}
}

func (l *loader) arms(arms []Arm) {
	if len(arms) == 0 && l.file.Has("arms") && !l.file.Troubled("arms") {
		l.file.ReportAt("arms", "arms is empty; expected at least one arm",
			"one arm measures the noise against its own copy; a second one is compared with it")
	}
	first := map[string]int{}
	for i, a := range arms {
		at := strictyaml.Index("arms", i)
		name := at + ".name"
		if a.Name == ControlName {
			l.file.ReportAt(name, "the name control is reserved", "Tare adds the arm control itself, as a second copy of the baseline")
		} else if j, taken := first[a.Name]; taken && a.Name != "" {
			l.file.ReportAt(name, fmt.Sprintf("two arms are called %s", a.Name), fmt.Sprintf("the other is arms[%d]", j))
		} else {
			first[a.Name] = i
		}
		l.armLayers(a, at, i == 0)
		l.joint(a, at+".joint")
	}
	if len(arms) > 0 && len(arms[0].Allow) > 0 {
		l.file.ReportKey("arms[0].allow", fmt.Sprintf("%s is the baseline, with which the others are compared", arms[0].Name), "write allow in the arm that may differ, or beside arms for all of them")
	}
}

// armLayers reports an arm that has the same kind of layer twice. It also reports a factor in the baseline, since an
// experiment has only one baseline.
func (l *loader) armLayers(a Arm, at string, baseline bool) {
	seen := map[string]bool{}
	for i, item := range a.Layers {
		at := strictyaml.Index(at+".layers", i)
		if item.Kind != "" && seen[item.Kind] {
			l.file.ReportAt(at, fmt.Sprintf("the layer %s is twice in arm %s", item.Kind, a.Name), "an arm takes each kind of layer once")
		}
		seen[item.Kind] = true
		if !baseline || item.Config == nil {
			continue
		}
		for _, s := range swept(sweeps(item.Config)) {
			l.file.ReportAt(strictyaml.Join(at, item.Kind+"."+s.path),
				fmt.Sprintf("the baseline cannot have several levels of %s", s.name), "give one value; other arms may list several")
		}
	}
}

// joint reports a joint factor that fewer than two layers of the arm have, or of which they have several numbers of
// levels.
func (l *loader) joint(a Arm, at string) {
	for _, name := range a.Joint {
		var kinds []string
		var numbers []int
		for _, item := range a.Layers {
			if item.Config == nil {
				return // reported as a problem of the layer
			}
			for _, s := range swept(sweeps(item.Config)) {
				if s.name == name {
					kinds, numbers = append(kinds, item.Kind), append(numbers, len(s.levels))
				}
			}
		}
		if len(kinds) < 2 {
			l.file.ReportAt(at, fmt.Sprintf("%s of arm %s with several levels of %s; expected at least two", counted(len(kinds), "layer"), a.Name, name),
				"a joint factor is a parameter of two or more layers, each with a list of levels")
			continue
		}
		for i, n := range numbers {
			if n != numbers[0] {
				l.file.ReportAt(at, fmt.Sprintf("%s has %d levels in the layer %s, and %d in the layer %s", name, numbers[0], kinds[0], n, kinds[i]),
					"the layers take their first levels together, then their second: give each layer as many levels")
			}
		}
	}
}

// differ reports each arm that has the same layers as an earlier arm. It reports nothing if the file has another
// problem with its arms.
func (l *loader) differ(arms []Arm) {
	if l.file.Troubled("arms") || slices.ContainsFunc(arms, func(a Arm) bool { return a.variants() > maxTrials }) {
		return
	}
	first := map[string]string{}
	for i, a := range arms {
		for _, v := range armVariants(a) {
			text, err := json.Marshal(v.planned.Layers)
			if err != nil {
				continue
			}
			if other, same := first[string(text)]; same {
				hint := "an arm differs from the others by its layers"
				if i > 0 && other == arms[0].Name {
					hint = "Tare adds a second copy of the baseline itself, as the arm control"
				}
				at := strictyaml.Index("arms", i)
				if a.Factors != nil {
					at = "design.factorial"
				}
				l.file.ReportAt(at, fmt.Sprintf("arm %s has the same layers as arm %s", v.planned.Name, other), hint)
				continue
			}
			first[string(text)] = v.planned.Name
		}
	}
}

func (l *loader) workloads(items []WorkloadItem) {
	if len(items) == 0 && l.file.Has("workloads") && !l.file.Troubled("workloads") {
		l.file.ReportAt("workloads", "workloads is empty; expected at least one workload",
			strictyaml.Suggest("", "known workloads", slices.Sorted(maps.Keys(l.kinds.Workloads))))
	}
	first := map[string]int{}
	for i, w := range items {
		if w.Name == "" {
			continue
		}
		j, taken := first[w.Name]
		if !taken {
			first[w.Name] = i
			continue
		}
		at := strictyaml.Index("workloads", i)
		if l.file.Has(at + ".name") {
			at += ".name"
		}
		l.file.ReportAt(at, fmt.Sprintf("two workloads are called %s", w.Name),
			fmt.Sprintf("the other is workloads[%d]; put a different name beside the kind: {name: %s-2, %s: …}", j, w.Name, w.Kind))
	}
}

// whole checks conditions between parts of the file, such as arms and workloads. It does nothing if one of these parts
// has problems.
func (l *loader) whole(x *Experiment) {
	if l.file.Troubled("arms") || l.file.Troubled("workloads") || l.file.Troubled("testbed") ||
		len(x.Workloads) == 0 || len(x.Arms) == 0 {
		return
	}
	if err := x.tooMany(); err != nil {
		l.file.ReportAt("workloads", err.Error(), "")
		return
	}
	l.possible(x)
	bed := "testbed." + x.Testbed.Name()
	if factors := swept(sweeps(x.Testbed.Level())); len(factors) > 0 && !x.anyNeeds(func(n Needs) bool { return n.Network }) {
		l.file.ReportAt(bed+"."+factors[0].path, fmt.Sprintf("no workload uses the network, so levels of %s change nothing", factors[0].name), "")
	}
	if at := bed + ".nodes"; l.file.Has(at) && !x.anyNeeds(func(n Needs) bool { return n.Members > 1 }) {
		l.file.ReportKey(at, "no workload has a service of several members, so nodes changes nothing", "")
	}
	if at := bed + ".volume"; l.file.Has(at) && !x.anyNeeds(func(n Needs) bool { return n.Volume != nil }) {
		l.file.ReportKey(at, "no workload has a volume in the client's pod, so volume changes nothing", "")
	}
	var e Expansion
	if e.addCells(x); x.Design.Precision > 0 && e.Plan.headlines() == 0 { // without this check, the error would show only after the pilot
		l.file.ReportKey("design.precision", "no workload has a headline metric, so there is no interval to size",
			"make a metric on the scale ratio the headline, or give rounds in place of precision")
	}
	l.sliceable(x, &e)
	l.budgets(x, e.Plan.Cells)
	if x.Published != nil {
		e.addArms(x)
		l.published(x, e.Plan.Arms, e.Plan.Cells)
	}
}

// possible reports layers and workloads that cannot work in this experiment, such as a layer that needs the other
// testbed.
func (l *loader) possible(x *Experiment) {
	bed := x.Testbed.Name()
	check := func(at, what, kind string, d Declaration) {
		if only := d.Needs.Only; only != "" && only != bed {
			l.file.ReportAt(at, fmt.Sprintf("the %s %s needs the testbed %s, and this experiment runs on %s", what, kind, only, bed),
				cmp.Or(d.Elsewhere, fmt.Sprintf("testbed: {%s: {…}}", only)))
		}
	}
	volume := x.anyNeeds(Needs.Volumes)
	for _, w := range l.written(x) {
		d := w.Config.Declare()
		check(w.at, "layer", w.Kind, d)
		if d.Needs.UsesVolume && !volume {
			l.file.ReportAt(w.at, fmt.Sprintf("the layer %s does nothing here: no workload has a volume", w.Kind), "")
		}
		if d.Workload != "" && !slices.ContainsFunc(x.Workloads, func(w WorkloadItem) bool { return w.Kind == d.Workload }) {
			l.file.ReportAt(w.at, fmt.Sprintf("the layer %s does nothing here: there is no workload %s", w.Kind, d.Workload), "")
		}
		if i := slices.IndexFunc(x.Workloads, func(w WorkloadItem) bool { return !w.Config.Declare().Replaceable }); d.Replaces && i >= 0 {
			l.file.ReportAt(w.at, fmt.Sprintf("the layer %s puts another program in place of a workload's, and the workload %s starts none that the file names", w.Kind, x.Workloads[i].Kind), "the workloads command and startup do")
		}
	}
	for i, w := range x.Workloads {
		check(strictyaml.Index("workloads", i), "workload", w.Kind, w.Config.Declare())
	}
}

type writtenLayer struct {
	LayerItem
	at string
}

func (l *loader) written(x *Experiment) (list []writtenLayer) {
	for i, a := range x.Arms {
		for j, item := range a.Layers {
			if a.Factors == nil {
				list = append(list, writtenLayer{item, strictyaml.Index(strictyaml.Index("arms", i)+".layers", j)})
			}
		}
	}
	for i := range x.Design.Factorial {
		for j, item := range x.Design.Factorial[i].Layers {
			list = append(list, writtenLayer{item, l.factorLayer(i, j)})
		}
	}
	return list
}

// anyNeeds reports whether at least one workload has needs with a property, such as the need of a network.
func (x *Experiment) anyNeeds(property func(Needs) bool) bool {
	return slices.ContainsFunc(x.Workloads, func(w WorkloadItem) bool { return property(w.Config.Declare().Needs) })
}
