package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/runs/published"
)

// Published shows the published table: for each cell the means with their variances, then the differences with their
// verdicts. With AsTheyVary, a number has as many decimals as its spread supports.
func Published(t *published.Table, decimals int) *doc.Document {
	t = labels.Shown(t, t.Plan)
	d := &doc.Document{Title: publishedTitle(t), Styles: figure.PageCSS(), Footer: "Made by tare show."}
	d.Add(publishedBlocks(t, decimals)...)
	return d.Add(publishedValues(t.Published, wording.Confidence(float64(t.Plan.Judged())), true)...)
}

// AsTheyVary stands for as many decimals as show two digits of the spread of the values.
const AsTheyVary = -1

func publishedBlocks(t *published.Table, decimals int) []doc.Block {
	survived := differenceCounts(t)
	blocks := []doc.Block{doc.Say(publishedTrials(t)), doc.SayIf(survived != "", survived),
		doc.SayIf(t.Observation != nil, "Observational: "+brief(wording.Observation(t.Observation))+"."),
		doc.SayIf(!t.Valid, "This run is invalid, so its differences have no verdicts."),
		doc.SayIf(t.Hidden > 0, upperFirst(notShown(t.Hidden))+".")}
	for _, c := range t.Cells {
		headline, rest := partition(c.Metrics, func(m published.Metric) bool { return m.Metric.Headline })
		blocks = append(blocks, doc.Section{Title: plain(c.ID), Flush: true, Blocks: append(publishedTables(t, headline, decimals),
			doc.If(rest != nil, doc.Section{Title: exploratoryTitle, Note: exploratoryNote, Flush: true, Fold: doc.Page, Open: true,
				Blocks: publishedTables(t, rest, decimals)}))})
	}
	return blocks
}

func publishedTables(t *published.Table, metrics []published.Metric, decimals int) []doc.Block {
	if len(metrics) == 0 {
		return nil
	}
	means := doc.Table{Columns: []doc.Column{{Title: "metric", Kind: doc.Name}}, Groups: []doc.Group{{Parts: []doc.Part{{}}}}}
	for _, a := range t.Arms {
		means.Columns = append(means.Columns, doc.Column{Title: plain(a), Right: true})
	}
	differences := doc.Table{NoTitles: true, Groups: []doc.Group{{}}, Columns: []doc.Column{
		{Title: "metric", Kind: doc.Name, In: doc.Markdown}, {Title: "difference", Kind: doc.Name},
		{Title: "relative to the one"}, {Title: "relative to the other"},
		{Title: "verdict", In: doc.Page}, {Title: "what the intervals say", Kind: doc.Prose}}}
	for _, m := range metrics {
		sc := publishedScale(m)
		name := join(", ", plain(m.Metric.Name), sc.Label) + when(!m.Metric.Headline, " (exploratory)")
		row := doc.Row{Cells: doc.Cells(name)}
		for _, a := range m.Arms {
			row.Cells = append(row.Cells, doc.C(moments(sc, a, decimals)))
		}
		means.Groups[0].Add(row)
		part := doc.Part{Title: doc.In(doc.Strong, name)}
		for _, d := range m.Differences {
			n := decimals
			if n == AsTheyVary {
				n = decimalsFor(100 * uncertainty(m, d))
			}
			row := doc.Row{Cells: append(doc.Cells(name, plain(d.B)+" against "+plain(d.A),
				relative(d.RelativeToA, n, d.A), relative(d.RelativeToB, n, d.B)), doc.Cell{}, doc.C("not judged"))}
			if v := d.Verdict; v != nil {
				text := join("; ", brief(wording.Qualified(v)), brief(wording.AlternativeText(v.WithInvalid)))
				row.Cells[4], row.Cells[5] = doc.Of(verdict(v.Verdict, claimsObservational(*v))), doc.C(plain(d.B)+": "+text)
			}
			part.Add(row)
		}
		differences.Groups[0].Parts = append(differences.Groups[0].Parts, part)
	}
	return []doc.Block{means, differences}
}

func publishedTitle(t *published.Table) string {
	return cmp.Or(plain(t.Experiment), "run") + ": mean (population variance) over trials"
}

func publishedTrials(t *published.Table) string {
	text, invalid := "", 0
	for _, c := range t.Cells {
		one, lost := countedTrials(c.Trials)
		invalid += lost
		switch {
		case text == "":
			text = one
		case text != one:
			text = "see the numbers beside the means"
		}
	}
	text += when(len(t.Cells) > 1, " in each cell")
	text = "Trials: " + text + ". "
	switch {
	case invalid == 0:
		return text + "All are valid and in the table."
	case t.WithInvalid:
		return text + "The table includes the invalid ones that have values, as tables without error checks do; the verdicts rest on valid trials only."
	}
	return text + "Only valid ones are in the table; --with-invalid includes the others, as tables without error checks do."
}

func countedTrials(arms []published.Arm) (text string, invalid int) {
	var parts []string
	for _, a := range arms {
		invalid += a.Invalid
		parts = append(parts, plain(a.Name)+" "+number(a.Trials)+when(a.Invalid > 0, " ("+number(a.Invalid)+" invalid)"))
	}
	return strings.Join(parts, ", "), invalid
}

func differenceCounts(t *published.Table) string {
	total, byVerdict := 0, map[analysis.Verdict]int{}
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			for _, d := range m.Differences {
				if d.Verdict != nil && m.Metric.Headline && d.Verdict.Verdict != analysis.Restated {
					total++
					byVerdict[d.Verdict.Verdict]++
				}
			}
		}
	}
	if total == 0 || !t.Valid {
		return ""
	}
	same, open := byVerdict[analysis.Equivalent], byVerdict[analysis.NotResolved]
	return fmt.Sprintf("Of %s of headline metrics, the intervals confirm %d%s%s.",
		wording.Count(total, "difference", "differences"), byVerdict[analysis.Costs]+byVerdict[analysis.Gains],
		when(same > 0, fmt.Sprintf(", show %d to be smaller than %s", same, wording.Share(t.Margin))),
		when(open > 0, fmt.Sprintf(", and leave %d open", open)))
}

// smallMean and largeMean limit the means that are shown in the metric's own unit, as in publications. For means beyond
// these limits, a smaller or larger unit is chosen.
const smallMean, largeMean = 1e-3, 1e4

func publishedScale(m published.Metric) wording.Scale {
	largest := 0.0
	for _, a := range m.Arms {
		largest = max(largest, math.Abs(a.Mean))
	}
	if largest >= smallMean && largest < largeMean {
		return wording.Scale{Div: 1, Label: plain(m.Metric.Unit)}
	}
	return wording.ScaleOf(m.Metric.Unit, largest)
}

func moments(s wording.Scale, m published.Moments, decimals int) string {
	if m.N == 0 {
		return wording.Missing
	}
	mean, variance, text := m.Mean/s.Div, m.Variance/s.Div/s.Div, wording.Missing // the variance stays empty for a single trial, which has none
	if m.N > 1 {
		text = cmp.Or(when(decimals != AsTheyVary, fixed(variance, decimals)), wording.Number(variance, 3))
	}
	if decimals == AsTheyVary {
		decimals = decimalsFor(math.Sqrt(variance))
	}
	return fixed(mean, decimals) + " (" + text + ")"
}

// uncertainty estimates the standard error of the difference between the means of two arms. The result is a share of a
// mean: 0.02 is 2 %.
func uncertainty(m published.Metric, d published.Difference) float64 {
	sum := 0.0
	for _, a := range m.Arms {
		if (a.Arm == d.A || a.Arm == d.B) && a.N > 0 && a.Mean != 0 {
			sum += a.Variance / float64(a.N) / (a.Mean * a.Mean)
		}
	}
	return math.Sqrt(sum)
}

// decimalsFor returns the number of decimals that show two digits of a spread, such as 3 for 0.012. Without a spread,
// it returns maxDecimals.
func decimalsFor(spread float64) int {
	if !wording.Finite(spread) || spread <= 0 {
		return maxDecimals
	}
	return min(maxDecimals, max(0, 1-int(math.Floor(math.Log10(spread)))))
}

// fixed writes v with a number of decimals. A value that is too small or too large for these decimals is
// written with a power of ten.
func fixed(v float64, decimals int) string {
	if a := math.Abs(v); wording.Finite(v) && (a == 0 || (decimals < 3 || a >= math.Pow10(2-decimals)) && a < 1e12) {
		return wording.Fixed(v, decimals)
	}
	return wording.Number(v, max(decimals, 3))
}

// relative writes the difference of an arm from another as a percentage: "6.97 % of plain less".
func relative(v *float64, decimals int, arm string) string {
	if v == nil {
		return wording.Missing + " of " + plain(arm)
	}
	word := cmp.Or(when(*v < 0, "less"), "more")
	return fmt.Sprintf("%.*f %% of %s %s", decimals, math.Abs(*v)*100, plain(arm), word)
}
