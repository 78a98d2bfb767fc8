package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
)

// load holds the values of the format's settings, in its order, that trials of an arm had.
type load struct {
	arm    string
	values []string
}

// mostLoads limits the number of loads that are kept for a cell whose files all differ.
const mostLoads = 50

// learn records the settings of a trial. A broken trial is ignored.
func (c *importedCell) learn(arm string, settings []Setting, t *Trial) {
	if len(settings) == 0 || t.Broken != "" || len(c.loads) == mostLoads {
		return
	}
	values := make([]string, len(settings))
	for i, s := range settings {
		values[i] = short(cmp.Or(t.Facts[s.Name], s.Default))
	}
	if !slices.ContainsFunc(c.loads, func(l load) bool { return l.arm == arm && slices.Equal(l.values, values) }) {
		c.loads = append(c.loads, load{arm, values})
	}
}

// settings lists the settings that differ between the files of a cell.
func (r *run) settings() (list []experiment.ImportedSetting) {
	for _, c := range r.cells.list {
		for i, s := range r.Format.Settings {
			arms, varies := map[string][]string{}, false
			for _, l := range c.loads {
				v := l.values[i]
				varies = varies || v != c.loads[0].values[i]
				if !slices.Contains(arms[l.arm], v) {
					arms[l.arm] = append(arms[l.arm], v)
				}
			}
			if varies {
				list = append(list, experiment.ImportedSetting{Cell: c.ID, Name: s.Name, Arms: arms})
			}
		}
	}
	return list
}

// parameters returns the settings that all files of the cell share, without those at the tool's default. They
// correspond to the parameters of a workload: runs with different ones are not runs of one experiment. nil:
// there are none.
func (c *importedCell) parameters(settings []Setting) any {
	shared := map[string]string{}
	for i, s := range settings {
		of := func(l load) string { return l.values[i] }
		if len(c.loads) > 0 && of(c.loads[0]) != s.Default && !slices.ContainsFunc(c.loads, func(l load) bool { return of(l) != of(c.loads[0]) }) {
			shared[s.Name] = of(c.loads[0])
		}
	}
	if len(shared) == 0 {
		return nil
	}
	return shared
}

// remarkSettings adds a remark for each setting that keeps arms from being compared.
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
		r.remark("files of %s differ in %s (%s): results with different settings are not compared; --allow %s compares them nevertheless",
			where, s.Name, strings.Join(values, ", "), shellName(s.Name))
	}
}

// shellName returns the name of a setting, quoted for a shell if necessary.
func shellName(name string) string {
	if strings.Contains(name, " ") {
		return "'" + name + "'"
	}
	return name
}

// checkAllowed returns an error for a name that is no setting of the format.
func checkAllowed(names []string, f Format) error {
	var known []string
	for _, s := range f.Settings {
		known = append(known, s.Name)
	}
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
