package importer

import (
	"slices"

	"tare/experiment"
)

// imported is the name of the only arm where nothing names one.
const imported = "imported"

// arms are the arms of an import by name, in the order in which they were given or
// first appeared in a file.
type arms struct{ ordered[string, arm] }

type arm struct {
	name   string
	index  int
	from   []string
	files  int
	rounds map[int]bool
	last   int                  // largest round
	cells  map[int]map[int]bool // indices of those that it was measured in, with the rounds where these pair
	file   map[int]bool         // cells of the file that is being read
	groups map[string]*group    // of its files, by what their paths tell
	facts  map[string][]string
}

func (l *arms) named(name string) *arm {
	return l.get(name, func() *arm {
		return &arm{name: name, index: len(l.list), rounds: map[int]bool{}, cells: map[int]map[int]bool{}, file: map[int]bool{}, groups: map[string]*group{}, facts: map[string][]string{}}
	})
}

// inOrder gives the arms as they stand in the plan: the baseline, the control,
// the treatments.
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

// next is a round that the arm has not had.
func (a *arm) next() int {
	a.last++
	return a.last
}

// Bounds on facts, which a hostile file could give without end.
const (
	mostFacts      = 100 // names
	mostFactValues = 20  // of a name; most have one
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
