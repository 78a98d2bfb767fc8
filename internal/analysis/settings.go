package analysis

import (
	"slices"

	"tare/internal/experiment"
)

// UnlikeSetting is a setting of the workload that differs between the files of two arms. The two arms
// therefore measured different work.
type UnlikeSetting struct {
	Name     string   `json:"name"`
	Baseline []string `json:"baseline"` // values in the files of the baseline, or of the arm in its place; more than one: these files differ too
	Arm      []string `json:"arm"`
}

// settingsOf returns, by cell, the settings that differ between files of the cell. Settings that the import
// declares irrelevant are left out.
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

// unlike returns the settings that show that arms a and b measured different work in a cell; nil: no
// setting shows it. A setting that differs between the files of one arm counts too.
func (t *table) unlike(c, a, b int) (list []UnlikeSetting) {
	for _, s := range t.settings[t.plan.Cells[c].ID] {
		arm, base := s.Arms[t.plan.Arms[a].Name], s.Arms[t.plan.Arms[b].Name]
		if len(arm) > 0 && len(base) > 0 && (len(arm) > 1 || len(base) > 1 || arm[0] != base[0]) {
			list = append(list, UnlikeSetting{Name: s.Name, Baseline: base, Arm: arm})
		}
	}
	return list
}
