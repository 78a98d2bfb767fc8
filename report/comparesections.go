package report

import (
	"fmt"
	"slices"

	comparing "tare/compare"
	doc "tare/report/document"
	"tare/report/figure"
	"tare/wording"
)

// comparedSection adds rows of headline metrics to a section, of which so many
// claims are corrected together, and below them those of exploratory metrics, on a
// terminal if all are shown.
func comparedSection(s doc.Section, family int, headline, rest doc.Table, all bool) doc.Section {
	s.Blocks = append(s.Blocks, doc.If(family > 1, doc.Say(fmt.Sprintf("Corrected by Holm's method as a family of %s.", wording.Count(family, "claim", "claims")))),
		doc.If(headline.Groups != nil, headline), doc.If(headline.Groups == nil, doc.Say("There is nothing to compare.")),
		doc.If(rest.Groups != nil, exploratorySection(all, rest)))
	return s
}

const levelIntro = "Medians of each arm, and below each what it costs (plus) or gains (minus) against the reference. " +
	"Within the reference's run arms are paired by round, where it has rounds; across runs they are independent samples, and the level tells of the machine as much as of the layer."

func changeFigures(r *comparing.Result) []doc.Block {
	forests := forestBlocks(changeForest(r))
	if forests == nil {
		return nil
	}
	text := join(" ", fmt.Sprintf("Each mark is the change of an overhead from one run to another with its %s interval: to the right it costs more than it did, to the left less.",
		wording.Share(float64(r.Confidence))),
		when(r.Margin > 0, "The shaded band is the margin of ±"+wording.Share(float64(r.Margin))+" within which overheads count as equivalent."),
		when(len(r.Floors) > 0, "The grey rows compare the controls, behind which there is nothing."))
	return append([]doc.Block{doc.Say(text)}, forests...)
}

// changeForest is the changes of headline overheads and those of the controls, by
// cell and metric.
func changeForest(r *comparing.Result) figure.Forest {
	f := figure.Forest{Baseline: "the overhead it had", Margin: float64(r.Margin)}
	var arms []string
	for i, c := range slices.Concat(r.Changes, r.Floors) {
		control := i >= len(r.Changes)
		c.Arm = changeName(c)
		if len(r.Runs) > 2 || c.Direct {
			c.Arm += fmt.Sprintf(", run %d", c.To.Run)
		}
		if !slices.Contains(arms, c.Arm) {
			arms = append(arms, c.Arm)
		}
		if !c.Metric.Headline || !wording.IsRatio(c.Metric) {
			continue
		}
		at := slices.IndexFunc(f.Groups, func(g figure.Group) bool { return g.Cell == c.Cell && g.Metric == c.Metric.Name })
		if at < 0 {
			// The metrics of a cell stand together.
			at = len(f.Groups)
			for at > 0 && f.Groups[at-1].Cell != c.Cell && slices.ContainsFunc(f.Groups, func(g figure.Group) bool { return g.Cell == c.Cell }) {
				at--
			}
			f.Groups = slices.Insert(f.Groups, at, figure.Group{Metric: c.Metric.Name, Cell: c.Cell})
		}
		look, verdict := figure.Control, string(c.Verdict)
		if !control {
			look = figure.Treatment(slices.Index(arms, c.Arm))
		}
		if observed(c.Comparison) {
			f.Observed, verdict = true, verdict+" "+observedMark
		}
		f.Groups[at].Rows = append(f.Groups[at].Rows, forestRow(c.Comparison, look, control, verdict))
	}
	f.Groups = slices.DeleteFunc(f.Groups, func(g figure.Group) bool {
		return !slices.ContainsFunc(g.Rows, func(r figure.Row) bool { return r.Drawn })
	})
	return f
}
