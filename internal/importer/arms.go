package importer

import (
	"slices"

	"tare/internal/experiment"
)

// imported is the name of the only arm of an import that names none.
const imported = "imported"

// arms holds the arms of an import by name, in the order in which the command line or the files first name
// them.
type arms struct{ ordered[string, arm] }

type arm struct {
	name   string
	index  int
	from   []string
	files  int
	rounds map[int]bool
	last   int                  // the largest number of a round that the arm has
	cells  map[int]map[int]bool // the rounds that have a trial of the arm, by the index of the cell; filled only if rounds pair trials
	file   map[int]bool         // the cells that the current file has trials in
	groups map[string]*group    // the arm's files, grouped by the cell and the levels that their paths name
	facts  map[string][]string
}

func (l *arms) named(name string) *arm {
	return l.get(name, func() *arm {
		return &arm{name: name, index: len(l.list), rounds: map[int]bool{}, cells: map[int]map[int]bool{}, file: map[int]bool{}, groups: map[string]*group{}, facts: map[string][]string{}}
	})
}

// inOrder returns the arms in the order of the plan: the baseline, the control, the treatments.
func (l *arms) inOrder(baseline string) ([]*arm, error) {
	var names []string
	for _, a := range l.list {
		names = append(names, a.name)
	}
	at := slices.Index(names, baseline)
	switch {
	case baseline == experiment.ControlName:
		return nil, misuse("name the arm that it is a copy of", "%s is the A/A copy of the baseline and cannot be the baseline", baseline)
	case baseline != "" && at < 0:
		return nil, misuse(suggest(baseline, names), "no arm %s to be the baseline", baseline)
	case baseline == "":
		at = slices.IndexFunc(names, func(n string) bool { return n != experiment.ControlName })
	}
	if at < 0 {
		return nil, misuse("name the arm that it is a copy of", "the only arm is %s, the A/A copy of a baseline that is not there", experiment.ControlName)
	}
	list := []*arm{l.list[at]}
	for _, wanted := range []bool{true, false} {
		for i, a := range l.list {
			if i != at && (a.name == experiment.ControlName) == wanted {
				list = append(list, a)
			}
		}
	}
	return list, nil
}

func (a *arm) take(round, cell int, paired bool) {
	a.rounds[round] = true
	a.last = max(a.last, round)
	a.file[cell] = true
	if a.cells[cell] == nil {
		a.cells[cell] = map[int]bool{}
	}
	if paired {
		a.cells[cell][round] = true
	}
}

// next returns the number of a round that the arm has no trial in yet.
func (a *arm) next() int {
	a.last++
	return a.last
}

// Limits on facts, since a hostile file could hold any number of them.
const (
	mostFacts      = 100 // names of facts in a run
	mostFactValues = 20  // values of one fact; most facts have one
)

func (a *arm) learn(facts map[string]string) {
	for name, value := range facts {
		known := a.facts[name]
		if value == "" || slices.Contains(known, value) || len(known) == mostFactValues || len(known) == 0 && len(a.facts) == mostFacts {
			continue
		}
		a.facts[short(name)] = append(known, short(value))
	}
}
