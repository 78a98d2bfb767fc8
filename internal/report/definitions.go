package report

import (
	"slices"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/wording"
)

func (s *sheet) definitions() []doc.Fact {
	margin, power := wording.Share(s.margin()), wording.Share(float64(s.plan.Power))
	if s.imported() {
		return s.importedDefinitions(margin)
	}
	return []doc.Fact{
		{Key: "Arm", Value: "A named set of security layers around the workload. The first arm is the baseline; the control is a second copy of it."},
		{Key: "Cell", Value: "One workload at one setting of its parameters and of the testbed. Arms are compared within a cell only."},
		{Key: "Trial", Value: "One execution of the workload in one arm. It is the unit of all statistics here, never the single request inside it."},
		{Key: "Round", Value: "One trial of every arm, in random order. Arms are compared round by round, so that slow drift affects all arms alike."},
		{Key: "Set-up", Value: "One time of putting up an arm and its layers. Its chance effects, such as addresses and placement, belong to no layer. All arms are therefore set up anew, and if several rounds share a set-up, their mean counts as one value."},
		{Key: "Overhead", Value: "The cost of an arm relative to the baseline and its control together; a cost of 5 % means 5 % less where higher is better, and 5 % more where lower is better."},
		{Key: "Interval", Value: "The range of true overheads that the rounds are compatible with: over many such runs, " +
			s.confidence() + " of these intervals hold the true value."},
		{Key: "Typical round, mean", Value: "The overhead is that of the typical round (Hodges–Lehmann), which a few very slow trials hardly move. The mean's overhead, beside it, compares averages, which determine capacity and price."},
		{Key: "Costs, gains", Value: "The overhead differs from zero after correction for the number of comparisons."},
		{Key: "If normal", Value: "There are too few values for a claim that holds for any noise. The claim assumes normal noise, which so few values cannot show."},
		{Key: "Fails", Value: "The program failed more often than in the baseline, after correction for the number of comparisons."},
		{Key: "Interim", Value: "Rounds that were planned are missing. The estimate may be looked at; there is no verdict until they are done."},
		{Key: "Equivalent", Value: "The overhead was shown to be smaller than the margin of ±" + margin + " that the experiment declared beforehand, of the typical round and of the mean."},
		{Key: "Not resolved", Value: "Neither a difference nor equivalence was shown. This does not mean that there is no difference. Beside it stands the difference that such a run finds with a probability of " + power + "."},
		{Key: "Invalid", Value: "Too little valid data, or a run whose own checks failed. There is no number."},
		{Key: "Headline, exploratory", Value: "Headline metrics were named as the question before the run and are corrected for their number together. All others are exploratory."},
		{Key: "Invalid trial", Value: "A trial that broke a rule fixed in the experiment. Trials spoilt by a busy machine or a failed proof are repeated; failures of the program are failures of its arm. Rules never look at the value measured."},
	}
}

// importedDefinitions defines the words of a report on imported trials.
func (s *sheet) importedDefinitions(margin string) []doc.Fact {
	list := []doc.Fact{
		{Key: "Observational", Value: "The trials did not run side by side in random order, so any other difference between the arms is part of every result. A verdict states that the arms differ, not why."},
		{Key: "Arm", Value: "A set of files that belong together. The first arm is the baseline."},
		{Key: "Cell", Value: "One measured workload, at one setting of its parameters. Arms are compared within a cell only."},
		{Key: "Trial", Value: "The values of one cell in one file, or in one row. It is the unit of all statistics here, never the single request inside it."},
		{Key: "Overhead", Value: "The difference of an arm from the baseline, relative to it; a cost of 5 % means 5 % less where higher is better, and 5 % more where lower is better."},
		{Key: "Interval", Value: "The range of true differences that the " + s.sampled("rounds", "values") +
			" are compatible with, if they are independent of each other: over many such imports, " + s.confidence() +
			" of these intervals hold the true difference between the arms as they were."},
		{Key: "Costs, gains", Value: "The difference is not zero, after correction for the number of comparisons."},
	}
	if s.plan.Paired() {
		list = append(list, doc.Fact{Key: "Round", Value: "Trials of all arms that belong together by " + plain(s.plan.Import.PairBy) + "; arms are compared round by round."})
	}
	if s.plan.Import.Blocks != nil {
		list = append(list, doc.Fact{Key: "Block", Value: "Trials of all arms with a baseline of their own, such as one product, whose repeats share one deployment. The mean over its repeats is one value, and the interval of all blocks rests on these."})
	}
	if s.margin() > 0 {
		list = append(list, doc.Fact{Key: "Equivalent", Value: "The difference was shown to be smaller than the margin of ±" + margin + "."})
	}
	if slices.ContainsFunc(s.run.Cells, func(c analysis.CellSummary) bool { return c.Loop != nil }) {
		list = append(list, doc.Fact{Key: "Closed loop", Value: "A fixed number of workers, each of which sends its next request when its last one is answered. Mean latency × throughput is then that number, and one says the same as the other. While an answer is slow nothing is sent, so that percentiles miss the requests that would have waited."})
	}
	return append(list,
		doc.Fact{Key: "Not resolved", Value: "Neither a difference nor equivalence was shown. This does not mean that there is no difference. Beside it stands the difference that is found with a probability of " + wording.Share(float64(s.plan.Power)) + "."},
		doc.Fact{Key: "Headline, exploratory", Value: "Headline metrics are corrected for their number together. All others are exploratory: hints, not findings."},
		doc.Fact{Key: "Invalid trial", Value: "A trial that broke a rule: a file that cannot be read, or failed operations over the limit. Rules never look at whether a value is high or low."})
}
