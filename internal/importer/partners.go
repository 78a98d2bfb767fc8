package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/lists"
)

// comparable returns an error if no arm shares a cell with the baseline. It returns nil if an arm has no cells, since
// none of its files could be read.
func (r *run) comparable(arms []*arm) error {
	if len(arms) < 2 {
		return nil
	}
	base := arms[0]
	for _, a := range arms[1:] {
		if len(a.cells) == 0 || len(base.cells) == 0 || len(without(a.cells, base.cells)) < len(a.cells) {
			return nil
		}
	}
	hint := "a cell must have the same name in the files of two arms to be compared"
	if r.Format.OneName != "" {
		hint += ": " + r.Format.OneName
	}
	cell := func(i int) string { return r.cells.list[i].ID }
	return &DataError{hinted{fmt.Errorf("nothing to compare: %s has no cell in common with another arm (%s has %s, %s has %s)",
		base.name, base.name, firstFew(base.cells, cell), arms[1].name, firstFew(arms[1].cells, cell)), hint}}
}

// partners adds remarks on rounds with a trial in only one of two arms: no comparison uses this trial. If no trial has
// a partner, it returns an error.
func (r *run) partners(arms []*arm) error {
	if r.PairBy.how == "" || len(arms) < 2 {
		return nil
	}
	base, other := arms[0], arms[1]
	paired := 0
	for _, a := range arms[1:] {
		for k, rounds := range a.cells {
			paired += len(rounds) - len(without(rounds, base.cells[k]))
		}
		r.remarkUnpaired(a, base)
		r.remarkUnpaired(base, a)
	}
	if paired > 0 {
		return nil
	}
	if r.Layout != nil && r.Layout.blocks != nil {
		return misuse("a block has files of the baseline and of another arm", "no block has %s and another arm (%s has %s, %s has %s)",
			base.name, base.name, firstFew(base.rounds, r.label), other.name, firstFew(other.rounds, r.label))
	}
	first := func(a *arm) string { return r.label(slices.Min(slices.Collect(maps.Keys(a.rounds)))) }
	return misuse("without --pair-by the trials are independent samples", "nothing pairs by %s: %s has no round in common with another arm (%s has %s, %s has %s)",
		r.PairBy, base.name, base.name, first(base), other.name, first(other))
}

// remarkUnpaired adds up to two remarks on rounds of arm a that the other arm lacks: in all cells, or in some cell that
// both arms have.
func (r *run) remarkUnpaired(a, other *arm) {
	if rounds := without(a.rounds, other.rounds); len(rounds) > 0 {
		r.remark("%d of the %s of %s have no partner in %s: %s", len(rounds), plural(len(a.rounds), "round"), a.name, other.name, firstFew(rounds, r.label))
	}
	first, lacking := "", 0 // the remark on the first cell that lacks rounds, and the number of these cells
	for k, c := range r.cells.list {
		if a.cells[k] == nil || other.cells[k] == nil {
			continue
		}
		rounds := without(a.cells[k], other.cells[k])
		maps.DeleteFunc(rounds, func(round int, _ bool) bool { return !other.rounds[round] })
		if len(rounds) == 0 {
			continue
		}
		if lacking++; lacking == 1 {
			first = fmt.Sprintf("%s of %s have no partner in %s in %s: %s", plural(len(rounds), "round"), a.name, other.name, c.ID, firstFew(rounds, r.label))
		}
	}
	if lacking > 1 {
		first += "; and so in " + plural(lacking-1, "more cell")
	}
	if lacking > 0 {
		r.remark("%s", first)
	}
}

// without returns the entries of m whose keys are not in the map others.
func without[V, W any](m map[int]V, others map[int]W) map[int]V {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(key int, _ V) bool {
		_, ok := others[key]
		return ok
	})
	return m
}

// label returns the name of a round. If files are paired, it is the text that the round's files have in common, or else
// the round's number.
func (r *run) label(round int) string {
	if !r.PairBy.byFiles() {
		return fmt.Sprint(round)
	}
	return r.rounds.list[round-1].label
}

func firstFew[V any](set map[int]V, name func(int) string) string {
	return Few(3, lists.Map(slices.Sorted(maps.Keys(set)), name))
}

// Few joins names by commas. If there are more names than most, it joins the first ones and adds an ellipsis.
func Few(most int, names []string) string {
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

// load is one combination of values that trials of an arm have for the format's settings. The values are in the order
// of the settings.
type load struct {
	arm    string
	values []string
}

func (c *importedCell) learn(arm string, settings []Setting, t *Trial) {
	const mostLoads = 50 // largest number of different loads that are kept for a cell, since all its files may differ
	if len(settings) == 0 || t.Broken != "" || len(c.loads) == mostLoads {
		return
	}
	values := lists.Map(settings, func(s Setting) string { return short(cmp.Or(t.Facts[s.Name], s.Default)) })
	if !slices.ContainsFunc(c.loads, func(l load) bool { return l.arm == arm && slices.Equal(l.values, values) }) {
		c.loads = append(c.loads, load{arm, values})
	}
}

// setting returns one setting's values in a cell, by arm. index selects the setting; differ is true if two files have
// different values.
func (c *importedCell) setting(index int) (arms map[string][]string, differ bool) {
	arms = map[string][]string{}
	for _, l := range c.loads {
		v := l.values[index]
		differ = differ || v != c.loads[0].values[index]
		if !slices.Contains(arms[l.arm], v) {
			arms[l.arm] = append(arms[l.arm], v)
		}
	}
	return arms, differ
}

// settings lists, for all cells, the settings whose values differ between files of the same cell.
func (r *run) settings() (list []experiment.ImportedSetting) {
	for _, c := range r.cells.list {
		for i, s := range r.Format.Settings {
			if arms, differ := c.setting(i); differ {
				list = append(list, experiment.ImportedSetting{Cell: c.ID, Name: s.Name, Arms: arms})
			}
		}
	}
	return list
}

// parameters returns the settings for a cell's plan: those with one value in all its files, other than the tool's
// default. nil: none.
func (c *importedCell) parameters(settings []Setting) any {
	all := map[string]string{}
	for i, s := range settings {
		if _, differ := c.setting(i); !differ && len(c.loads) > 0 && c.loads[0].values[i] != s.Default {
			all[s.Name] = c.loads[0].values[i]
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// remarkSettings adds a remark for each setting in which a cell's files differ. Arms that differ are compared only if
// the user allowed it.
func (r *run) remarkSettings(arms []*arm) {
	type setting struct {
		experiment.ImportedSetting
		cells int
	}
	var found ordered[string, setting]
	for _, s := range r.settings() {
		found.get(s.Name, func() *setting { return &setting{ImportedSetting: s} }).cells++
	}
	for _, s := range found.list {
		var values []string
		for _, a := range arms {
			if v := s.Arms[a.name]; v != nil {
				values = append(values, a.name+": "+strings.Join(v, " and "))
			}
		}
		where := s.Cell
		if s.cells > 1 {
			where = fmt.Sprintf("%s and %s", s.Cell, plural(s.cells-1, "more cell"))
		}
		if slices.Contains(r.Allow, s.Name) {
			r.remark("files of %s differ in %s (%s), which was allowed", where, s.Name, strings.Join(values, ", "))
			continue
		}
		name := s.Name // the setting's name, quoted for a shell if necessary
		if strings.Contains(name, " ") {
			name = "'" + name + "'"
		}
		r.remark("files of %s differ in %s (%s): results with different settings are not compared; --allow %s compares them nevertheless",
			where, s.Name, strings.Join(values, ", "), name)
	}
}

func checkAllowed(names []string, f Format) error {
	known := lists.Map(f.Settings, func(s Setting) string { return s.Name })
	for _, name := range names {
		switch {
		case known == nil:
			return misuse("", "cannot allow %q: files of %s tell no setting of the workload", name, f.Name)
		case !slices.Contains(known, name):
			return misuse(suggest(name, known), "no setting %q of %s", name, f.Name)
		}
	}
	return nil
}
