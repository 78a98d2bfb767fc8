package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

func (s *sheet) proofSection() doc.Section {
	var rows []doc.Row
	var once, each []string
	for _, p := range s.proofs() {
		made, list := "in every trial", &each
		if p.Once {
			made, list = "once, at set-up", &once
		}
		indexOrAdd(list, plain(p.Name))
		failed := doc.Words(strconv.Itoa(p.Failed))
		if p.Failed > 0 {
			failed = doc.In(doc.Strong, "× "+strconv.Itoa(p.Failed))
		}
		rows = append(rows, doc.Row{Cells: append(doc.Cells(plain(p.Arm), plain(p.Layer), plain(p.Name), brief(p.Expected),
			brief(p.Example), made, strconv.Itoa(p.Passed)), doc.Of(failed))})
	}
	note := join(" ", "Evidence that each layer was on in its arm and off elsewhere; caveats are among the warnings. A trial whose proof fails yields no number.",
		when(each != nil, "Made in every trial: "+enumerate(each, 12, "checks")+"."),
		when(once != nil, "Made once, when the layer was set up: "+enumerate(once, 12, "checks")+"."))
	return doc.Section{ID: "proof", Title: "Proof of treatment", Blocks: []doc.Block{
		doc.SayIf(rows == nil, "No check was recorded: no arm of this run has a layer that proves itself."),
		doc.If(rows != nil, doc.Say(note), s.proofMatrix(), doc.Section{Title: "Each check", Fold: doc.Page | doc.Markdown, ScreenOnly: s.many(), Blocks: []doc.Block{doc.Simple([]doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "layer"},
			{Title: "check", Kind: doc.Prose},
			{Title: "expected", Kind: doc.Prose}, {Title: "observed, first trial", Kind: doc.Prose}, {Title: "made"},
			{Title: "passed", Right: true}, {Title: "failed", Right: true}}, rows)}})}}
}

func (s *sheet) proofMatrix() doc.Table {
	type count struct {
		passed, failed int
		caveat         bool
	}
	var layers, arms []string
	counts := map[[2]string]count{}
	for _, p := range s.run.Proofs {
		indexOrAdd(&layers, p.Layer)
		indexOrAdd(&arms, p.Arm)
		c := counts[[2]string{p.Arm, p.Layer}]
		counts[[2]string{p.Arm, p.Layer}] = count{c.passed + p.Passed, c.failed + p.Failed, c.caveat || p.Caveat != ""}
	}
	columns := []doc.Column{{Title: "arm", Kind: doc.Name}}
	columns = append(columns, lists.Map(layers, func(layer string) doc.Column { return doc.Column{Title: plain(layer), NoBreak: true} })...)
	var rows []doc.Row
	for _, arm := range arms {
		row := doc.Row{Cells: []doc.Cell{doc.C(plain(arm))}}
		for _, layer := range layers {
			c, state := counts[[2]string{arm, layer}], "off"
			if a := s.plan.Arm(arm); a != nil && slices.ContainsFunc(a.Layers, func(l experiment.PlannedLayer) bool { return l.Kind == layer }) {
				state = "on"
			}
			switch of := wording.Count(c.passed+c.failed, "check", "checks"); {
			case c == count{}:
				row.Cells = append(row.Cells, doc.Cell{})
			case c.failed > 0:
				row.Cells = append(row.Cells, doc.Of(doc.In(doc.Strong, fmt.Sprintf("× %s, %d of %s failed", state, c.failed, of))))
			default:
				row.Cells = append(row.Cells, doc.C(state+", "+of+when(c.caveat, ", with a caveat")))
			}
		}
		rows = append(rows, row)
	}
	return doc.Simple(columns, rows)
}

// proofs merges the run's proofs by arm, layer and name. An expected value that differs between trials gets a remark
// after the first value.
func (s *sheet) proofs() []analysis.ProofSummary {
	var list []analysis.ProofSummary
	varies := map[int]bool{}
	for _, p := range s.run.Proofs {
		i := slices.IndexFunc(list, func(of analysis.ProofSummary) bool {
			return of.Arm == p.Arm && of.Layer == p.Layer && of.Name == p.Name && of.Once == p.Once
		})
		if i < 0 {
			list = append(list, p)
			continue
		}
		list[i].Passed += p.Passed
		list[i].Failed += p.Failed
		varies[i] = varies[i] || p.Expected != list[i].Expected
	}
	for i := range list {
		list[i].Expected = brief(list[i].Expected) + when(varies[i], " (differs by trial)")
	}
	return list
}

func (s *sheet) invalidBlocks(o RunOptions) []doc.Block {
	by := s.run.Trials.ByRule
	rules := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], strings.Compare(a, b)) })
	counts := lists.Map(rules, func(rule string) doc.Fact {
		return doc.Fact{Key: plain(rule), Value: wording.Count(by[rule], "trial", "trials")}
	})
	in := doc.Terminal | doc.Markdown | doc.Page
	if counts == nil && len(s.run.Invalids) == 0 {
		in = doc.Page
	}
	return []doc.Block{doc.On(in, doc.Section{ID: "invalid", Title: "Invalid trials", Blocks: []doc.Block{
		doc.On(doc.Markdown|doc.Page, doc.Say(s.invalidNote())), doc.Facts{List: counts},
		doc.If(s.imported(), doc.On(doc.Terminal, s.fileList(maxFiles, "; the report lists them")),
			doc.On(doc.Markdown, s.fileList(maxMarkdownFiles, ""))),
		doc.On(doc.Page, doc.If(len(s.run.Invalids) > 0, s.invalidTrials(o)))}})}
}

func (s *sheet) fileList(most int, elsewhere string) doc.List {
	files := s.invalidFiles()
	if n := len(files) - most; n > 0 {
		files = append(files[:most], wording.Count(n, "file", "files")+" more"+elsewhere)
	}
	return doc.List{Items: doc.Each(files)}
}

func (s *sheet) invalidTrials(o RunOptions) doc.Section {
	ours, theirs := doc.Forms(0), doc.NoForm
	if s.imported() {
		ours, theirs = theirs, ours
	}
	rows := lists.Map(s.run.Invalids[:min(len(s.run.Invalids), maxInvalids)], func(t journal.Trial) doc.Row { return s.invalidRow(t, o) })
	more := len(s.run.Invalids) - len(rows)
	return doc.Section{Title: "Each invalid trial with its rule", Fold: doc.Page, Open: len(s.run.Invalids) <= 10,
		Blocks: []doc.Block{
			doc.Simple([]doc.Column{{Title: "trial", Right: true}, {Title: "file", Kind: doc.Prose, In: theirs}, {Title: "round", Right: true, In: ours},
				{Title: "attempt", Right: true, In: ours}, {Title: "cell", Kind: doc.Name}, {Title: "arm", Kind: doc.Name}, {Title: "rule"},
				{Title: "detail", Kind: doc.Prose}, {Title: "raw output"}}, rows),
			doc.If(more > 0, doc.Note(wording.Count(more, "trial", "trials")+" more; trials.jsonl has all."))}}
}

func (s *sheet) invalidRow(t journal.Trial, o RunOptions) doc.Row {
	var broken, details []string
	for _, v := range t.Invalid {
		broken, details = append(broken, plain(v.Rule)), append(details, brief(v.Detail))
	}
	file, _ := reasonOf(t)
	raw := doc.Cell{}
	if t.Raw != "" {
		to := t.Raw + when(!s.imported(), "/") // Raw is a directory, except in an imported run
		raw = doc.Of(doc.Text{{Words: "files", Link: link(relativePath(o.Page, o.RunDir), to)}})
	}
	return doc.Row{Cells: append(doc.Cells(strconv.Itoa(t.Seq), file, strconv.Itoa(t.Round), strconv.Itoa(t.Attempt), plain(t.Cell), plain(t.Arm),
		strings.Join(broken, ", "), strings.Join(details, "; ")), raw)}
}

func (s *sheet) invalidNote() string {
	n, lost, failed := len(s.run.Invalids), s.run.Trials.Lost, s.failedTrials()
	broke := wording.Count(n, "trial broke", "trials broke") + " a rule"
	switch {
	case n == 0:
		return "No trial broke a rule" + when(!s.imported(), " of the experiment") + "."
	case s.imported():
		return broke + " and gave no data. Rules never look at whether a value is high or low."
	}
	end := cmp.Or(when(lost > 0, wording.Count(lost, "planned trial was", "planned trials were")+" lost."), "no planned trial was lost.")
	return broke + " that was fixed before the run, and gave no data." +
		when(failed > 0, fmt.Sprintf(" In %s the program failed, which is a result of its arm.", number(failed))) +
		fmt.Sprintf(" Trials spoilt by the machine's condition or a failed proof are repeated within their round, up to %s in all; %s",
			wording.Count(s.plan.Attempts, "attempt", "attempts"), end)
}

// failedTrials counts the executions in which a program failed, over all arms.
func (s *sheet) failedTrials() (n int) {
	for _, f := range s.run.Failures {
		n += f.Failed.Count
	}
	return n
}

// spoiltTrials counts the invalid trials in which the program did not fail.
func (s *sheet) spoiltTrials() int { return max(len(s.run.Invalids)-s.failedTrials(), 0) }

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
	rule, p, difference := when(len(f.Rules) > 1, "any"), "", when(f.Reference != nil, wording.ShareDifference(f.Difference))
	if len(f.Rules) == 1 {
		rule = plain(f.Rules[0].Rule)
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
	text += when(slices.ContainsFunc(s.run.Failures, func(f analysis.Failures) bool { return f.Pooled }), " and its control together")
	test := " by Fisher's exact test"
	if slices.ContainsFunc(s.run.Failures, func(f analysis.Failures) bool { return f.Method == analysis.MethodSetUps }) {
		test = " by set-ups, in which several rounds may fail together"
	}
	return text + test + ". The difference is in percentage points."
}

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
