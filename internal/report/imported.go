package report

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

func (s *sheet) imported() bool { return s.plan.Import != nil }

func (s *sheet) tool() string { return cmp.Or(plain(s.plan.Import.Tool), "files") }

// claimsObservational reports whether the verdict v is a claim and the run is no experiment.
func (s *sheet) claimsObservational(v analysis.Verdict) bool {
	return s.run.Observation != nil && v.Claims()
}

func claimsObservational(c analysis.Comparison) bool { return wording.ObservationalClaim(&c) }

// observationalNotice states why a run is no experiment, and that a difference may have other causes; "" for
// an experiment.
func (s *sheet) observationalNotice() string {
	if s.run.Observation == nil {
		return ""
	}
	between := cmp.Or(when(len(s.plan.Arms) == 1, "this run and the runs it is compared with"), "the arms")
	return fmt.Sprintf("Observational: %s. A difference may come from anything else that differed between %s; no statistics can separate these causes.",
		brief(wording.Observation(s.run.Observation)), between)
}

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

func (s *sheet) invalidFiles() []string {
	type key struct{ arm, file string }
	var keys []key
	texts, trials := map[key]string{}, map[key]int{}
	for _, t := range s.run.Invalids {
		name, reason := reasonOf(t)
		k := key{t.Arm, cmp.Or(t.Source, t.Raw, reason)}
		trials[k]++
		if trials[k] == 1 {
			keys = append(keys, k)
			texts[k] = cmp.Or(name, plain(t.Arm)) + ": " + reason
		}
	}
	return lists.Map(keys, func(k key) string {
		return texts[k] + when(trials[k] > 1, fmt.Sprintf(" (first of %d trials)", trials[k]))
	})
}

func reasonOf(t journal.Trial) (name, reason string) {
	name = cmp.Or(brief(t.Source), plain(t.Raw))
	return name, strings.Join(lists.Map(t.Invalid, func(v journal.Violation) string { return plain(v.Rule) + ": " + brief(v.Detail) }), "; ")
}

func (s *sheet) aside(c analysis.Comparison) string {
	factor := when(c.Verdict == analysis.Costs, wording.Factor(&c))
	if c.Metric.Objective != "" && c.Verdict.Claims() && !c.Control {
		factor = brief(wording.Effect(&c))
	}
	return join("; ", factor, wording.MeanIfDifferent(&c), wording.BetweenSetUps(&c),
		when(c.Verdict == analysis.Equivalent, wording.Inner(&c)), brief(wording.AlternativeText(c.WithInvalid)))
}

func valueCount(c analysis.Comparison) string {
	if !c.Paired && c.Baseline.N != c.Treated.N {
		return number(c.Baseline.N) + " and " + number(c.Treated.N)
	}
	return number(c.Rounds)
}

// sampled returns one of its arguments: rounds if arms are compared in rounds, or samples if arms are
// independent samples.
func (s *sheet) sampled(rounds, samples string) string {
	if s.plan.Paired() {
		return rounds
	}
	return samples
}

func (s *sheet) sizeHead() string { return s.sampled("rounds", "values per arm") }

func (s *sheet) importedTrials() string {
	bad, failed := s.spoiltTrials(), s.failedTrials()
	return fmt.Sprintf("Imported from %s of %s: %s gave data", wording.Count(s.files(), "file", "files"), s.tool(),
		s.validOf("trial", "trials")) +
		when(failed > 0, "; in "+wording.Count(failed, "trial", "trials")+" more operations failed than the limit allows") +
		when(bad > 0, "; "+wording.Count(bad, "trial was", "trials were")+" invalid by rule") +
		s.sampled(". Trials of the same round are compared as pairs", "") + "."
}

// blockNote explains the blocks of an import, which are groups of files with a baseline of their own.
const blockNote = "Each block is compared with its own baseline. The interval of a block covers the variation of its repeats, not that of another deployment. " +
	"The interval and the verdict over all blocks rest on one value per block."

func (s *sheet) blockTable(headline bool) doc.Table {
	t := doc.Table{NoTitles: true, Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "arm", Kind: doc.Name, In: doc.Markdown},
		{Title: "block", Kind: doc.Name}, {Title: "overhead", Right: true}, {Title: "interval", Right: true, Tight: true}, {Title: "rounds", Right: true}, {Title: "verdict"}}}
	for _, c := range pointers(s.run.Comparisons) {
		if c.Blocks == nil || c.Metric.Headline != headline {
			continue
		}
		g := groupOf(&t, plain(c.Cell))
		part := doc.Part{Title: append(doc.In(doc.Strong, plain(c.Metric.Name)), doc.Span{Words: " " + join(", ", plain(c.Arm), better(c.Metric))})}
		for _, b := range c.Blocks {
			point, interval := wording.Overhead(analysis.Comparison{Metric: c.Metric, Overhead: b.Overhead, PointOnly: b.PointOnly, Rounds: b.Rounds})
			part.Add(doc.Row{Cells: doc.Cells(plain(c.Metric.Name), plain(c.Arm), plain(b.Block), point, interval, number(b.Rounds), "")})
		}
		point, interval := wording.Overhead(*c)
		part.Add(doc.Row{Cells: append(doc.Cells(plain(c.Metric.Name), plain(c.Arm), "all blocks", point, interval, number(c.Rounds)), doc.Of(gradedVerdict(c, claimsObservational(*c))))})
		g.Parts = append(g.Parts, part)
	}
	return t
}
