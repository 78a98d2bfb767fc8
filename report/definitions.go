package report

// entry is a key with its value, as the tables of the page show them.
type entry struct{ Key, Value string }

// definitions are the words of a report.
func (s *sheet) definitions() []entry {
	margin := share(s.margin())
	return []entry{
		{"Arm", "A named set of security layers around the workload. The first arm is the baseline; the control is a second copy of it."},
		{"Cell", "One workload at one setting of its parameters and of the testbed. Arms are compared within a cell only."},
		{"Trial", "One execution of the workload in one arm. It is the unit of all statistics here, never the single request inside it."},
		{"Round", "One trial of every arm, in random order. Arms are compared round by round, so that what drifts slowly hits all arms alike."},
		{"Overhead", "The cost of an arm relative to the baseline; plus is always a cost. 5 % means 5 % less where higher is better, and 5 % more where lower is better."},
		{"Interval", "The range of true overheads that the rounds are compatible with: over many such runs, " + share(float64(s.plan.Confidence)) + " of these intervals hold the true value."},
		{"Costs, gains", "The overhead differs from zero after correction for the number of comparisons."},
		{"Equivalent", "The overhead was shown to be smaller than the margin of ±" + margin + " that the experiment declared beforehand."},
		{"Not resolved", "Neither a difference nor equivalence was shown. It does not mean that there is no difference; the smallest one that could have been seen stands beside it."},
		{"Invalid", "Too little valid data, or a run whose own checks failed. There is no number."},
		{"Headline, exploratory", "Headline metrics were named as the question before the run and are corrected for their number together. All others are exploratory."},
		{"Invalid trial", "A trial that broke a rule fixed in the experiment, such as a failed proof or a busy machine. Rules never look at the value measured."},
	}
}
