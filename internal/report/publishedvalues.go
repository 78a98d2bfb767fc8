package report

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
)

// mostPublished is the largest number of published numbers on a terminal without --all.
const mostPublished = 12

// publishedValues shows the numbers of documents beside the run's own, below the name of the document.
func publishedValues(sources []analysis.PublishedSource, confidence string, all bool) []doc.Block {
	t, n := publishedValueTable(sources, math.MaxInt)
	if n == 0 {
		return nil
	}
	short := doc.On(doc.Terminal, t)
	if n > mostPublished && !all {
		first, _ := publishedValueTable(sources, mostPublished)
		short = doc.On(doc.Terminal, first, doc.Say(fmt.Sprintf("%d published numbers more (--all shows them)", n-mostPublished)))
	}
	return []doc.Block{doc.Section{ID: "published-values", Title: "Published and measured", Flush: true, Blocks: []doc.Block{short,
		doc.On(doc.Markdown|doc.Page, doc.Say(fmt.Sprintf("Numbers of documents beside those of this run, with %s intervals: "+
			"inside and outside say whether the interval contains the published number, overlap and apart whether it has values in common with a published range. "+
			"Nothing is tested: other machines may give other numbers.", confidence)), t)}}}
}

// publishedValueTable makes the table of the first published numbers. n counts all of them.
func publishedValueTable(sources []analysis.PublishedSource, most int) (t doc.Table, n int) {
	t = doc.Table{Split: true, Columns: []doc.Column{{Title: "metric", Kind: doc.Name}, {Title: "arm", Kind: doc.Name}, {Title: "published", Right: true},
		{Title: "measured here", Right: true}, {Title: "ratio", Right: true}, {Title: "reading", Kind: doc.Prose}}}
	for _, s := range sources {
		title := join(", ", plain(s.Source), when(s.Revision != "", "revision "+plain(s.Revision))) + when(s.URL != "", " ("+plain(s.URL)+")")
		g := doc.Group{Title: doc.Words(title), Parts: []doc.Part{{}}}
		noted := map[string]bool{} // a row of the file has its remarks once, although it may name several cells
		for _, p := range pointers(s.Rows) {
			if n++; n > most {
				continue
			}
			row := doc.Row{Cells: doc.Cells(plain(p.Metric.Name)+" "+wording.In(plain(p.Cell)), plain(p.Arm)+when(p.Against != "", " against "+plain(p.Against)),
				wording.PublishedNumber(p), wording.PublishedHere(p), wording.PublishedRatio(p), brief(wording.PublishedReading(p)))}
			about := join("; ", plain(p.Row.Label), plain(p.Row.Note), when(p.Row.Unknown != nil, "not in the document: "+strings.Join(plainAll(p.Row.Unknown), ", ")))
			if key := p.Row.Metric + " " + p.Arm + " " + about; about != "" && !noted[key] {
				noted[key], row.Notes = true, []string{about}
			}
			g.Add(row)
		}
		if g.Parts[0].Rows != nil {
			t.Groups = append(t.Groups, g)
		}
	}
	return t, n
}

// marks returns the published numbers about an arm on a metric: its differences from the baseline, or its values.
func (s *sheet) marks(g group, arm string, values bool) (list []figure.Mark) {
	for _, source := range s.run.Published {
		for _, p := range pointers(source.Rows) {
			if at := p.Published.Point; at != nil && p.Cell == g.cell && p.Metric.Name == g.metric.Name && p.Arm == arm && values == (p.Against == "") && (values || plain(p.Against) == s.baseline) {
				list = append(list, figure.Mark{At: *at, Label: wording.PublishedNumber(p)})
			}
		}
	}
	return list
}
