package wording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"tare/analysis"
	"tare/experiment"
)

// JSON has the typed values of a result as data, and beside them the same in words, under the names that the
// first versions of each schema gave them. This file has the words of an analysis, jsonviews.go those of other results.
// docs/analysis.schema.json describes each member; its test, in package export, has the types that a reader of the
// JSON may want.

// object is a value as JSON with members beside its own.
type object struct {
	of     any
	beside []member
}

type member struct {
	name  string
	value any
}

// JSON gives a result, or a part of one, the form in which it is written as JSON. What has no words stays as it is.
func JSON(v any) any {
	if beside := words(v); beside != nil {
		return object{v, beside}
	}
	return v
}

// MarshalJSON writes the value's own members and then those beside it. A member takes the place of earlier ones of
// its name; without such, an empty one is left out.
func (o object) MarshalJSON() ([]byte, error) {
	all, err := members(o.of)
	if err != nil {
		return nil, err
	}
	for _, m := range o.beside {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		before := len(all)
		all = slices.DeleteFunc(all, func(earlier member) bool { return earlier.name == m.name })
		if text := string(value); len(all) < before || text != "null" && text != `""` && text != "[]" {
			all = append(all, member{m.name, value})
		}
	}
	text := []byte("{")
	for i, m := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s", m.name, m.value)
	}
	return append(text, '}'), nil
}

// members are those that a struct has as JSON by itself, in order, each as it is written.
func members(v any) ([]member, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var all []member
	in := json.NewDecoder(bytes.NewReader(text))
	_, err = in.Token() // the opening brace
	for err == nil && in.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = in.Token(); err == nil {
			err = in.Decode(&value)
			all = append(all, member{name.(string), value})
		}
	}
	return all, err
}

// worded are the values of a list, each with its words.
func worded[T any](list []T) []any {
	return each(list, func(v T) any { return JSON(v) })
}

// optional is a value with its words; nil where there is none.
func optional[T any](v *T) any {
	if v == nil {
		return nil
	}
	return JSON(*v)
}

// said is a value with a text.
func said(v any, text string) object { return object{v, []member{{"text", text}}} }

// each gives something for each of a list, and nothing for none.
func each[T, U any](list []T, of func(T) U) []U {
	if list == nil {
		return nil
	}
	all := make([]U, len(list))
	for i, v := range list {
		all[i] = of(v)
	}
	return all
}

// Figures are a reason or a finding as data.
type Figures struct {
	Kind    string `json:"kind"`    // what it says; package analysis lists the kinds
	Figures any    `json:"figures"` // the numbers and names that go with the kind
}

func figuresOf[T interface{ Kind() string }](list []T) []Figures {
	return each(list, func(v T) Figures { return Figures{v.Kind(), v} })
}

// figure is that of one reason; nil where there is none.
func figure(r analysis.Reason) *Figures {
	if r == nil {
		return nil
	}
	return &Figures{r.Kind(), r}
}

// words are the members that JSON has of a value besides its own, and those of its own that have words themselves.
func words(v any) []member {
	switch v := v.(type) {
	case *analysis.Run:
		return []member{{"missing", Ending(v)}, {"answer", answers(v)}, {"reasons", Reasons(v.Reasons)}, {"invalidity", figuresOf(v.Reasons)},
			{"observational", Observation(v.Observation)}, {"failures", worded(v.Failures)},
			{"comparisons", worded(v.Comparisons)}, {"controls", worded(v.Controls)}, {"warnings", worded(v.Warnings)},
			{"cells", worded(v.Cells)}, {"scaling", worded(v.Scaling)}, {"powerLaws", worded(v.PowerLaws)},
			{"breakdowns", worded(v.Breakdowns)}, {"factorial", optional(v.Factorial)}}
	case analysis.Failures:
		return []member{{"text", Failed(&v, "baseline")}, {"reason", figure(v.Reason)}}
	case analysis.Comparison:
		return comparisonWords(&v, Sentence(&v))
	case analysis.Warning:
		return []member{{"kind", v.Finding.Kind()}, {"figures", v.Finding}, {"text", Finding(v.Finding)}}
	case analysis.CellSummary:
		return []member{{"loop", optional(v.Loop)}}
	case analysis.LoopSummary:
		return []member{{"text", Loop(&v)}}
	case analysis.Scaling:
		return []member{{"per", Per(&v)}, {"arms", each(v.Arms, func(a analysis.ScalingArm) object { return scalingArm(&v, &a) })}}
	case analysis.PowerLaw:
		return []member{{"expected", ExpectedLaw(&v)}, {"arms", each(v.Arms, func(a analysis.PowerLawArm) object {
			return object{a, []member{{"text", Law(&v, &a)}, {"misfit", said(a.Misfit, Misfit(&a.Misfit))}}}
		})}}
	case analysis.Breakdown:
		return breakdownWords(&v)
	case analysis.Factorial:
		return []member{{"effects", worded(v.Effects)}}
	case analysis.Effect:
		return comparisonWords(&v.Comparison, EffectSentence(&v))
	}
	return viewWords(v)
}

// answers say of each arm what it costs, in short.
func answers(r *analysis.Run) []object {
	baseline := "baseline"
	if r.Plan != nil {
		baseline = cmp.Or(r.Plan.ArmWith(experiment.Baseline), baseline)
	}
	return each(analysis.ArmAnswers(r), func(a analysis.ArmAnswer) object {
		text := Answer(&a, baseline)
		if r.Observation != nil && a.Verdict.Claims() {
			text = "observational: " + text
		}
		return said(a, text)
	})
}

// comparisonWords are those of a comparison whose text says more, or less, than its sentence.
func comparisonWords(c *analysis.Comparison, text string) []member {
	list := []member{{"text", text}, {"reason", figure(c.Reason)}, {"warnings", Findings(c.Warnings)}, {"findings", figuresOf(c.Warnings)}}
	if a := c.WithInvalid; a != nil {
		alternative := AlternativeText(a)
		if c.Observational {
			alternative = "observational: " + alternative
		}
		list = append(list, member{"withInvalid",
			object{a, append(comparisonWords(&a.Comparison, ""), member{"text", alternative}, member{"trials", a.Trials})}})
	}
	return list
}

func scalingArm(s *analysis.Scaling, a *analysis.ScalingArm) object {
	list := []member{{"text", Slope(s, a)}, {"fit", said(a.Fit, Fit(s, a.Fit))}}
	if d := a.Difference; d != nil {
		list = append(list, member{"difference", said(d, Steeper(s, d))})
	}
	if d := a.BaseDifference; d != nil {
		list = append(list, member{"baseDifference", said(d, HigherAtNone(s, d))})
	}
	return object{a, list}
}

func breakdownWords(b *analysis.Breakdown) []member {
	list := []member{{"text", BreakdownText(b)}, {"parts", each(b.Parts, func(p analysis.Part) object {
		return object{p, append(comparisonWords(&p.Comparison, PartSentence(b, &p)), member{"part", p.Part}, member{"amount", p.Amount})}
	})}}
	if b.Miss != nil {
		list = append(list, member{"miss", said(b.Miss, NotALine(b))})
	}
	return list
}
