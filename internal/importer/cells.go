package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
	"tare/internal/lists"
)

// cells holds the cells that have a trial, by their names in the files.
type cells struct {
	ordered[string, importedCell]
	ids     map[string]bool // the ids in use
	metrics int             // the number of metrics, added up over all cells
}

// mostComparisons is the largest number of metrics in all cells, times the treatments. With more, names that vary from
// file to file probably became cells.
const mostComparisons = 10_000

type importedCell struct {
	experiment.Cell
	index   int
	trials  int // the number of trials that were not broken
	metrics ordered[string, counted]
	loads   []load // the loads of the cell's trials, each once
}

type counted struct {
	experiment.Metric
	trials int
}

func (c *cells) named(t *Trial) *importedCell {
	return c.get(t.Cell, func() *importedCell {
		return &importedCell{index: len(c.list), Cell: experiment.Cell{ID: c.id(t.Cell), Workload: workloadOf(t), Kind: t.Kind, Levels: t.Levels}}
	})
}

// workloadOf names the workload of a trial's cell: the cell's name without its levels. If the name contains no levels,
// it is the kind of workload.
func workloadOf(t *Trial) string {
	name := t.Cell
	for _, l := range t.Levels {
		for _, separator := range []string{".", "/"} {
			if before, after, ok := strings.Cut(name, separator+l.String()); ok {
				name = before + after
				break
			}
		}
	}
	if name == t.Cell || name == "" {
		return t.Kind
	}
	return name
}

// id returns a unique ID for a cell's name, which can be a part of file names.
func (c *cells) id(name string) string {
	// an id must not begin like a hidden file (".") or like a flag ("-")
	name = strings.NewReplacer("[", "_", "]", "_").Replace(strings.TrimLeft(name, ".-"))
	id := cmp.Or(experiment.FileName(name), "_")
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	free := id
	for n := 2; c.ids[free]; n++ {
		free = fmt.Sprintf("%s+%d", id, n)
	}
	c.ids[free] = true
	return free
}

// take counts a trial's metrics in its cell. conflict says which level, kind or metric contradicts earlier trials of
// the cell; "": none.
func (all *cells) take(c *importedCell, t *Trial) (conflict string) {
	before := len(c.metrics.list)
	defer func() { all.metrics += len(c.metrics.list) - before }()
	if t.Broken == "" {
		c.trials++
	}
	switch {
	case t.Loop == nil:
	case c.Loop == nil:
		c.Loop = new(*t.Loop)
	case c.Loop.Workers != t.Loop.Workers: // files differ in their numbers of workers, so the cell has none
		c.Loop.Workers = 0
	}
	if !slices.Equal(c.Levels, t.Levels) || c.Kind != t.Kind {
		conflict = fmt.Sprintf("%s is something else here (%s %v) than in the files before (%s %v)", t.Cell, t.Kind, t.Levels, c.Kind, c.Levels)
	}
	for _, v := range t.Values {
		m := c.metrics.get(v.Metric.Name, func() *counted { return &counted{Metric: v.Metric} })
		if m.Unit != v.Metric.Unit || m.Better != v.Metric.Better || m.Scale != v.Metric.Scale {
			conflict = cmp.Or(conflict, fmt.Sprintf("%s is described otherwise here (%s) than in the files before (%s)",
				m.Name, describe(v.Metric), describe(m.Metric)))
			continue
		}
		if t.Broken == "" {
			m.trials++
		}
	}
	return conflict
}

func describe(m experiment.Metric) string {
	return fmt.Sprintf("%s, %s is better, %s", cmp.Or(m.Unit, "no unit"), m.Better, m.Scale)
}

// plan returns the cells in the form of the plan. A metric is optional if some trials of its cell have no value
// of it.
func (c *cells) plan(settings []Setting) []experiment.Cell {
	list := make([]experiment.Cell, len(c.list))
	for i, cell := range c.list {
		cell.Metrics = make([]experiment.Metric, len(cell.metrics.list))
		for k, m := range cell.metrics.list {
			m.Optional = m.trials < cell.trials
			cell.Metrics[k] = m.Metric
		}
		cell.Config = cell.parameters(settings)
		list[i] = cell.Cell
	}
	return list
}

// headline makes the named metrics the headlines, instead of those that the format marks. A name is METRIC for all
// cells, or CELL:METRIC for one cell.
func (c *cells) headline(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var known []string
	found := map[string]bool{}
	for _, cell := range c.list {
		for _, m := range cell.metrics.list {
			both := cell.ID + ":" + m.Name
			known = append(known, m.Name, both)
			m.Headline = false
			for _, name := range names {
				if name != m.Name && name != both {
					continue
				}
				if m.Scale == experiment.Difference {
					return misuse("a metric whose zero is a real value has no share of the baseline", "%s cannot be a headline: it is compared by differences", name)
				}
				m.Headline, found[name] = true, true
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			slices.Sort(known)
			return misuse(suggest(name, slices.Compact(known)), "no metric %s in the files", name)
		}
	}
	return nil
}

// suggest returns the hint for an unknown name: the most similar known name, or the first few known names.
func suggest(name string, known []string) string {
	if near := strictyaml.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + Few(12, known)
}

// imported is the name of an import's only arm, if the user gives it none.
const imported = "imported"

// arms holds the arms of an import by name, in the order in which the command line or the files first name them.
type arms struct{ ordered[string, arm] }

type arm struct {
	name   string
	index  int
	from   []string
	files  int
	rounds map[int]bool
	last   int                  // the largest round number of the arm
	cells  map[int]map[int]bool // for paired trials only; by index of the cell: the rounds in which the arm has a trial
	file   map[int]bool         // indices of the cells of the file that is being read
	groups map[string]*group    // the arm's files, in groups with equal cells and levels in their paths
	facts  map[string][]string
}

func (l *arms) named(name string) *arm {
	return l.get(name, func() *arm {
		return &arm{name: name, index: len(l.list), rounds: map[int]bool{}, cells: map[int]map[int]bool{}, file: map[int]bool{}, groups: map[string]*group{}, facts: map[string][]string{}}
	})
}

// inOrder returns the arms in the order of the plan: the baseline, the control, the treatments.
func (l *arms) inOrder(baseline string) ([]*arm, error) {
	names := lists.Map(l.list, func(a *arm) string { return a.name })
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

func (a *arm) next() int {
	a.last++
	return a.last
}

// Limits on facts, since a hostile file could hold any number of them.
const (
	mostFacts      = 100 // the largest number of facts of an arm
	mostFactValues = 20  // the largest number of values of one fact; most facts have one value
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

// ordered is a map that keeps the order in which its keys were added.
type ordered[K comparable, V any] struct {
	list []*V
	of   map[K]*V
}

// get returns the value of a key. A new key gets the result of the function new as its value.
func (o *ordered[K, V]) get(key K, new func() *V) *V {
	v, ok := o.of[key]
	if !ok {
		if o.of == nil {
			o.of = map[K]*V{}
		}
		v = new()
		o.of[key] = v
		o.list = append(o.list, v)
	}
	return v
}
