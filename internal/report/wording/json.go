package wording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
	"tare/internal/runs/cost"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
	"tare/internal/runs/published"
)

// object is a value that is written as JSON with additional members.
type object struct {
	value any
	added []member
}

type member struct {
	name  string
	value any
}

// JSON wraps a result, or a part of it, so that encoding/json adds texts to its values. Member names never change
// within a schema version (docs/analysis.schema.json).
func JSON(v any) any {
	if added := words(v); added != nil {
		return object{v, added}
	}
	return v
}

// MarshalJSON writes the value's own members and then the added ones. An added member replaces an own member of its
// name, even if empty. Other empty members are not added.
func (o object) MarshalJSON() ([]byte, error) {
	all, err := members(o.value)
	if err != nil {
		return nil, err
	}
	for _, m := range o.added {
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

// members returns the JSON members of a struct, in order, each already encoded.
func members(v any) ([]member, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var all []member
	in := json.NewDecoder(bytes.NewReader(text))
	_, err = in.Token() // skips the opening brace
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

// worded applies the function JSON, which adds texts, to every value of a list.
func worded[T any](list []T) []any {
	return each(list, func(v T) any { return JSON(v) })
}

// optional wraps *v for JSON output; nil if v is nil.
func optional[T any](v *T) any {
	if v == nil {
		return nil
	}
	return JSON(*v)
}

func withText(v any, text string) object { return object{v, []member{{"text", text}}} }

// each applies a function to every element of a list; nil for a nil list.
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

// Figures is the JSON form of a reason or a finding.
type Figures struct {
	Kind    string `json:"kind"`    // name of the kind; package analysis lists all kinds
	Figures any    `json:"figures"` // the fields of the reason or finding: numbers and names
}

func figuresOf[T interface{ Kind() string }](list []T) []Figures {
	return each(list, func(v T) Figures { return Figures{v.Kind(), v} })
}

// figure wraps a reason for JSON output: its kind and its details; nil for no reason.
func figure(r analysis.Reason) *Figures {
	if r == nil {
		return nil
	}
	return &Figures{r.Kind(), r}
}

// words returns the members that JSON output adds to a value. A member may replace one of the value's own, so that its
// parts get texts.
func words(v any) []member {
	switch v := v.(type) {
	case *analysis.Run:
		return []member{{"missing", Ending(v)}, {"published", worded(v.Published)}, {"answer", answers(v)}, {"reasons", Reasons(v.Reasons)}, {"invalidity", figuresOf(v.Reasons)},
			{"observational", Observation(v.Observation)}, {"failures", worded(v.Failures)},
			{"comparisons", worded(v.Comparisons)}, {"controls", worded(v.Controls)}, {"warnings", worded(v.Warnings)},
			{"cells", worded(v.Cells)}, {"scaling", worded(v.Scaling)}, {"powerLaws", worded(v.PowerLaws)},
			{"breakdowns", worded(v.Breakdowns)}, {"factorial", optional(v.Factorial)}, {"quotas", worded(v.Quotas)}}
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
			return object{a, []member{{"text", law(&v, &a)}, {"misfit", withText(a.Misfit, Misfit(&a.Misfit))}}}
		})}}
	case analysis.Breakdown:
		return breakdownWords(&v)
	case analysis.QuotaSummary:
		return []member{{"text", Quota(&v)}}
	case analysis.Factorial:
		return []member{{"effects", worded(v.Effects)}}
	case analysis.PublishedSource:
		return []member{{"rows", worded(v.Rows)}}
	case analysis.Published:
		return []member{{"text", PublishedText(&v)}, {"reason", figure(v.Reason)}}
	case analysis.Effect:
		return comparisonWords(&v.Comparison, EffectSentence(&v))
	}
	return viewWords(v)
}

func answers(r *analysis.Run) []object {
	baseline := "baseline"
	if r.Plan != nil {
		baseline = cmp.Or(r.Plan.ArmWith(experiment.Baseline), baseline)
	}
	return each(analysis.ArmSummaries(r), func(a analysis.ArmSummary) object {
		return withText(a, When(r.Observation != nil && a.Verdict.Claims(), "observational: ")+Answer(&a, baseline))
	})
}

func comparisonWords(c *analysis.Comparison, text string) []member {
	list := []member{{"text", text}, {"reason", figure(c.Reason)}, {"warnings", Findings(c.Warnings)}, {"findings", figuresOf(c.Warnings)}}
	if a := c.WithInvalid; a != nil {
		alternative := When(c.Observational, "observational: ") + AlternativeText(a)
		list = append(list, member{"withInvalid",
			object{a, append(comparisonWords(&a.Comparison, ""), member{"text", alternative}, member{"trials", a.Trials})}})
	}
	return list
}

func scalingArm(s *analysis.Scaling, a *analysis.ScalingArm) object {
	list := []member{{"text", SlopeAlone(s, a) + " per " + Per(s)}, {"fit", withText(a.Fit, Fit(s, a.Fit))}}
	if d := a.Difference; d != nil {
		list = append(list, member{"difference", withText(d, lineDifference(s, d, " per "+Per(s)))})
	}
	if d := a.BaseDifference; d != nil {
		list = append(list, member{"baseDifference", withText(d, lineDifference(s, d, "")+", with no "+s.Factor)})
	}
	return object{a, list}
}

func breakdownWords(b *analysis.Breakdown) []member {
	list := []member{{"text", BreakdownText(b)}, {"parts", each(b.Parts, func(p analysis.Part) object {
		return object{p, append(comparisonWords(&p.Comparison, PartSentence(b, &p)), member{"part", p.Part}, member{"amount", p.Amount})}
	})}}
	if b.Miss != nil {
		list = append(list, member{"miss", withText(b.Miss, NotALine(b))})
	}
	return list
}

// viewWords returns the JSON members with words for a result v that is no analysis, such as a comparison of runs.
func viewWords(v any) []member {
	switch v := v.(type) {
	case *compare.Result:
		return []member{{"runs", worded(v.Runs)}, {"observational", ObservationAcross(v)}, {"unknown", Findings(v.Unknown)},
			{"apart", worded(v.Apart)}, {"changes", worded(v.Changes)}, {"floors", worded(v.Floors)}, {"levels", worded(v.Levels)},
			{"warnings", Findings(v.Warnings)}, {"findings", figuresOf(v.Warnings)}}
	case compare.Run:
		return []member{{"reasons", Reasons(v.Reasons)}, {"invalidity", figuresOf(v.Reasons)}, {"observational", Observation(v.Observation)}}
	case compare.NotShared:
		return []member{{"why", NotShared(v)}}
	case compare.Change:
		return comparisonWords(&v.Comparison, Sentence(&v.Comparison))
	case compare.Level:
		return []member{{"against", optional(v.Against)}}
	case *combine.Result:
		return []member{{"runs", worded(v.Runs)}, {"comparisons", worded(v.Comparisons)}, {"controls", worded(v.Controls)},
			{"unknown", Findings(v.Unknown)}, {"warnings", Findings(v.Warnings)}, {"findings", figuresOf(v.Warnings)}}
	case combine.Run:
		return []member{{"reasons", Reasons(v.Reasons)}, {"observational", Observation(v.Observation)}, {"leftOut", Reason(v.LeftOut)}}
	case combine.Comparison:
		return append(comparisonWords(&v.Comparison, Sentence(&v.Comparison)), member{"hartungKnapp", v.HartungKnapp}, member{"spread", v.Spread},
			member{"pSpread", v.PSpread}, member{"prediction", v.Prediction}, member{"occasions", worded(v.Occasions)})
	case combine.Occasion:
		return []member{{"leftOut", Reason(v.LeftOut)}}
	case *gate.Result:
		return []member{{"reasons", GateReasons(v)}, {"invalidity", figuresOf(v.Reasons)}, {"observational", Observation(v.Observation)},
			{"cases", worded(v.Cases)}, {"warnings", Findings(v.Warnings)}, {"findings", figuresOf(v.Warnings)}}
	case gate.Case:
		return []member{{"reason", GateReason(v.Reason)}, {"detail", Reason(v.Gap)}, {"gap", figure(v.Gap)}}
	case *cost.Result:
		return costWords(v)
	case *published.Table:
		return []member{{"observational", Observation(v.Observation)}, {"cells", worded(v.Cells)}, {"published", worded(v.Published)}}
	case published.Cell:
		return []member{{"metrics", worded(v.Metrics)}}
	case published.Metric:
		return []member{{"differences", worded(v.Differences)}}
	case published.Difference:
		return []member{{"said", optional(v.Verdict)}}
	}
	return historyWords(v)
}

func historyWords(v any) []member {
	switch v := v.(type) {
	case *history.History:
		return []member{{"experiments", worded(v.Experiments)}}
	case *history.Experiment:
		return []member{{"runs", worded(v.Runs)}, {"series", worded(v.Series)}}
	case *history.Run:
		return []member{{"leftOut", Reason(v.LeftOut)}, {"omitted", figure(v.LeftOut)}, {"observational", Imported(v)},
			{"events", Differences(v.Events)}, {"changed", v.Events}}
	case history.Series:
		return []member{{"points", worded(v.Points)}, {"stretches", worded(v.Stretches)}, {"changes", worded(v.Shifts)},
			{"notes", Findings(v.Notes)}, {"findings", figuresOf(v.Notes)}}
	case history.Point:
		return []member{{"leftOut", Reason(v.LeftOut)}, {"omitted", figure(v.LeftOut)}}
	case history.Stretch:
		return []member{{"differs", Differences(v.Differs)}, {"changed", v.Differs}}
	case history.Change:
		return []member{{"with", worded(v.With)}, {"near", worded(v.Near)}}
	case history.Event:
		return []member{{"text", Difference(v.Difference)}}
	}
	return nil
}

// costWords returns what JSON output adds to the cost of arms: texts, and prices if a node has a price.
func costWords(r *cost.Result) []member {
	prices := func(n cost.Needs) []member {
		if r.NodePrice == 0 {
			return nil
		}
		return []member{{"perHour", r.PerHour(n.Nodes)}, {"perMonth", r.PerMonth(n.Nodes)}, {"wholeNodesPerMonth", r.PerMonth(n.Whole)}}
	}
	return []member{{"observational", Observation(r.Observation)}, {"assumptions", CostAssumptions(r)},
		{"bills", each(r.Bills, func(b cost.Bill) object {
			return object{b, []member{{"arms", each(b.Arms, func(a cost.Arm) object {
				list := prices(a.Needs)
				if m := a.More; m != nil {
					list = append(list, member{"more", object{m, append(prices(m.Needs), member{"text", CostMore(&b, &a)})}})
				}
				return object{a, list}
			})}}}
		})}}
}
