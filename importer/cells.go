package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/experiment"
	"tare/experiment/strictyaml"
)

// cells collects what the files measured: the union over all of them, by their
// names in the files.
type cells struct {
	ordered[string, importedCell]
	ids     map[string]bool // taken
	metrics int             // of all cells
}

// mostComparisons is how many metrics of all cells may be compared with the
// baseline, over all arms. Nobody reads as many: names that differ in every file
// were taken for names of cells.
const mostComparisons = 10_000

// bound refuses more cells, metrics and arms than can be compared.
func (c *cells) bound(arms int) error {
	if c.metrics*max(arms-1, 1) <= mostComparisons {
		return nil
	}
	return misuse("import a part of the files, or see what names the cells: it may be what differs from file to file",
		"more than %d comparisons: %s in %s, of %s", mostComparisons, plural(c.metrics, "metric"), plural(len(c.list), "cell"), plural(arms, "arm"))
}

type importedCell struct {
	experiment.Cell
	index   int
	trials  int // that were not broken
	metrics ordered[string, counted]
	loads   []load // that its trials were measured under, each once
}

// counted is a metric and in how many trials it had a value.
type counted struct {
	experiment.Metric
	trials int
}

func (c *cells) named(t *Trial) *importedCell {
	return c.get(t.Cell, func() *importedCell {
		return &importedCell{index: len(c.list), Cell: experiment.Cell{ID: c.id(t.Cell), Workload: workloadOf(t), Kind: t.Kind, Levels: t.Levels}}
	})
}

// workloadOf names what was measured at all levels: the name of the cell without them, or
// the kind of the workload where the name does not have them.
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

// id makes a name fit for file names, and unique.
func (c *cells) id(name string) string {
	name = strings.NewReplacer("[", "_", "]", "_").Replace(strings.TrimLeft(name, ".-")) // no hidden file, no flag
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

// take counts a trial's metrics into its cell, and says why they do not fit into it;
// empty if they do.
func (c *cells) take(in *importedCell, t *Trial) (conflict string) {
	before := len(in.metrics.list)
	conflict = in.take(t)
	c.metrics += len(in.metrics.list) - before
	return conflict
}

// take is the same of one cell.
func (c *importedCell) take(t *Trial) (conflict string) {
	if t.Broken == "" {
		c.trials++
	}
	switch {
	case t.Loop == nil:
	case c.Loop == nil:
		loop := *t.Loop
		c.Loop = &loop
	case c.Loop.Workers != t.Loop.Workers: // which changes from file to file, and is none of the cell
		c.Loop.Workers = 0
	}
	if !slices.Equal(c.Levels, t.Levels) || c.Kind != t.Kind {
		conflict = fmt.Sprintf("%s is something else here (%s %v) than in the files before (%s %v)", t.Cell, t.Kind, t.Levels, c.Kind, c.Levels)
	}
	for _, v := range t.Values {
		m := c.metrics.get(v.Metric.Name, func() *counted { return &counted{Metric: v.Metric} })
		if m.Unit != v.Metric.Unit || m.Better != v.Metric.Better || m.Scale != v.Metric.Scale {
			if conflict == "" {
				conflict = fmt.Sprintf("%s is described otherwise here (%s) than in the files before (%s)", m.Name, describe(v.Metric), describe(m.Metric))
			}
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

// plan gives the cells as they stand in the plan. A metric that is missing in
// some trials is optional there.
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

// headline makes the named metrics the headline ones, in place of those that the
// format marks. A name is that of a metric, or CELL:METRIC for one cell only.
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

// suggest is the hint for an unknown name: the nearest, or the first few.
func suggest(name string, known []string) string {
	if near := strictyaml.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + Few(12, known)
}
