package analysis

import (
	"slices"

	"tare/experiment"
)

// UnlikeSetting is a setting of the workload that the files of two arms do not share: they measured different work.
type UnlikeSetting struct {
	Name     string   `json:"name"`
	Baseline []string `json:"baseline"` // its values in the baseline's files, or those of the arm in its place; more than one: they differ there
	Arm      []string `json:"arm"`
}

// settingsOf gives the settings that are not the same in all files of a cell, by cell, but for those that the import
// says do not matter.
func settingsOf(plan *experiment.Plan) map[string][]experiment.ImportedSetting {
	by := map[string][]experiment.ImportedSetting{}
	if plan.Import == nil {
		return by
	}
	for _, s := range plan.Import.Settings {
		if !slices.Contains(plan.Import.Allowed, s.Name) {
			by[s.Cell] = append(by[s.Cell], s)
		}
	}
	return by
}

// unlike are the settings by which arm a and arm b measured different work in a cell; nil: none. Values of files of one
// arm that differ among themselves are of different work as well.
func (t *table) unlike(c, a, b int) (list []UnlikeSetting) {
	for _, s := range t.settings[t.plan.Cells[c].ID] {
		arm, base := s.Arms[t.plan.Arms[a].Name], s.Arms[t.plan.Arms[b].Name]
		if len(arm) > 0 && len(base) > 0 && (len(arm) > 1 || len(base) > 1 || arm[0] != base[0]) {
			list = append(list, UnlikeSetting{Name: s.Name, Baseline: base, Arm: arm})
		}
	}
	return list
}
