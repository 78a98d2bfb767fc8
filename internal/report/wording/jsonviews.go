package wording

import (
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
	"tare/internal/runs/cost"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
	"tare/internal/runs/published"
)

// viewWords returns the added members of results other than an analysis.
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
		return []member{{"observational", Observation(v.Observation)}, {"cells", worded(v.Cells)}}
	case published.Cell:
		return []member{{"metrics", worded(v.Metrics)}}
	case published.Metric:
		return []member{{"differences", worded(v.Differences)}}
	case published.Difference:
		return []member{{"said", optional(v.Verdict)}}
	}
	return historyWords(v)
}

// historyWords returns the added members of the parts of a history.
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

// costWords returns the added members of a capacity cost: prices, if nodes have a price, and texts.
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
