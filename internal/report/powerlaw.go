package report

import (
	"tare/internal/analysis"
	"tare/internal/experiment"
	doc "tare/internal/report/document"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
)

const powerLawNote = "The exponents of all factors are fitted together, to all cells, separately in each round: 1 is proportional, −1 inversely proportional. " +
	"The first number is the law's value where all factors are 1. Their intervals are not corrected for their number: hints, not findings."

// lawAnswers state the fitted and the expected law of each arm in a sentence.
func (s *sheet) lawAnswers() (list []doc.Answer) {
	for _, l := range s.run.PowerLaws {
		for _, a := range l.Arms {
			if s.role(a.Arm) != experiment.Control {
				list = append(list, doc.Answer{Verdict: doc.Words("law"), Text: doc.Words(plain(wording.LawAnswer(&l, &a)) + ".")})
			}
		}
	}
	return list
}

// powerLawBlocks show how metrics depend on all factors together.
func (s *sheet) powerLawBlocks() []doc.Block {
	var blocks []doc.Block
	for i := range s.run.PowerLaws {
		l := &s.run.PowerLaws[i]
		where := join(", ", plain(l.Workload), labels.Levels(s.kind(l.Workload), l.Held, ", "))
		blocks = append(blocks, doc.Section{Title: plain(wording.ExpectedLaw(l)), Note: where + "; " + wording.Count(len(l.Cells), "cell", "cells"), Flush: true,
			Blocks: []doc.Block{doc.SayIf(i == 0, powerLawNote), s.powerLawTable(l)}})
	}
	return blocks
}

// powerLawTable has a row for each arm, and a column for the exponent of each factor.
func (s *sheet) powerLawTable(l *analysis.PowerLaw) doc.Table {
	columns := []doc.Column{{Title: "arm", Kind: doc.Name}, {Title: "where all are 1", NoBreak: true}}
	for _, f := range l.Factors {
		columns = append(columns, doc.Column{Title: "exponent of " + plain(f.Factor), NoBreak: true})
	}
	columns = append(columns, doc.Column{Title: "fit", Kind: doc.Prose})
	var rows []doc.Row
	for _, a := range l.Arms {
		cells := []doc.Cell{doc.C(plain(a.Arm)), doc.C(brief(wording.ValueAtOne(l, &a)))}
		for j := range l.Factors {
			if j < len(a.Exponents) {
				cells = append(cells, doc.C(brief(wording.Exponent(&l.Factors[j], &a.Exponents[j]))))
			}
		}
		rows = append(rows, doc.Row{Muted: s.role(a.Arm) == experiment.Control, Cells: append(cells, doc.C(brief(wording.Misfit(&a.Misfit))))})
	}
	return doc.Simple(columns, rows)
}
