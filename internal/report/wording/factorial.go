package wording

import (
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/lists"
)

// EffectName names a main effect or an interaction: "wireguard", "wireguard × mtls".
func EffectName(e *analysis.Effect) string { return strings.Join(e.Of, " × ") }

// EffectSentence is EffectVerdict, marked as exploratory if the metric is no headline: "exploratory:
// costs 7.1 % [6.2, 8.0] on average over mtls".
func EffectSentence(e *analysis.Effect) string {
	return When(!e.Metric.Headline, "exploratory: ") + EffectVerdict(e)
}

// EffectVerdict states the verdict on an effect with its numbers. For an interaction: "together costs 3.1 % [1.0, 5.2]
// less than the sum", "adds up within ±2 % (…)" or "no interaction shown: …".
func EffectVerdict(e *analysis.Effect) string {
	text := Verdict(&e.Comparison)
	if e.Interaction() {
		text = interaction(e)
	}
	if e.Verdict == analysis.Invalid || e.Reason != nil && !HasNumbers(e.Comparison) {
		return text
	}
	return text + When(len(e.Over) > 0, ", on average over "+List(e.Over))
}

func interaction(e *analysis.Effect) string {
	c := AgainstSum(e)
	switch e.Verdict {
	case analysis.MoreTogether, analysis.LessTogether:
		return beyondSum(e) + ifNormal(e.Grade) + withstands(c)
	case analysis.AddsUp:
		return "adds up within ±" + Size(c.Metric, c.Margin) + ifNormal(e.Grade) + " (" + Join("; ", beyondSum(e), innerText(c)) + ")"
	case analysis.NotResolved:
		if !HasNumbers(*c) {
			return "no interaction shown: " + Why(c)
		}
		return "no interaction shown: " + beyondSum(e) + " (" + Why(c) + ")"
	}
	return Verdict(c)
}

// AgainstSum returns the comparison of an effect. For an interaction, the comparison is marked as one with the sum of
// the parts, not with the baseline.
func AgainstSum(e *analysis.Effect) *analysis.Comparison {
	c := e.Comparison
	if e.Interaction() {
		c.Versus = &analysis.Versus{}
	}
	return &c
}

// beyondSum writes an interaction: "together costs 3.1 % [1.0, 5.2] less than the sum". An interaction that rounds to
// zero has no direction.
func beyondSum(e *analysis.Effect) string { return "together " + effect(AgainstSum(e), sum(e)) }

// sum returns the words for the sum that an interaction is compared with: "the sum" for two layers, "singles and pairs
// add up to" for three.
func sum(e *analysis.Effect) string {
	switch len(e.Of) {
	case 2:
		return "the sum"
	case 3:
		return "singles and pairs add up to"
	}
	return "fewer of them add up to"
}

// List joins names: "a", "a and b", "a, b and c".
func List(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// PartName names a part of a cost: "installed", "any rule", "each rule".
func PartName(b *analysis.Breakdown, p analysis.PartName) string {
	if p == analysis.Installed {
		return "installed"
	}
	return string(p) + " " + one(b)
}

// one names the thing that a breakdown counts, in the singular: "rule", "unit of depth".
func one(b *analysis.Breakdown) string {
	if s := Singular(b.Factor); s != b.Factor {
		return s
	}
	return "unit of " + b.Factor
}

// BreakdownName names the subject of a breakdown: "seccomp", "seccomp with action=errno".
func BreakdownName(b *analysis.Breakdown) string {
	held := lists.Map(b.Held, factor.Level.String)
	if held == nil {
		return b.Arm
	}
	return b.Arm + " with " + List(held)
}

// BreakdownText lists the parts of a cost: "installed costs 1.2 % [0.8, 1.6], each rule 0.05 % [0.04, 0.06] more". A
// part without a claim has its verdict behind its name.
func BreakdownText(b *analysis.Breakdown) string {
	var texts []string
	verb := ""
	for i := range b.Parts {
		p := &b.Parts[i]
		text := PartName(b, p.Part)
		switch effect, amount := partEffect(p); {
		case !HasNumbers(p.Comparison):
			text += ": " + Verdict(&p.Comparison)
			verb = ""
		default:
			text += When(effect != verb, " "+effect)
			verb = effect
			text += " " + amount
		}
		texts = append(texts, text)
	}
	text := strings.Join(texts, ", ")
	if n := len(b.Parts); n > 0 && b.Parts[n-1].Part == analysis.EachPart && (verb == "costs" || verb == "gains") {
		text += " more"
	}
	return Join("; ", text, NotALine(b))
}

// partEffect returns the words for the effect of a part: a verb, such as "costs", and an amount, such as "3.4
// % [3.0, 3.8]".
func partEffect(p *analysis.Part) (verb, amount string) {
	o, w := p.Overhead, plain
	switch p.Verdict {
	case analysis.Gains:
		verb, o = "gains", negated(o)
	case analysis.Costs:
		verb = "costs"
	default:
		verb, w = "is "+string(p.Verdict)+ifNormal(p.Grade)+" at", OverheadWords(p.Metric)
	}
	amount = estimate(w.interval(p.Metric, o, p.PointOnly))
	amount += When(p.Verdict.Claims(), ifNormal(p.Grade))
	return verb, amount
}

// PartSentence states the verdict on a part together with the part's name.
func PartSentence(b *analysis.Breakdown, p *analysis.Part) string {
	return When(!p.Metric.Headline, "exploratory: ") + PartName(b, p.Part) + " " + Verdict(&p.Comparison)
}

// PartAmount writes the cost of a part in the metric's unit: "12 ns more [10, 14]"; "" if the part's overhead
// already has this unit.
func PartAmount(p *analysis.Part) string {
	if p.Amount == nil || !HasNumbers(p.Comparison) {
		return ""
	}
	m := p.Metric
	m.Scale = experiment.Difference
	return estimate(OverheadWords(m).interval(m, *p.Amount, p.Amount.Lo == p.Amount.Hi))
}

// NotALine describes the level farthest from the line: "not a line: 64 rules cost 12 % more [8, 16] than the line
// through the other levels says; …"; "" if the line fits.
func NotALine(b *analysis.Breakdown) string {
	miss := b.Miss
	if miss == nil || !miss.Poor {
		return ""
	}
	by := estimate(more.interval(b.Metric, miss.By, miss.By.Lo == miss.By.Hi))
	text := "not a line: " + Number(miss.X, 6) + " " + b.Factor + " cost " + by + " than the line through the other levels says"
	if miss.X == 1 {
		text = strings.Replace(text, "1 "+b.Factor+" cost ", "1 "+one(b)+" costs ", 1)
	}
	return text + When(miss.Bend != "", "; "+miss.Bend+" at higher levels than at lower ones")
}
