package analysis

import (
	"cmp"
	"slices"

	"tare/experiment"
	"tare/journal"
)

// Ending says which rounds are missing from a run that ended early or still goes on.
type Ending struct {
	Rounds int    `json:"rounds"`           // whole ones: each arm has a result in each cell
	Of     int    `json:"of"`               // planned
	Why    string `json:"why,omitempty"`    // "": nothing tells; it may still go on, or was killed
	Arm    string `json:"arm,omitempty"`    // first of those that were left out, which do not count for Rounds
	Judged bool   `json:"judged,omitempty"` // the run is done with fewer rounds, and gives verdicts
}

// endingOf says how a run ended; nil where it has all that was planned.
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
	t := tabulate(run.Plan, thatCount(run.Plan, run.Trials), validOnly)
	for i := range t.rounds {
		whole := !slices.ContainsFunc(t.slots, func(arms [][]slot) bool {
			for a := range arms {
				if !arms[a][i].answered() && !out[run.Plan.Arms[a].Name] {
					return true
				}
			}
			return false
		})
		if whole {
			e.Rounds++
		}
	}
	e.Rounds = min(e.Rounds, e.Of) // more where rounds were made up for
	return e
}

// thatCount are the trials of the rounds that count.
func thatCount(plan *experiment.Plan, trials []journal.Trial) []journal.Trial {
	last := cmp.Or(plan.Decided, plan.Ended)
	if last == 0 {
		return trials
	}
	return slices.DeleteFunc(slices.Clone(trials), func(t journal.Trial) bool { return t.Round > last })
}

// Of analyses a run directory as read: its trials, with what its notes tell its readers.
func Of(run *journal.Run) *Run {
	r := Analyze(run.Plan, run.Trials, run.Environment)
	r.Directory, r.Finished, r.Ending = run.Dir, run.Finished, endingOf(run)
	for _, n := range run.Notes {
		if !told(n) {
			continue
		}
		remark := Remark{From: FromSession, Text: n.Text}
		if run.Plan.Import == nil { // an import has no sessions
			remark.Session = n.Session
		}
		r.Warnings = append(r.Warnings, Warning{Finding: remark})
	}
	return r
}

// told says whether a reader of a run must know what a note says, as that a session ran on
// another machine than the first one. That all arms are set up anew before every round is as
// it should be.
func told(n journal.Note) bool {
	switch n.Kind {
	case journal.NoteRemark, journal.NoteLeftOut, journal.NoteMadeUp, journal.NoteExtended, journal.NoteDecided:
		return true
	case journal.NoteSetUps:
		return n.Rounds != 1
	}
	return false
}
