package report

import (
	"cmp"
	"fmt"
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
func (s *sheet) tool() string { return cmp.Or(plain(s.plan.Import.Tool), "files") }

// observes says whether a verdict, or "" for several, is a claim of a run that is
// no experiment.
func (s *sheet) observes(v analysis.Verdict) bool { return s.run.Observation != nil && v.Claims() }

// observed says whether a comparison claims what no experiment has shown.
func observed(c analysis.Comparison) bool { return wording.ObservationalClaim(&c) }

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
	var list []doc.Fact
	for _, a := range s.plan.Import.Arms {
		text := wording.Count(a.Files, "file", "files") +
			when(len(a.From) > 0, " from "+enumerate(plainAll(a.From), 4, "places")) +
			when(s.role(a.Name) == experiment.Baseline, "; the baseline")
		list = append(list, doc.Fact{Key: plain(a.Name), Value: text})
	}
	return list
}

func (s *sheet) files() (n int) {
	for _, a := range s.plan.Import.Arms {
		n += a.Files
	}
	return n
}

// invalidFiles are the files of invalid trials with what each did wrong, in the
// order of the run.
func (s *sheet) invalidFiles() []string {
	type key struct{ arm, file string }
	var order []key
	texts, trials := map[key]string{}, map[key]int{}
	for _, t := range s.run.Invalids {
		name, reason := reasonOf(t)
		k := key{t.Arm, cmp.Or(t.Source, t.Raw, reason)}
		trials[k]++
		if trials[k] == 1 {
			order = append(order, k)
			texts[k] = cmp.Or(name, plain(t.Arm)) + ": " + reason
		}
	}
	list := make([]string, len(order))
	for i, k := range order {
		list[i] = texts[k] + when(trials[k] > 1, fmt.Sprintf(" (first of %d trials)", trials[k]))
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

// aside is what a reader must know of one comparison beside its verdict: how many
// times as much the arm costs where that is a multiple, which
// interval equivalence rests on where the one shown reaches further, and what the
// verdict would be with the trials that had failed operations; "" for neither.
func (s *sheet) aside(c analysis.Comparison) string {
	other := ""
	if c.WithInvalid != nil {
		other = brief(wording.AlternativeText(c.WithInvalid))
	}
	factor := when(c.Verdict == analysis.Costs, wording.Factor(&c))
	if c.Metric.Objective != "" && c.Verdict.Claims() && !c.Control {
		factor = brief(wording.Effect(&c))
	}
	return join("; ", factor, wording.MeanIfDifferent(&c), wording.BetweenSetUps(&c),
		when(c.Verdict == analysis.Equivalent, wording.Inner(&c)), other)
}

// valueCount is how many values a comparison rests on.
func valueCount(c analysis.Comparison) string {
	if !c.Paired && c.Baseline.N != c.Treated.N {
		return number(c.Baseline.N) + " and " + number(c.Treated.N)
	}
	return number(c.Rounds)
}

// sampled is the first text where the arms are compared in rounds, else the
// second, for independent samples.
func (s *sheet) sampled(rounds, samples string) string {
	if s.plan.Paired() {
		return rounds
	}
	return samples
}

func (s *sheet) sizeHead() string { return s.sampled("rounds", "values per arm") }

// importedTrials says how much of what was imported gave data.
func (s *sheet) importedTrials() string {
	bad, failed := s.spoiltTrials(), s.failedTrials()
	return fmt.Sprintf("Imported from %s of %s: %s gave data", wording.Count(s.files(), "file", "files"), s.tool(),
		s.validOf("trial", "trials")) +
		when(failed > 0, "; in "+wording.Count(failed, "trial", "trials")+" more operations failed than the limit allows") +
		when(bad > 0, "; "+wording.Count(bad, "trial was", "trials were")+" invalid by rule") +
		s.sampled(". Trials of the same round are compared as pairs", "") + "."
}
