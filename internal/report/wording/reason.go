package wording

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/machine"
	"tare/internal/runs/combine"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
)

// Reason states the reason why a result has no verdict or is left out; "" for nil.
func Reason(r analysis.Reason) string {
	switch r := r.(type) {
	case nil:
		return ""
	case analysis.InvalidRuns:
		return runsAre(r.Runs, "invalid")
	case analysis.DoesNotVary:
		return "all values are the same, in every trial of every arm: the metric measures nothing here (discrete: true in the experiment file allows this)"
	case analysis.OtherSettings:
		settings := each(r.Settings, func(s analysis.UnlikeSetting) string {
			return s.Name + " " + strings.Join(s.Baseline, " and ") + " | " + strings.Join(s.Arm, " and ")
		})
		return "not comparable: " + strings.Join(settings, "; ")
	case analysis.OtherBehaviour:
		return behaviourText(r)
	case analysis.ControlChanged:
		return "the control has changed as well"
	case analysis.RoundsMissing:
		return fmt.Sprintf("after %d of %s", r.Rounds, Count(r.Of, "round", "rounds"))
	case analysis.UnfinishedRuns:
		return runsAre(r.Runs, "not finished")
	case analysis.SameClaim:
		return "restates " + r.Metric
	case analysis.NoBaseline:
		return "the plan has no baseline"
	case gate.TooFewOccasions:
		return "at least two runs must be finished and valid; there " + plural(r.Runs, "is", "are") + " " + fmt.Sprint(r.Runs)
	case analysis.ControlFails:
		return fmt.Sprintf("the control, a second copy of the baseline, differs on %s %s: %s, Holm %s, and is not shown to be within ±%s",
			r.Metric.Name, In(r.Cell), OverheadWords(r.Metric).Interval(r.Metric, r.Overhead), pValue(r.PAdjusted), Share(r.Margin))
	case analysis.InvalidTrials:
		share := Share(float64(r.Lost) / float64(r.Planned))
		if r.Imported {
			return fmt.Sprintf("%d of %d trials (%s) are invalid, over the limit of %s", r.Lost, r.Planned, share, Share(r.Limit))
		}
		return fmt.Sprintf("%d of %d planned trials (%s) were lost to the machine's condition or a failed proof after all attempts, over the limit of %s", r.Lost, r.Planned, share, Share(r.Limit))
	}
	return historyReason(r)
}

// Reasons states several reasons. Each text is a part of a sentence.
func Reasons(list []analysis.Reason) []string {
	return each(list, Reason)
}

func historyReason(r analysis.Reason) string {
	switch r := r.(type) {
	case history.NoTrial:
		return "it has no trial"
	case history.NotFinished:
		return "it is not finished"
	case analysis.NoVerdicts:
		if len(r.Reasons) == 0 {
			return "it is invalid"
		}
		return "it is invalid: " + Reason(r.Reasons[0])
	case history.Copy:
		if r.Imported {
			return "it has the same trials as " + r.Of + ": the same files imported again, or a copy"
		}
		return "it has the same start and seed as " + r.Of + ": a copy"
	case history.NothingToCompare:
		return "no trial of it can be compared"
	case history.NoValidTrial:
		return "no valid trial has it"
	case history.Incomparable:
		return "its value cannot be compared"
	case history.Observed:
		return "it is observational, unlike others of the series"
	case history.NewRunLeftOut:
		return "the new run cannot be compared: " + Reason(r.Why)
	case history.NewRunWithout:
		return "the new run has no value: " + Reason(r.Why)
	case history.NewIncomparable:
		return "the value of the new run cannot be compared"
	case history.FewRuns:
		earlier := cmp.Or(When(r.Runs > 0, Count(r.Runs, "earlier run", "earlier runs")), "no earlier run")
		return fmt.Sprintf("%s can be compared with, at least %d are needed", earlier, r.Fewest)
	case history.FewSinceAnchor:
		return fmt.Sprintf("at least %d runs from the anchor on are needed", r.Fewest)
	case history.NoSeries:
		return "no earlier run of this experiment has it"
	case history.Unlike:
		return "experiments and observations are not compared with each other"
	case history.OtherParameters:
		return "no earlier run had these parameters: " + strings.Join(Differences(r.Differs), "; ")
	case history.NoSpread:
		return "the earlier runs do not vary, so nothing shows how large chance differences are"
	case combine.NotFinished:
		return fmt.Sprintf("it is not finished: %d of %d planned trials are done", r.Done, r.Planned)
	case combine.NoInterval:
		return "it has no interval on this metric"
	}
	return r.Kind()
}

// runs names runs by their numbers: "run 2", "runs 1, 2 and 3".
func runs(numbers []int) string {
	return plural(len(numbers), "run ", "runs ") + List(each(numbers, strconv.Itoa))
}

// runsAre says what holds for runs: "runs 1 and 2 are not finished". If numbers is empty, there is only one run: "the
// run is not finished".
func runsAre(numbers []int, what string) string {
	if len(numbers) == 0 {
		return "the run is " + what
	}
	return runs(numbers) + plural(len(numbers), " is ", " are ") + what
}

// Numbers lists numbers: "1, 2, 3".
func Numbers(numbers []int) string {
	return strings.Join(each(numbers, strconv.Itoa), ", ")
}

// Differences lists the differences of two runs, a phrase for each: "kernel is 6.8, was 6.1".
func Differences(list []history.Difference) []string {
	return each(list, Difference)
}

// Difference states one difference of two runs.
func Difference(d history.Difference) string {
	if d.Machine && d.What == machine.FlagsProperty {
		return "processor flags changed"
	}
	missing := cmp.Or(When(d.Machine, "unknown"), "unset")
	return d.What + " is " + cmp.Or(d.Is, missing) + ", was " + cmp.Or(d.Was, missing)
}

// Imported states the reason why a run of a history is no experiment; "" for an experiment.
func Imported(r *history.Run) string {
	return When(r.Imported != "", "imported from "+r.Imported+": its trials did not run in rounds of random order")
}

// PastValue writes an estimate of a history's series with its interval, if it has one.
func PastValue(s *history.Series, i analysis.Interval) string {
	m, way := s.Metric, OverheadWords(s.Metric)
	if s.Of == history.OfLevel {
		m.Scale, way = experiment.Difference, plain
	}
	switch {
	case i.Lo < i.Hi:
		return way.Interval(m, i)
	case s.Of == history.OfLevel:
		return Value(i.Point, m.Unit)
	}
	return way.Amount(m, i.Point, i)
}

// ShiftSize writes the size and the direction of a change: "2.8 % worse [2.4, 3.1]".
func ShiftSize(s *history.Series, c history.Change) string {
	return changing(s.Metric).Interval(s.Metric, c.Size)
}

// changing returns the words for a change from one run to another, such as "worse".
func changing(m experiment.Metric) signWords {
	if m.Better == "" {
		return more
	}
	return signWords{"", "worse", "better"}
}

// Changed writes a change with few digits: "2.8 % worse".
func Changed(m experiment.Metric, v float64) string { return changing(m).brief(m, v) }
