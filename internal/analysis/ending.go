package analysis

import (
	"cmp"
	"slices"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Ending describes a run that ended early or is still running: which rounds are missing, and why.
type Ending struct {
	Rounds int    `json:"rounds"`           // number of complete rounds: each arm has a result in each cell, except arms that were left out
	Of     int    `json:"of"`               // number of planned rounds
	Why    string `json:"why,omitempty"`    // "": unknown; the run may still be running, or was killed
	Arm    string `json:"arm,omitempty"`    // the arm that was left out first
	Judged bool   `json:"judged,omitempty"` // the run ended with fewer rounds than planned, and still gives verdicts
}

// endingOf returns the ending of a run; nil if no planned round is missing.
func endingOf(run *journal.Run) *Ending {
	if run.Plan.Import != nil || run.Finished && run.Plan.Ended == 0 {
		return nil
	}
	e := &Ending{Of: run.Plan.Planned(), Why: run.Ended, Judged: run.Finished}
	out := map[string]bool{}
	for _, n := range run.Notes {
		if n.Kind == journal.NoteLeftOut && n.Session == run.Sessions[len(run.Sessions)-1].Number {
			e.Arm, out[n.Arm] = cmp.Or(e.Arm, n.Arm), true
		}
	}
	t := tabulate(run.Plan, countedTrials(run.Plan, run.Trials), validOnly)
rounds:
	for i := range t.rounds {
		for _, arms := range t.slots {
			for a := range arms {
				if !arms[a][i].ranToEnd() && !out[run.Plan.Arms[a].Name] {
					continue rounds
				}
			}
		}
		e.Rounds++
	}
	e.Rounds = min(e.Rounds, e.Of) // repeated rounds of a left-out arm could make the number larger than the plan's
	return e
}

// countedTrials returns the trials that the analysis uses. If a run ended early, it leaves out the trials of rounds
// after the last round that counts.
func countedTrials(plan *experiment.Plan, trials []journal.Trial) []journal.Trial {
	last := cmp.Or(plan.Decided, plan.Ended)
	if last == 0 {
		return trials
	}
	return slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > last })
}

// Decided reports whether each headline comparison of a plan with looks has a verdict of grade measured after the given
// rounds, or can no longer get one.
func Decided(plan *experiment.Plan, trials []journal.Trial, rounds int) bool {
	then := *plan
	then.Decided = rounds
	run := Judge(&then, countedTrials(&then, trials))
	return run.Valid && !slices.ContainsFunc(run.Comparisons, func(c Comparison) bool {
		return c.Metric.Headline && (c.Verdict == NotResolved || c.Verdict == Interim || c.Grade == Normal)
	})
}

// OfRun analyses a run from its journal: trials become verdicts, and notes that readers should know become warnings.
func OfRun(run *journal.Run) *Run {
	r := Analyze(run.Plan, run.Trials, run.Environment)
	r.Directory, r.Finished, r.Ending = run.Dir, run.Finished, endingOf(run)
	for _, n := range run.Notes {
		if !isRemark(n) {
			continue
		}
		remark := Remark{From: FromSession, Text: n.Text}
		if run.Plan.Import == nil { // imports have no sessions
			remark.Session = n.Session
		}
		r.Warnings = append(r.Warnings, Warning{Finding: remark})
	}
	return r
}

// isRemark reports whether readers of a run see a note. The note of new set-ups before every round, the normal case, is
// not shown.
func isRemark(n journal.Note) bool {
	switch n.Kind {
	case journal.NoteRemark, journal.NoteLeftOut, journal.NoteExtraRounds, journal.NoteExtended, journal.NoteDecided:
		return true
	case journal.NoteSetUps:
		return n.Rounds != 1
	}
	return false
}
