package report

import (
	"cmp"
	"fmt"
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
		d.Add(doc.On(doc.Page, doc.Section{ID: "overheads", Title: "Overheads", Blocks: s.overheadBlocks()}))
	}
	d.Add(s.resultBlocks(o.All)...)
	d.Add(s.scalingBlocks(o.All)...)
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
	return d.Add(doc.Section{Blocks: s.foot(o.All)})
}

// facts are the run at a glance.
func (s *sheet) facts() []doc.Fact {
	r := s.run
	state := "complete"
	if !r.Finished {
		state = "not finished"
	}
	if !r.Valid {
		state += ", invalid"
	}
	if s.imported() {
		return s.importedFacts(state)
	}
	list := []doc.Fact{{Key: "Run", Value: state}, {Key: "Rounds", Value: wording.Number(float64(r.Rounds), 9)},
		{Key: "Valid trials", Value: fmt.Sprintf("%s of %s", wording.Number(float64(r.Trials.Valid), 9), wording.Number(float64(r.Trials.Planned), 9))},
		{Key: "Invalid attempts", Value: wording.Number(float64(len(r.Invalids)), 9)}, {Key: "Control", Value: s.controlState()}}
	if b := plain(s.plan.Testbed); b != "" {
		list = append(list, doc.Fact{Key: "Testbed", Value: b})
	}
	if !r.Start.IsZero() {
		list = append(list, doc.Fact{Key: "Started", Value: minuteOf(r.Start)})
	}
	var under time.Duration
	for _, session := range r.Sessions {
		under += time.Duration((session.To - session.From) * float64(time.Second))
	}
	if under > 0 {
		list = append(list, doc.Fact{Key: "Took", Value: wording.Span(under)})
	}
	if n := len(r.Sessions); n > 1 {
		list = append(list, doc.Fact{Key: "Resumed", Value: wording.Count(n-1, "time", "times")})
	}
	return list
}

// state says in a line or two how much of the run there is.
func (s *sheet) state() []doc.Block {
	r := s.run
	if s.imported() {
		return s.importedState()
	}
	state := fmt.Sprintf("%s, %s of %s valid, baseline %s", wording.Count(r.Rounds, "round", "rounds"),
		wording.Number(float64(r.Trials.Valid), 9), wording.Count(r.Trials.Planned, "planned trial", "planned trials"), s.baseline)
	if b := plain(s.plan.Testbed); b != "" {
		state += ", testbed " + b
	}
	if n := len(r.Invalids); n > 0 {
		state += ", " + wording.Count(n, "invalid trial", "invalid trials")
	}
	if !r.Finished {
		state += ", not finished"
	}
	return []doc.Block{doc.Say(state), doc.Say(s.controlLine())}
}

// summarySection is the answer, and what to know before trusting it.
func (s *sheet) summarySection() doc.Section {
	var blocks []doc.Block
	if !s.run.Valid {
		reasons := plainAll(wording.Reasons(s.run.Reasons))
		if len(reasons) == 0 {
			reasons = []string{"No reason was recorded."}
		}
		blocks = append(blocks, doc.Alert{Title: "INVALID: this run gives no verdicts", Style: doc.Invalid, Items: doc.Each(reasons)})
	}
	blocks = append(blocks, doc.On(doc.Markdown|doc.Page, doc.Say(s.asked()+" "+s.done())))
	if o := s.observed(); o != "" {
		blocks = append(blocks, doc.Alert{Title: o})
	}
	blocks = append(blocks, doc.On(doc.Markdown|doc.Page, s.answerBlocks()...))
	return doc.Section{ID: "summary", Title: "Summary", Quiet: doc.Terminal | doc.Markdown, Blocks: blocks}
}

// answerBlocks are the results of the headline metrics in sentences, with what
// the run could not see.
func (s *sheet) answerBlocks() []doc.Block {
	var list []doc.Answer
	for _, a := range s.answers() {
		of := verdict(a.Verdict, s.observes(a.Verdict))
		if s.alone() {
			of = doc.Words("level")
		}
		list = append(list, doc.Answer{Verdict: of, Text: doc.Words(a.Text)})
	}
	blocks := []doc.Block{doc.Answers{List: list}}
	if list == nil {
		blocks = []doc.Block{doc.Say("There is no headline metric with a result.")}
	}
	for _, text := range append([]string{s.controlSentence()}, s.limits()...) {
		if text != "" {
			blocks = append(blocks, doc.Say(text))
		}
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
	extra := len(list) - mostWarnings
	switch {
	case len(list) == 0:
		return nil
	case extra <= 0:
		return []doc.Block{doc.Alert{Title: beforeTrusting, Items: doc.Each(list)}}
	}
	first := append(list[:mostWarnings:mostWarnings], wording.Count(extra, "warning", "warnings")+" more; tare show lists all.")
	return []doc.Block{doc.On(doc.Page, doc.Alert{Title: beforeTrusting, Items: doc.Each(first)}),
		doc.On(doc.Terminal|doc.Markdown, doc.Alert{Title: beforeTrusting, Items: doc.Each(list)})}
}

// foot says how the numbers are to be read, and what a terminal left out.
func (s *sheet) foot(all bool) []doc.Block {
	var blocks []doc.Block
	if n := len(s.groups(false)); n > 0 && !all {
		blocks = append(blocks, doc.On(doc.Terminal, doc.Say(notShown(n))))
	}
	return append(blocks, doc.On(doc.Terminal|doc.Markdown, doc.Say(s.legend())))
}

// footer says who wrote a page, and when.
func (s *sheet) footer(o RunOptions) string {
	text := "Written by Tare"
	if e := s.run.Environment; e != nil {
		text = "Written by Tare " + plain(e.TareVersion)
	}
	return text + generatedOn(o.Generated) + ". This page needs no network and no scripts."
}
