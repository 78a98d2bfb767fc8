package wording

import (
	"strings"

	"tare/analysis"
)

// EffectName names a main effect or an interaction: "wireguard", "wireguard × mtls".
func EffectName(e *analysis.Effect) string { return strings.Join(e.Of, " × ") }

// EffectSentence says all of an effect where nothing stands beside it: "exploratory: costs
// 7.1 % [6.2, 8.0] on average over mtls", "together costs 3.1 % [1.0, 5.2] less than the sum".
func EffectSentence(e *analysis.Effect) string {
	if e.Metric.Headline {
		return EffectVerdict(e)
	}
	return "exploratory: " + EffectVerdict(e)
}

// EffectVerdict says the verdict on an effect with its numbers. That on an interaction is
// "together costs 3.1 % [1.0, 5.2] less than the sum", "adds up within ±2 % (…)" or
// "no interaction shown: …".
func EffectVerdict(e *analysis.Effect) string {
	text := Verdict(&e.Comparison)
	if e.Interaction() {
		text = interaction(e)
	}
	if e.Verdict == analysis.Invalid || e.Reason != nil && !Judged(e.Comparison) {
		return text
	}
	return text + averaged(e)
}

// averaged says over what an effect is an average: " on average over mtls".
func averaged(e *analysis.Effect) string {
	if len(e.Over) == 0 {
		return ""
	}
	return ", on average over " + list(e.Over)
}

func interaction(e *analysis.Effect) string {
	c := toSum(e)
	switch e.Verdict {
	case analysis.MoreTogether, analysis.LessTogether:
		return beyondSum(e) + ifNormal(e.Grade) + withstands(c)
	case analysis.AddsUp:
		text := beyondSum(e)
		if c.Inner != nil {
			text += "; " + innerText(c) + " lies within"
		}
		return "adds up within ±" + Size(c.Metric, c.Margin) + ifNormal(e.Grade) + " (" + text + ")"
	case analysis.NotResolved:
		if !Judged(*c) {
			return "no interaction shown: " + Why(c)
		}
		return "no interaction shown: " + beyondSum(e) + " (" + Why(c) + ")"
	}
	return Verdict(c)
}

// EffectOverhead is Overhead of an effect: that of an interaction is relative to the sum.
func EffectOverhead(e *analysis.Effect) (point, interval string) {
	return Overhead(*toSum(e))
}

// toSum is an effect as a comparison: an interaction with the sum.
func toSum(e *analysis.Effect) *analysis.Comparison {
	c := e.Comparison
	if e.Interaction() {
		c.Versus = &analysis.Versus{}
	}
	return &c
}

// beyondSum writes an interaction by its direction: "together costs 3.1 % [1.0, 5.2] less
// than the sum". What would be written as zero has none.
func beyondSum(e *analysis.Effect) string { return "together " + effect(toSum(e), sum(e)) }

// sum names what an interaction goes beyond.
func sum(e *analysis.Effect) string {
	switch len(e.Of) {
	case 2:
		return "the sum"
	case 3:
		return "singles and pairs add up to"
	}
	return "fewer of them add up to"
}

// list joins names: "a", "a and b", "a, b and c".
func list(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
