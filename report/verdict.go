package report

import (
	"cmp"

	"tare/analysis"
	"tare/gate"
	"tare/history"
	doc "tare/report/document"
)

// verdict returns a verdict as a word in its style, with a mark if it is observational.
func verdict(v analysis.Verdict, observed bool) doc.Text {
	word := plain(string(v))
	if v == "" {
		word = "mixed"
	}
	return badged(doc.In(verdictStyle(v), word), observed, "obs.")
}

// badged adds a remark to a text if holds is true.
func badged(text doc.Text, holds bool, remark string) doc.Text {
	if holds {
		text = append(text, doc.Span{Words: " "}, doc.Span{Words: remark, Style: doc.Badge})
	}
	return text
}

// gradedVerdict returns the verdict of a comparison as a word, with its grade.
func gradedVerdict(c *analysis.Comparison, observed bool) doc.Text {
	return badged(verdict(c.Verdict, observed), ifNormal(c), ifNormalMark)
}

// ifNormal reports whether a comparison makes a claim that assumes normal noise.
func ifNormal(c *analysis.Comparison) bool { return c.Grade == analysis.Normal && c.Verdict.Claims() }

// verdictStyles are the styles of verdicts; "" stands for several verdicts.
var verdictStyles = map[analysis.Verdict]doc.Style{"": doc.Mixed, analysis.Costs: doc.Cost, analysis.Gains: doc.Gain,
	analysis.Equivalent: doc.Equal, analysis.Fails: doc.Cost, analysis.MoreTogether: doc.Cost, analysis.LessTogether: doc.Gain, analysis.AddsUp: doc.Equal, analysis.NotResolved: doc.Open, analysis.Interim: doc.Open, analysis.Restated: doc.Open}

func verdictStyle(v analysis.Verdict) doc.Style { return cmp.Or(verdictStyles[v], doc.Invalid) }

var shiftStyles = map[string]doc.Style{history.Worse: doc.Cost, history.Better: doc.Gain, history.Rose: doc.Rise,
	history.Fell: doc.Fall}

// changeVerdict returns the direction of a change as a word.
func changeVerdict(c history.Shift) doc.Text {
	return doc.In(cmp.Or(shiftStyles[c.Direction], doc.Mixed), c.Direction)
}

var gateStyles = map[gate.Outcome]doc.Style{gate.Pass: doc.Passed, gate.Fail: doc.Failed, gate.Invalid: doc.Invalid}

func gateStyle(o gate.Outcome) doc.Style { return cmp.Or(gateStyles[o], doc.Open) }
