package report

import (
	"tare/analysis"
	doc "tare/report/document"
)

// verdict is a verdict as a word in its style, with a mark if it is observed
// only.
func verdict(v analysis.Verdict, observed bool) doc.Text {
	word := plain(string(v))
	if v == "" {
		word = "mixed"
	}
	text := doc.In(verdictStyle(v), word)
	if observed {
		text = append(text, doc.Span{Words: " "}, doc.Span{Words: "obs.", Style: doc.Badge})
	}
	return text
}

// verdictStyle is the style of a verdict.
func verdictStyle(v analysis.Verdict) doc.Style {
	switch v {
	case "":
		return doc.Mixed
	case analysis.Costs:
		return doc.Cost
	case analysis.Gains:
		return doc.Gain
	case analysis.Equivalent:
		return doc.Equal
	case analysis.NotResolved:
		return doc.Open
	}
	return doc.Invalid
}
