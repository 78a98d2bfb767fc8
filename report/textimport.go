package report

import (
	"fmt"

	"tare/wording"
)

// importedState says where the trials are from and how many gave data.
func (t *terminal) importedState() {
	s, r := t.sheet, t.sheet.run
	t.para("", fmt.Sprintf("imported from %s, %s of %s valid", s.tool(),
		wording.Number(float64(r.Trials.Valid), 9), wording.Count(r.Trials.Planned, "trial", "trials")))
	for _, a := range s.sources() {
		t.para("  - ", a.Key+": "+a.Value)
	}
	if len(r.Controls) > 0 {
		t.para("", s.controlLine())
	}
}

// mostFiles is how many invalid files a terminal lists.
const mostFiles = 12

// invalidFiles lists the files that gave no data, by name and reason.
func (t *terminal) invalidFiles() {
	if !t.sheet.imported() {
		return
	}
	for i, f := range t.sheet.invalidFiles() {
		if i == mostFiles {
			t.para("  - ", fmt.Sprintf("%s more; the report lists them", wording.Count(len(t.sheet.invalidFiles())-i, "file", "files")))
			return
		}
		t.para("  - ", f.text())
	}
}
