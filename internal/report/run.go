package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
)

// Run shows a run: first the answer, then the results and their evidence.
func Run(r *analysis.Run, o RunOptions) *doc.Document {
	s := arrange(labels.Shown(r, r.Plan))
	title, lede := s.title()
	d := &doc.Document{Title: title, About: "Tare report", Lede: lede, Styles: figure.PageCSS(), Footer: s.footer(o)}
	d.Add(s.opening()...)
	d.Add(doc.On(doc.Markdown|doc.Page, s.detailSection()))
	d.Add(s.restOfOverheads()...)
	d.Add(s.failureBlocks()...)
	rest := s.groups(false)
	shown := o.All || len(rest) > 0 && len(s.groups(true)) == 0 // without headline metrics, exploratory ones are shown
	d.Add(s.resultBlocks(shown)...)
	d.Add(publishedValues(s.run.Published, s.confidence(), o.All)...)
	byBlock := notedSection("blocks", "Block by block", blockNote, tables(o.All, s.blockTable(true), s.blockTable(false)))
	d.Add(s.unlessMany(o.All, slices.Concat(s.factorialBlocks(o.All), byBlock, s.breakdownBlocks(o.All), s.scalingBlocks(o.All))...))
	d.Add(doc.On(formsIf(o.All), s.partBlocks()...))
	d.Add(s.quotaBlocks()...)
	if o.Published != nil {
		t := labels.Shown(o.Published, r.Plan)
		intro := publishedTitle(t) + ". Most benchmarks are published in this form. Only the last column shows how certain a difference is."
		d.Add(doc.On(doc.Markdown|doc.Page, doc.Section{ID: "published", Title: "The published table", Short: "Published table",
			Blocks: append([]doc.Block{doc.Say(intro)}, publishedBlocks(t, o.Decimals)...)}))
	}
	d.Add(doc.On(doc.Page, s.restOfWarnings(), s.trialSection(), s.diagnosticSection()), doc.On(doc.Terminal, s.warningBlocks(o.All)...),
		doc.On(doc.Terminal, doc.Section{Blocks: s.state()}))
	if !s.imported() {
		d.Add(doc.On(doc.Markdown|doc.Page, s.proofSection()))
	}
	d.Add(s.invalidBlocks(o)...)
	d.Add(doc.On(doc.Markdown|doc.Page, s.surroundings(o)...),
		doc.On(doc.Page, doc.Section{ID: "definitions", Title: "Definitions", Blocks: []doc.Block{
			doc.Section{Title: "Words used on this page", Fold: doc.Page, Open: true, Blocks: []doc.Block{doc.Facts{Look: doc.Terms, List: s.definitions()}}}}}))
	return d.Add(doc.Section{Blocks: []doc.Block{doc.On(doc.Terminal, doc.SayIf(len(rest) > 0 && !shown, notShown(len(rest)))),
		doc.On(doc.Markdown, doc.Say(s.legend())), s.unlessMany(o.All, doc.On(doc.Terminal, doc.Say(s.legend()))),
		doc.On(doc.Terminal|doc.Markdown, s.occasion())}})
}

// title returns the first sentence of the run's description as title, and the run's name and the rest as below. If the
// sentence is missing or long, the title is the name.
func (s *sheet) title() (title, below string) {
	name, about := cmp.Or(plain(s.plan.Name), "Run"), plain(s.plan.Description)
	first, rest := about, ""
	if end := sentenceEnd.FindStringIndex(about); end != nil {
		first, rest = about[:end[0]+1], about[end[1]:]
	}
	if first == "" || utf8.RuneCountInString(first) > longestTitle {
		return name, about
	}
	return strings.TrimSuffix(first, "."), join(": ", name, rest)
}

var sentenceEnd = regexp.MustCompile(`[.?!] +`)

func (s *sheet) occasion() doc.Block {
	text := wording.Occasion(s.run)
	return doc.SayIf(text != "", plain(text))
}

func (s *sheet) facts() []doc.Fact {
	r := s.run
	state := cmp.Or(when(!r.Finished, "not finished"), "complete") + when(!r.Valid, ", invalid")
	valid := number(r.Trials.Valid) + " of " + number(r.Trials.Planned)
	if s.imported() {
		return known("Imported from", s.tool(), "Run", state, "Files", number(s.files()),
			"Rounds", s.sampled(number(r.Rounds), ""), "Blocks", when(len(s.plan.Import.Blocks) > 0, number(len(s.plan.Import.Blocks))), "Valid trials", valid,
			"Control", when(len(r.Controls) > 0, s.controlState()), "First trial", minuteOf(r.Start), "Labels", wording.Labels(s.plan.Labels))
	}
	var under time.Duration
	for _, session := range r.Sessions {
		under += time.Duration((session.To - session.From) * float64(time.Second))
	}
	wires, usedUp := s.resources()
	return known("Run", state, "Rounds", number(r.Rounds)+s.stopped(), "Set-ups", wording.SetUps(&s.plan, r.SetUps), "Valid trials", valid,
		"Failed trials", when(s.failedTrials() > 0, number(s.failedTrials())), "Spoilt attempts", number(s.spoiltTrials()), "Control", s.controlState(),
		"Testbed", s.plan.Testbed, "Wire", wires, "Used up", usedUp, "Started", minuteOf(r.Start), "Took", when(under > 0, wording.Span(under)),
		"Resumed", when(len(r.Sessions) > 1, wording.Count(len(r.Sessions)-1, "time", "times")), "Labels", wording.Labels(s.plan.Labels))
}

func (s *sheet) stopped() string {
	switch {
	case len(s.plan.DecideAt) == 0:
		return ""
	case s.plan.Decided > 0:
		return fmt.Sprintf(" of at most %d (all was decided at a planned look)", s.plan.Rounds)
	}
	return " with looks after " + s.plan.LookRounds()
}

// known makes facts from alternating keys and values. It omits facts with an empty value.
func known(pairs ...string) []doc.Fact {
	var list []doc.Fact
	for pair := range slices.Chunk(pairs, 2) {
		if v := plain(pair[1]); v != "" {
			list = append(list, doc.Fact{Key: plain(pair[0]), Value: v})
		}
	}
	return list
}

func (s *sheet) state() []doc.Block {
	r := s.run
	if s.imported() {
		var from []scopedText
		for _, a := range s.sources() {
			of := findOrAdd(&from, func(t scopedText) bool { return t.text == a.Value }, scopedText{text: a.Value})
			of.scopes = append(of.scopes, a.Key)
		}
		return []doc.Block{doc.Say(fmt.Sprintf("imported from %s, %s valid", s.tool(), s.validOf("trial", "trials"))),
			doc.List{Items: doc.Each(bySeverity(from))}, doc.SayIf(len(r.Controls) > 0, s.controlLine())}
	}
	wires, _ := s.resources()
	return []doc.Block{doc.Say(join(", ", wording.Count(r.Rounds, "round", "rounds")+s.stopped(),
		s.validOf("planned trial", "planned trials")+" valid", when(s.failedTrials() > 0, number(s.failedTrials())+" failed"), "baseline "+s.baseline,
		when(s.plan.Testbed != "", "testbed "+plain(s.plan.Testbed)), when(wires != "", "wire "+wires),
		when(s.spoiltTrials() > 0, wording.Count(s.spoiltTrials(), "spoilt attempt", "spoilt attempts")),
		when(!r.Finished, "not finished"))), doc.Say(s.controlLine())}
}

func (s *sheet) detailSection() doc.Section {
	blocks := []doc.Block{doc.Say(s.questionText() + " " + s.progressText())}
	if list := s.answers(); list != nil && !s.many() && !s.alone() {
		blocks = append(blocks, doc.Answers{List: list})
	}
	for _, text := range append([]string{s.controlSentence()}, s.limits()...) {
		blocks = append(blocks, doc.SayIf(text != "", text))
	}
	return doc.Section{ID: "summary", Title: "In detail", Blocks: append(blocks, doc.On(doc.Page, s.occasion()))}
}

func (s *sheet) footer(o RunOptions) string {
	version := ""
	if e := s.run.Environment; e != nil {
		version = " " + plain(e.TareVersion)
	}
	return "Written by Tare" + version + generatedOn(o.Generated) + ". This page needs no network and no scripts." +
		when(s.many(), " With so many arms, single trials and diagnostics are not printed.")
}

// warnings lists the warnings on headline metrics and on the run (headline = true), or on exploratory metrics. Each
// appears once, the most severe first.
func (s *sheet) warnings(headline bool) []string {
	var list []scopedText
	add := func(f analysis.Finding, parts ...string) {
		text, scope := brief(wording.Finding(f)), join(", ", plainAll(parts)...)
		w := findOrAdd(&list, func(w scopedText) bool { return w.text == text }, scopedText{text: text, severity: analysis.Severity(f)})
		indexOrAdd(&w.scopes, scope)
	}
	for _, w := range s.run.Warnings {
		// findings of the kind Bound are left out: the top of the report shows them
		if headline != w.Exploratory && w.Finding.Kind() != (analysis.Bound{}).Kind() {
			add(w.Finding, w.Arm, w.Metric, w.Cell)
		}
	}
	of := func(c *analysis.Comparison, name string) {
		if c.Verdict == analysis.Invalid {
			return // the verdict states the reason
		}
		for _, w := range c.Warnings {
			add(w, name, c.Metric.Name, c.Cell)
		}
	}
	for _, g := range s.groups(headline) {
		for _, c := range g.lines() {
			of(&c, c.Arm)
		}
	}
	if f := s.run.Factorial; f != nil {
		for _, e := range pointers(f.Effects) {
			if e.Metric.Headline == headline {
				of(&e.Comparison, wording.EffectName(e))
			}
		}
	}
	for _, b := range pointers(s.run.Breakdowns) {
		for _, p := range pointers(b.Parts) {
			if p.Metric.Headline == headline && p.Part != analysis.Installed { // the part Installed repeats the warnings of the arm's comparison
				of(&p.Comparison, wording.BreakdownName(b)+", "+wording.PartName(b, p.Part))
			}
		}
	}
	return bySeverity(list)
}
