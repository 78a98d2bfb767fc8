package report

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
)

// failedTrials counts the executions in which a program failed, over all arms.
func (s *sheet) failedTrials() (n int) {
	for _, f := range s.run.Failures {
		n += f.Failed.Count
	}
	return n
}

// spoiltTrials counts the invalid trials that are no failures of their arm.
func (s *sheet) spoiltTrials() int { return max(len(s.run.Invalids)-s.failedTrials(), 0) }

// failureBlocks show how often the program failed, by cell and arm: a line for each arm, and a line for
// each rule if an arm broke several. Without failures there are no blocks.
func (s *sheet) failureBlocks() []doc.Block {
	if len(s.run.Failures) == 0 {
		return nil
	}
	t := doc.Table{NoTitles: true, Columns: []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "verdict"}, {Title: "failed", Right: true},
		{Title: "share", Right: true}, {Title: "interval", Right: true, Tight: true}, {Title: "difference", Right: true}, {Title: "rule"}, {Title: "Holm p", Right: true, In: doc.Markdown | doc.Page}}}
	for _, f := range s.run.Failures {
		g := findOrAdd(&t.Groups, func(g doc.Group) bool { return g.Title.First() == plain(f.Cell) }, doc.Group{Title: doc.Words(plain(f.Cell)), Parts: []doc.Part{{}}})
		g.Add(s.failureRow(f))
		if len(f.Rules) > 1 {
			for _, r := range f.Rules {
				row := frequencyRow("", nil, r.Frequency, "", plain(r.Rule), "")
				row.Muted = true
				g.Add(row)
			}
		}
	}
	return []doc.Block{doc.Section{ID: "failures", Title: "Failures", Blocks: []doc.Block{t, doc.On(doc.Markdown|doc.Page, doc.Say(s.failureNote()))}}}
}

func (s *sheet) failureRow(f analysis.Failures) doc.Row {
	rule, p, difference := "", "", ""
	if f.Reference != nil {
		difference = wording.ShareDifference(f.Difference)
	}
	switch len(f.Rules) {
	case 0:
	case 1:
		rule = plain(f.Rules[0].Rule)
	default:
		rule = "any"
	}
	var word doc.Text
	switch f.Role {
	case experiment.Treatment:
		word, p = verdict(f.Verdict, s.claimsObservational(f.Verdict) || f.Observational && f.Verdict.Claims()), wording.Probability(f.PAdjusted)
	case experiment.Control:
		word = doc.In(doc.Muted, "noise floor")
	default:
		word = doc.In(doc.Muted, "baseline")
	}
	row := frequencyRow(plain(f.Arm), word, f.Failed, difference, rule, p)
	row.Muted = f.Role != experiment.Treatment
	return row
}

func frequencyRow(arm string, word doc.Text, f analysis.Frequency, difference, rule, p string) doc.Row {
	point, interval := wording.FrequencyParts(f)
	return doc.Row{Cells: append([]doc.Cell{doc.C(arm), doc.Of(word)},
		doc.Cells(fmt.Sprintf("%s of %s", number(f.Count), number(f.Of)), point, interval, difference, rule, p)...)}
}

func (s *sheet) failureNote() string {
	text := "Executions in which the program failed, ran into a limit or gave unusable output; executions spoilt by the machine's condition are not counted. " +
		"Intervals are exact (Clopper–Pearson); shares are compared with " + s.baseline
	if slices.ContainsFunc(s.run.Failures, func(f analysis.Failures) bool { return f.Pooled }) {
		text += " and its control together"
	}
	test := " by Fisher's exact test"
	if slices.ContainsFunc(s.run.Failures, func(f analysis.Failures) bool { return f.Method == analysis.MethodSetUps }) {
		test = " by set-ups, in which several rounds may fail together"
	}
	return text + test + ". The difference is in percentage points."
}

// failureAnswers list the arms that fail more or less often than the baseline.
func (s *sheet) failureAnswers() []doc.Answer {
	var list []doc.Answer
	failures := slices.Clone(s.run.Failures)
	slices.SortStableFunc(failures, func(a, b analysis.Failures) int { return cmp.Compare(s.armIndex(a.Arm), s.armIndex(b.Arm)) })
	for _, f := range failures {
		if f.Verdict == analysis.Fails || f.Verdict == analysis.Gains {
			list = append(list, doc.Answer{Verdict: verdict(f.Verdict, s.claimsObservational(f.Verdict)),
				Text: doc.Words(fmt.Sprintf("%s %s: %s.", plain(f.Arm), wording.In(plain(f.Cell)), brief(wording.Failed(&f, s.baseline))))})
		}
	}
	return list
}
