package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/analysis"
	"tare/wording"
)

// warnings are the warnings of comparisons, each once: of headline metrics, with
// those of the run before them, or of exploratory metrics.
func (s *sheet) warnings(headline bool) []string {
	var list []string
	seen := map[string]bool{}
	add := func(text string, parts ...string) {
		text = join(": ", join(", ", plainAll(parts)...), brief(text))
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	for _, w := range s.run.Warnings {
		if headline != w.Exploratory {
			add(wording.Finding(w.Finding), w.Arm, w.Metric, w.Cell)
		}
	}
	for _, g := range s.groups(headline) {
		for _, c := range g.lines() {
			if c.Verdict == analysis.Invalid {
				continue // told beside the verdict
			}
			for _, w := range wording.Findings(c.Warnings) {
				add(w, c.Arm, c.Metric.Name, c.Cell)
			}
		}
	}
	return list
}

// rules are the rules in a count, the most frequent first.
func rules(by map[string]int) []string {
	return slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], strings.Compare(a, b)) })
}
