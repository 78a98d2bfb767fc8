package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/journal"
	doc "tare/report/document"
	"tare/wording"
)

// imported says whether another tool ran the trials.
func (s *sheet) imported() bool { return s.plan.Import != nil }

// tool is the format that an imported run came from.
func (s *sheet) tool() string {
	if !s.imported() {
		return ""
	}
	return cmp.Or(plain(s.plan.Import.Tool), "files")
}

// verdictWord is a comparison's verdict as a word. What is claimed without an
// experiment is marked wherever it stands.
func (s *sheet) verdictWord(c analysis.Comparison) string {
	if s.observes(c.Verdict) || observed(c) {
		return string(c.Verdict) + " " + observedMark
	}
	return string(c.Verdict)
}

// claims says whether a verdict, or "" for several, claims anything.
func claims(v analysis.Verdict) bool { return v != analysis.NotResolved && v != analysis.Invalid }

// observes says whether a verdict, or "" for several, is a claim of a run that is
// no experiment.
func (s *sheet) observes(v analysis.Verdict) bool { return s.run.Observation != nil && claims(v) }

// observed says whether a comparison claims what no experiment has shown.
func observed(c analysis.Comparison) bool { return wording.Observed(&c) }

// observed says why what the run concludes is weaker than an experiment, and what
// that means; "" for an experiment.
func (s *sheet) observed() string {
	if s.run.Observation == nil {
		return ""
	}
	between := "the arms"
	if len(s.plan.Arms) == 1 {
		between = "this run and what it is compared with"
	}
	return fmt.Sprintf("Observational: %s. A difference may come from anything else that differed between %s; no statistics can tell that apart.",
		brief(wording.Observation(s.run.Observation)), between)
}

// sources say where the trials of each arm are from.
func (s *sheet) sources() []doc.Fact {
	if !s.imported() {
		return nil
	}
	var list []doc.Fact
	for _, a := range s.plan.Import.Arms {
		text := wording.Count(a.Files, "file", "files")
		if len(a.From) > 0 {
			text += " from " + enumerate(plainAll(a.From), 4, "places")
		}
		if s.role(a.Name) == experiment.Baseline {
			text += "; the baseline"
		}
		list = append(list, doc.Fact{Key: plain(a.Name), Value: text})
	}
	return list
}

// importedFact is one fact that the files of some arm tell, by arm.
type importedFact struct {
	Name    string
	Values  []string // in the order of the import's arms; "": not told
	Differs bool     // between arms that tell it
}

// armFacts are what files tell of the systems that they were made on, those that
// differ first.
func (s *sheet) armFacts() []importedFact {
	if !s.imported() {
		return nil
	}
	names := map[string]bool{}
	for _, a := range s.plan.Import.Arms {
		for name := range a.Facts {
			names[name] = true
		}
	}
	var list []importedFact
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := importedFact{Name: plain(name)}
		var told []string
		for _, a := range s.plan.Import.Arms {
			values := plainAll(a.Facts[name])
			f.Values = append(f.Values, enumerateFacts(values))
			if len(values) > 0 {
				slices.Sort(values)
				told = append(told, strings.Join(slices.Compact(values), "\n"))
			}
		}
		f.Differs = len(told) > 0 && slices.ContainsFunc(told, func(v string) bool { return v != told[0] })
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b importedFact) int {
		switch {
		case a.Differs == b.Differs:
			return 0
		case a.Differs:
			return -1
		}
		return 1
	})
	return list
}

// enumerateFacts writes the values of a fact, of which there may be one a file.
func enumerateFacts(values []string) string {
	const most = 4
	if len(values) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(values[:most], ", "), len(values)-most)
	}
	return strings.Join(values, ", ")
}

// invalidFile is an imported file with what it did wrong, over all its trials.
type invalidFile struct {
	Arm, Name, Reason string
	Trials            int
}

// invalidFiles are the files of invalid trials, in the order of the run.
func (s *sheet) invalidFiles() []invalidFile {
	type key struct{ arm, file string }
	at := map[key]int{}
	var list []invalidFile
	for _, t := range s.run.Invalids {
		name, reason := reasonOf(t)
		k := key{t.Arm, cmp.Or(t.Source, t.Raw, reason)}
		if i, ok := at[k]; ok {
			list[i].Trials++
			continue
		}
		at[k] = len(list)
		list = append(list, invalidFile{Arm: plain(t.Arm), Name: name, Reason: reason, Trials: 1})
	}
	return list
}

// reasonOf gives an invalid trial's file and what was wrong with it.
func reasonOf(t journal.Trial) (name, reason string) {
	name = cmp.Or(brief(t.Source), plain(t.Raw))
	var details []string
	for _, v := range t.Invalid {
		details = append(details, plain(v.Rule)+": "+brief(v.Detail))
	}
	return name, strings.Join(details, "; ")
}

// text is the file with its reason in a line.
func (f invalidFile) text() string {
	text := cmp.Or(f.Name, f.Arm) + ": " + f.Reason
	if f.Trials > 1 {
		text += fmt.Sprintf(" (first of %d trials)", f.Trials)
	}
	return text
}

// aside is what a reader must know of one comparison beside its verdict: how many
// times as much the arm costs where that is a multiple, which
// interval equivalence rests on where the one shown reaches further, and what the
// verdict would be with the trials that had failed operations; "" for neither.
func (s *sheet) aside(c analysis.Comparison) string {
	var parts []string
	if factor := wording.Factor(&c); factor != "" && c.Verdict == analysis.Costs {
		parts = append(parts, factor)
	}
	if inner := wording.Inner(&c); inner != "" && c.Verdict == analysis.Equivalent {
		parts = append(parts, inner)
	}
	if c.WithInvalid != nil {
		parts = append(parts, brief(wording.AlternativeText(c.WithInvalid)))
	}
	return strings.Join(parts, "; ")
}

// restates names the metric that a group says once more, if any.
func (g group) restates() string {
	for _, c := range g.lines() {
		if c.Restates != "" {
			return plain(c.Restates)
		}
	}
	return ""
}

// loop is the sentence about a cell's closed loop, if it has one.
func (s *sheet) loop(cell string) string {
	for i := range s.run.Cells {
		if c := &s.run.Cells[i]; c.ID == cell && c.Loop != nil {
			return sentence(brief(wording.Loop(c.Loop)))
		}
	}
	return ""
}

// valueCount is how many values a comparison rests on.
func valueCount(c analysis.Comparison) string {
	if !c.Paired && c.Baseline.N != c.Treated.N {
		return wording.Number(float64(c.Baseline.N), 9) + " and " + wording.Number(float64(c.Treated.N), 9)
	}
	return wording.Number(float64(c.Rounds), 9)
}

// sizeHead heads the column of sizes.
func (s *sheet) sizeHead() string {
	if s.plan.Paired() {
		return "Rounds"
	}
	return "Values per arm"
}

// nothingCompared says that there is nothing to compare.
func (s *sheet) nothingCompared() string {
	if s.plan.Paired() {
		return "no complete pairs"
	}
	return "no values of both arms"
}

// rounds is what the comparisons of the run rest on.
func (s *sheet) rounds() string {
	if s.plan.Paired() {
		return "rounds"
	}
	return "values"
}

// importedTrials says how much of what was imported gave data.
func (s *sheet) importedTrials() string {
	t, files := s.run.Trials, 0
	for _, a := range s.plan.Import.Arms {
		files += a.Files
	}
	text := fmt.Sprintf("Imported from %s of %s: %s of %s gave data", wording.Count(files, "file", "files"), s.tool(),
		wording.Number(float64(t.Valid), 9), wording.Count(t.Planned, "trial", "trials"))
	if bad := len(s.run.Invalids); bad > 0 {
		text += "; " + wording.Count(bad, "trial was", "trials were") + " invalid by rule"
	}
	if s.plan.Paired() {
		text += ". Trials of the same round are compared as pairs"
	}
	return text + "."
}

// observedLabel begins the answers of a run that is no experiment.
func (s *sheet) observedLabel(v analysis.Verdict) string {
	if s.observes(v) {
		return "Observational: "
	}
	return ""
}

// restated says that an answer is another one once more.
func (s *sheet) restated(c analysis.Comparison) string {
	if c.Restates == "" {
		return ""
	}
	return " This restates " + plain(c.Restates) + "."
}
