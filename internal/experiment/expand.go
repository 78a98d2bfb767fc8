package experiment

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
)

// maxTrials is the largest number of trials in one round. A file with more is most likely wrong.
const maxTrials = 10_000

// Expand makes the plan of an experiment that Load accepted. It adds the control, a seed if the file has none, and an
// arm or cell for each combination of levels. The result shares no memory with x.
func Expand(x *Experiment, version string) (*Expansion, error) {
	if len(x.Arms) == 0 || len(x.Workloads) == 0 {
		return nil, fmt.Errorf("experiment %q needs at least one arm and one workload", x.Name)
	}
	if err := x.tooMany(); err != nil {
		return nil, err
	}
	d := x.Design
	plan := Plan{
		Schema: PlanSchema, Version: version,
		Name: x.Name, Description: x.Description, Testbed: x.Testbed.Name(),
		Rounds: max(d.Rounds.Fixed, d.Rounds.AtMost), DecideAt: clone(d.Looks), Confidence: d.Confidence, Equivalence: d.Equivalence,
		Margins: clone(d.Margins), Power: d.Power, SetUps: d.SetUps, Slices: d.Slices, Attempts: d.Attempts, Limits: clone(x.Limits), Budget: clone(x.Budget),
		Busy: x.busy, Published: clone(x.Published),
	}
	if d.Precision > 0 {
		plan.Rounds, plan.Precision, plan.MaxRounds = d.Pilot, d.Precision, d.MaxRounds
	}
	for _, f := range d.Factorial {
		plan.Factorial = append(plan.Factorial, f.Name)
	}
	plan.Seed = uint64(rand.Uint32()) // a seed of 32 bits is short to type, and every reader of JSON reads it exactly
	if d.Seed != nil {
		plan.Seed = *d.Seed
	}
	e := &Expansion{Plan: plan}
	e.addArms(x)
	e.addCells(x)
	return e, nil
}

func (x *Experiment) tooMany() error {
	arms := 1 // the control
	for _, a := range x.Arms {
		arms += a.variants()
	}
	cells := 0
	for _, w := range x.Workloads {
		n := variants(sweeps(w.Config))
		if w.Config.Declare().Needs.Network {
			n *= variants(sweeps(x.Testbed.Level()))
		}
		cells += min(n, maxTrials+1)
	}
	arms, cells = min(arms, maxTrials+1), min(cells, maxTrials+1)
	if arms*cells > maxTrials {
		return fmt.Errorf("one round would have more than %d trials (%s in %s); shorten the lists of levels",
			maxTrials, counted(arms, "arm"), counted(cells, "cell"))
	}
	return nil
}

// variants returns the number of combinations of the levels of an arm's layers, but at most maxTrials+1.
func (a Arm) variants() int {
	n, counted := 1, map[string]bool{}
	for _, l := range a.Layers {
		n = min(n*variants(slices.DeleteFunc(sweeps(l.Config), func(s sweep) bool {
			again := counted[s.name]
			counted[s.name] = a.joint(s)
			return again
		})), maxTrials+1)
	}
	return n
}

// joint reports whether layers of the arm take the factor's levels together.
func (a Arm) joint(s sweep) bool { return slices.Contains(a.Joint, s.name) }

func counted(n int, what string) string {
	switch {
	case n > maxTrials:
		return fmt.Sprintf("over %d %ss", maxTrials, what)
	case n == 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (e *Expansion) addArms(x *Experiment) {
	for i, a := range x.Arms {
		for _, v := range armVariants(a) {
			v.planned.Role, v.planned.Budget, v.planned.Factors = Treatment, clone(a.Budget), clone(a.Factors)
			v.planned.Allow, v.planned.OtherProgram = allowed(x, a), replaces(x.Arms[0], a)
			if i == 0 {
				v.planned.Role = Baseline
			}
			e.addArm(v)
		}
		if i == 0 {
			control := armVariants(a)[0]
			control.planned.Name, control.planned.Label, control.planned.Role = ControlName, "", Control
			e.addArm(control)
		}
	}
	e.Plan.SpareControl()
}

func (e *Expansion) addArm(v armVariant) {
	e.Plan.Arms = append(e.Plan.Arms, v.planned)
	e.Layers = append(e.Layers, v.layers)
}

// armVariant is an arm at one level of each of its factors.
type armVariant struct {
	planned PlannedArm
	layers  []LayerItem
	joint   map[string]int // the places of levels of joint factors, by factor
}

// armVariants returns an arm for each combination of its levels. The levels of the last factor of the last layer change
// fastest. A joint factor has its first level in all layers, then its second, and so on.
func armVariants(a Arm) []armVariant {
	variants := []armVariant{{planned: PlannedArm{Name: a.Name, Label: a.Label, Layers: []PlannedLayer{}}, joint: map[string]int{}}}
	names := armFactorNames(a)
	for i, item := range a.Layers {
		factors := swept(sweeps(item.Config))
		var next []armVariant
		for _, v := range variants {
			combinations(factors, func(levels []int) {
				config := clone(item.Config)
				chosen := append([]factor.Level(nil), v.planned.Levels...)
				joint := maps.Clone(v.joint)
				for k, s := range factors {
					s.hold(config, levels[k])
					if place, held := v.joint[s.name]; held && place != levels[k] {
						return
					} else if held {
						continue // the first layer with the factor has set the level
					}
					if a.joint(s) {
						joint[s.name] = levels[k]
					}
					chosen = append(chosen, factor.Level{Factor: names[i][k], Value: s.levels[levels[k]]})
				}
				planned := PlannedLayer{Kind: item.Kind, Config: strictyaml.Plain(config)}
				next = append(next, armVariant{
					joint:   joint,
					planned: PlannedArm{Name: a.Name, Label: a.Label, Levels: chosen, Layers: append(v.planned.Layers[:len(v.planned.Layers):len(v.planned.Layers)], planned)},
					layers:  append(clone(v.layers), LayerItem{Kind: item.Kind, Config: config}),
				})
			})
		}
		variants = next
	}
	taken := map[string]bool{}
	for i := range variants {
		variants[i].planned.Name = unique(armName(a.Name, variants[i].planned.Levels), taken)
	}
	return variants
}

// armFactorNames returns the names of each layer's factors, such as "rules". If two layers have a factor of this name,
// the name is "seccomp.rules".
func armFactorNames(a Arm) [][]string {
	count := map[string]int{}
	names := make([][]string, len(a.Layers))
	for i, item := range a.Layers {
		for _, s := range swept(sweeps(item.Config)) {
			names[i] = append(names[i], s.name)
			if !a.joint(s) {
				count[s.name]++
			}
		}
	}
	for i, item := range a.Layers {
		for k, name := range names[i] {
			if count[name] > 1 {
				names[i][k] = item.Kind + "." + name
			}
		}
	}
	return names
}

// addCells adds the cells of all workloads. The testbed's levels change fastest. A workload without network gets only
// the testbed's first levels.
func (e *Expansion) addCells(x *Experiment) {
	taken := map[string]bool{}
	for _, item := range x.Workloads {
		own, bed := swept(sweeps(item.Config)), swept(sweeps(x.Testbed.Level()))
		if !item.Config.Declare().Needs.Network {
			bed = nil
		}
		both := append(append([]sweep(nil), own...), bed...)
		combinations(both, func(levels []int) {
			config, testbed := clone(item.Config), clone(x.Testbed)
			if l := testbed.Local; l != nil && len(l.Link.Rate) == 0 {
				l.Link.Rate = factor.Of[quantity.Rate](1e9) // 1 Gbit/s, the rate of a small server
				if item.Config.Declare().Tests == TestsServer {
					l.Link.Rate = factor.Of[quantity.Rate](0) // unlimited
				}
			}
			var chosen []factor.Level
			for k, s := range both {
				if k < len(own) {
					s.hold(config, levels[k])
				} else {
					s.hold(testbed.Level(), levels[k])
				}
				chosen = append(chosen, s.held(levels[k]))
			}
			for _, s := range sweeps(testbed.Level()) { // the testbed's other factors have no effect here: their first levels are used
				s.hold(testbed.Level(), 0)
			}
			m := config.Measures()
			n := x.slicing().of(m)
			m = m.Cut(n)
			metrics := append(m.All(), testbed.metrics(m)...)
			if x.busy != "" {
				m.judgeCPU(metrics)
			}
			e.Plan.Cells = append(e.Plan.Cells, Cell{
				ID:       unique(cellID(item.Name, own, bed, levels), taken),
				Workload: item.Name, Label: item.Label, Kind: item.Kind, Levels: chosen,
				Config: strictyaml.Plain(config), Testbed: strictyaml.Plain(testbed.Level()),
				Metrics: metrics, Tests: config.Declare().Tests, Loop: m.Loop, PowerLaw: m.PowerLaw, Remark: m.Remark, Slices: n, Expected: m.Expected,
			})
			e.Cells = append(e.Cells, CellSetup{Workload: config, Testbed: testbed})
		})
	}
}

// maxName is the longest name of an arm or cell, in bytes. The name of one directory of a run may contain several names.
const maxName = 100

// cellID names a cell by its workload, then levels of the workload and testbed: "network.tcp.pod-to-pod.mtu=8896".
func cellID(workload string, own, bed []sweep, levels []int) string {
	parts := []string{workload}
	for k, s := range own {
		if value := s.levels[levels[k]]; speaking(value, k, own) {
			parts = append(parts, value)
		} else {
			parts = append(parts, s.held(levels[k]).String())
		}
	}
	for k, s := range bed {
		parts = append(parts, s.held(levels[len(own)+k]).String())
	}
	return FileName(strings.Join(parts, "."))
}

// speaking reports whether a level is clear without its factor's name. It begins with a letter, is no boolean, and is
// no level of another factor.
func speaking(value string, k int, factors []sweep) bool {
	if value == "" || !letter(value[0]) || value == "true" || value == "false" {
		return false
	}
	for other, s := range factors {
		if other != k && slices.Contains(s.levels, value) {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// armName returns the name of an arm at its levels: "seccomp[rules=8]".
func armName(arm string, levels []factor.Level) string {
	if len(levels) == 0 {
		return arm
	}
	parts := make([]string, len(levels))
	for i, l := range levels {
		parts[i] = l.String()
	}
	return FileName(arm + "[" + strings.Join(parts, ",") + "]")
}

// FileName makes a file name of a text. It replaces characters that file names cannot have. A long text is shortened to
// its beginning and a hash.
func FileName(s string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (letter(byte(r)) || r >= '0' && r <= '9' || strings.ContainsRune(".,=[]%+-_", r)) {
			return r
		}
		return '_'
	}, s)
	if len(safe) <= maxName {
		return safe
	}
	hash := fnv.New32a()
	hash.Write([]byte(s))
	return fmt.Sprintf("%s~%08x", safe[:maxName-9], hash.Sum32())
}

// unique returns the name, with a number added if another one has this name. Two names can be equal only if characters
// in them were replaced.
func unique(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s~%d", name, n)
	}
	taken[free] = true
	return free
}
