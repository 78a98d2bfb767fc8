package report

import (
	"fmt"

	"tare/analysis"
	comparing "tare/compare"
	"tare/experiment"
	doc "tare/report/document"
	"tare/wording"
)

// comparedSections is what the sections of changes and of levels are made of.
type comparedSections struct {
	id, title, short string
	family           int         // of headline claims
	intro            []doc.Block // on a page
	headline, rest   comparedRows
	all              bool // a terminal shows exploratory metrics
}

// comparedSection shows rows of headline metrics, and below them those of
// exploratory ones.
func comparedSection(c comparedSections) []doc.Block {
	s := doc.Section{ID: c.id, Title: c.title, Short: c.short, Flush: true}
	if n := c.family; n > 1 {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: doc.Words(fmt.Sprintf("Corrected by Holm's method as a family of %s.", wording.Count(n, "claim", "claims")))})
	}
	s.Blocks = append(s.Blocks, doc.Only{In: doc.Page, Blocks: c.intro})
	if c.headline.count() > 0 {
		s.Blocks = append(s.Blocks, c.headline.table())
	} else {
		s.Blocks = append(s.Blocks, doc.Paragraph{Text: doc.Words("There is nothing to compare.")})
	}
	if c.rest.count() > 0 {
		in := doc.Markdown | doc.Page
		if c.all {
			in |= doc.Terminal
		}
		s.Blocks = append(s.Blocks, doc.Only{In: in, Blocks: []doc.Block{
			doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page, Blocks: []doc.Block{c.rest.table()}}}})
	}
	return []doc.Block{s}
}

// levelIntro says what levels are.
func levelIntro() []doc.Block {
	return []doc.Block{doc.Paragraph{Text: doc.Words("Medians of each arm, and below each what it costs (plus) or gains (minus) against the reference. " +
		"Within the reference's run arms are paired by round, where it has rounds; across runs they are independent samples, and the level tells of the machine as much as of the layer.")}}
}

// changeFigures draws the changes of overheads.
func changeFigures(r *comparing.Result) []doc.Block {
	forests := changeForest(r).forests()
	if forests == nil {
		return nil
	}
	text := fmt.Sprintf("Each mark is the change of an overhead from one run to another with its %s interval: to the right it costs more than it did, to the left less.",
		wording.Share(float64(r.Confidence)))
	if r.Margin > 0 {
		text += " The shaded band is the margin of ±" + wording.Share(float64(r.Margin)) + " within which overheads count as equivalent."
	}
	if len(r.Floors) > 0 {
		text += " The grey rows compare the controls, behind which there is nothing."
	}
	return append([]doc.Block{doc.Paragraph{Text: doc.Words(text)}}, forests...)
}

// changeForest puts the changes into the form of a run whose arms are the pairs of
// overheads.
func changeForest(r *comparing.Result) *sheet {
	plan := &experiment.Plan{Equivalence: r.Margin, Arms: []experiment.PlannedArm{{Name: "the overhead it had", Role: experiment.Baseline}}}
	known := map[string]bool{}
	arm := func(c comparing.Change, role experiment.Role) string {
		name := changeName(c)
		if len(r.Runs) > 2 || c.Direct {
			name += fmt.Sprintf(", run %d", c.To.Run)
		}
		if !known[name] {
			known[name] = true
			plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: name, Role: role})
		}
		return name
	}
	drawn := &analysis.Run{Plan: plan, Valid: true}
	for _, list := range []struct {
		changes []comparing.Change
		role    experiment.Role
	}{{r.Changes, experiment.Treatment}, {r.Floors, experiment.Control}} {
		for _, c := range list.changes {
			one := c.Comparison
			one.Arm = arm(c, list.role)
			drawn.Comparisons = append(drawn.Comparisons, one)
		}
	}
	return arrange(drawn)
}
