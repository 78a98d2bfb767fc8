package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/analysis"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// Run shows a run: the answer first, then the results and what they rest on.
func Run(r *analysis.Run, o RunOptions) *doc.Document {
	s := arrange(r)
	d := &doc.Document{Title: cmp.Or(plain(s.plan.Name), "Run"), About: "Tare report", Lede: plain(s.plan.Description),
		Styles: figure.PageCSS(), Footer: s.footer(o)}
	d.Add(doc.On(doc.Page, doc.Facts{Look: doc.Glance, List: s.facts()}),
		doc.On(doc.Terminal, s.state()...), s.summarySection())
	if !s.alone() {
		d.Add(doc.On(doc.Page, doc.Section{ID: "overheads", Title: "Overheads", Blocks: append(s.overheadBlocks(), s.occasion())}))
	}
	d.Add(s.failureBlocks()...)
	d.Add(s.resultBlocks(o.All)...)
	d.Add(s.factorialBlocks(o.All)...)
	d.Add(s.blockBlocks(o.All)...)
	d.Add(s.breakdownBlocks(o.All)...)
	d.Add(s.scalingBlocks(o.All)...)
	forms := doc.Markdown | doc.Page
	if o.All {
		forms |= doc.Terminal
	}
	d.Add(doc.On(forms, s.partBlocks()...))
	if o.Published != nil {
		d.Add(doc.On(doc.Markdown|doc.Page, publishedSection(o.Published)))
	}
	d.Add(doc.On(doc.Terminal, s.warningBlocks(o.All)...),
		doc.On(doc.Page, s.trialSection(), s.diagnosticSection()))
	if !s.imported() {
		d.Add(doc.On(doc.Markdown|doc.Page, s.proofSection()))
	}
	d.Add(s.invalidBlocks(o)...)
	d.Add(doc.On(doc.Markdown|doc.Page, s.surroundings(o)...),
		doc.On(doc.Page, doc.Section{ID: "definitions", Title: "Definitions", Blocks: []doc.Block{
			doc.Section{Title: "Words used on this page", Fold: doc.Page, Open: true, Blocks: []doc.Block{doc.Facts{Look: doc.Terms, List: s.definitions()}}}}}))
	hidden := len(s.groups(false))
	return d.Add(doc.Section{Blocks: []doc.Block{doc.On(doc.Terminal, doc.SayIf(hidden > 0 && !o.All, notShown(hidden))),
		doc.On(doc.Terminal|doc.Markdown, doc.Say(s.legend()), s.occasion())}})
}

// occasion says what a single run speaks for.
func (s *sheet) occasion() doc.Block {
	text := wording.Occasion(s.run)
	return doc.SayIf(text != "", plain(text))
}

// facts are the run at a glance.
func (s *sheet) facts() []doc.Fact {
	r := s.run
	state := cmp.Or(when(!r.Finished, "not finished"), "complete") + when(!r.Valid, ", invalid")
	valid := number(r.Trials.Valid) + " of " + number(r.Trials.Planned)
	if s.imported() {
		return known("Imported from", s.tool(), "Run", state, "Files", number(s.files()),
			"Rounds", s.sampled(number(r.Rounds), ""), "Blocks", when(len(s.plan.Import.Blocks) > 0, number(len(s.plan.Import.Blocks))), "Valid trials", valid,
			"Control", when(len(r.Controls) > 0, s.controlState()), "First trial", minuteOf(r.Start))
	}
	var under time.Duration
	for _, session := range r.Sessions {
		under += time.Duration((session.To - session.From) * float64(time.Second))
	}
	return known("Run", state, "Rounds", number(r.Rounds), "Set-ups", wording.SetUps(r.SetUps), "Valid trials", valid,
		"Failed trials", when(s.failedTrials() > 0, number(s.failedTrials())), "Spoilt attempts", number(s.spoiltTrials()), "Control", s.controlState(),
		"Testbed", s.plan.Testbed, "Started", minuteOf(r.Start), "Took", when(under > 0, wording.Span(under)),
		"Resumed", when(len(r.Sessions) > 1, wording.Count(len(r.Sessions)-1, "time", "times")))
}

// known are facts, given as keys and values in turn, of which the value is known.
func known(pairs ...string) []doc.Fact {
	var list []doc.Fact
	for pair := range slices.Chunk(pairs, 2) {
		if v := plain(pair[1]); v != "" {
			list = append(list, doc.Fact{Key: plain(pair[0]), Value: v})
		}
	}
	return list
}

// state says in a line or two how much of the run there is, or where its trials
// are from.
func (s *sheet) state() []doc.Block {
	r := s.run
	if s.imported() {
		var from []string
		for _, a := range s.sources() {
			from = append(from, a.Key+": "+a.Value)
		}
		return []doc.Block{doc.Say(fmt.Sprintf("imported from %s, %s valid", s.tool(), s.validOf("trial", "trials"))),
			doc.List{Items: doc.Each(from)}, doc.SayIf(len(r.Controls) > 0, s.controlLine())}
	}
	return []doc.Block{doc.Say(join(", ", wording.Count(r.Rounds, "round", "rounds"),
		s.validOf("planned trial", "planned trials")+" valid", when(s.failedTrials() > 0, number(s.failedTrials())+" failed"), "baseline "+s.baseline,
		when(s.plan.Testbed != "", "testbed "+plain(s.plan.Testbed)),
		when(s.spoiltTrials() > 0, wording.Count(s.spoiltTrials(), "spoilt attempt", "spoilt attempts")),
		when(!r.Finished, "not finished"))), doc.Say(s.controlLine())}
}

// summarySection is the answer, and what to know before trusting it.
func (s *sheet) summarySection() doc.Section {
	reasons := plainAll(wording.Reasons(s.run.Reasons))
	if len(reasons) == 0 {
		reasons = []string{"No reason was recorded."}
	}
	observed := s.observed()
	return doc.Section{ID: "summary", Title: "Summary", Quiet: doc.Terminal | doc.Markdown, Blocks: []doc.Block{
		doc.If(!s.run.Valid, doc.Alert{Title: "INVALID: this run gives no verdicts", Style: doc.Invalid,
			Items: doc.Each(reasons)}),
		doc.On(doc.Markdown|doc.Page, doc.Say(s.asked()+" "+s.done())),
		doc.If(observed != "", doc.Alert{Title: observed}),
		doc.On(doc.Markdown|doc.Page, s.answerBlocks()...)}}
}

// answerBlocks are the results of the headline metrics in sentences, with what
// the run could not see.
func (s *sheet) answerBlocks() []doc.Block {
	list := s.answers()
	blocks := []doc.Block{doc.If(list != nil, doc.Answers{List: list}),
		doc.SayIf(list == nil, "There is no headline metric with a result.")}
	for _, text := range append([]string{s.controlSentence()}, s.limits()...) {
		blocks = append(blocks, doc.SayIf(text != "", text))
	}
	return append(blocks, s.warningBlocks(false)...)
}

// warningBlocks are what a reader must know before trusting a number. A page
// shows the first of very many.
func (s *sheet) warningBlocks(all bool) []doc.Block {
	list := s.warnings(true)
	if all {
		list = append(list, s.warnings(false)...)
	}
	if list == nil {
		return nil
	}
	first := list
	if extra := len(list) - mostWarnings; extra > 0 {
		more := wording.Count(extra, "warning", "warnings") + " more; tare show lists all."
		first = slices.Concat(list[:mostWarnings], []string{more})
	}
	return []doc.Block{doc.On(doc.Page, doc.Alert{Title: beforeTrusting, Items: doc.Each(first)}),
		doc.On(doc.Terminal|doc.Markdown, doc.Alert{Title: beforeTrusting, Items: doc.Each(list)})}
}

// footer says who wrote a page, and when.
func (s *sheet) footer(o RunOptions) string {
	version := ""
	if e := s.run.Environment; e != nil {
		version = " " + plain(e.TareVersion)
	}
	return "Written by Tare" + version + generatedOn(o.Generated) + ". This page needs no network and no scripts."
}

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
	of := func(c *analysis.Comparison, name string) {
		if c.Verdict == analysis.Invalid {
			return // told beside the verdict
		}
		for _, w := range wording.Findings(c.Warnings) {
			add(w, name, c.Metric.Name, c.Cell)
		}
	}
	for _, g := range s.groups(headline) {
		for _, c := range g.lines() {
			of(&c, c.Arm)
		}
	}
	if f := s.run.Factorial; f != nil {
		for i := range f.Effects {
			if e := &f.Effects[i]; e.Metric.Headline == headline {
				of(&e.Comparison, wording.EffectName(e))
			}
		}
	}
	for i := range s.run.Breakdowns {
		b := &s.run.Breakdowns[i]
		for k := range b.Parts {
			if p := &b.Parts[k]; p.Metric.Headline == headline && p.Part != analysis.Installed { // told as a comparison
				of(&p.Comparison, wording.BreakdownName(b)+", "+wording.PartName(b, p.Part))
			}
		}
	}
	return list
}

// rules are the rules in a count, the most frequent first.
func rules(by map[string]int) []string {
	return slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], strings.Compare(a, b)) })
}
