package analysis

import "tare/journal"

// Of analyses a run directory as read: its trials, with what its notes tell its readers.
func Of(run *journal.Run) *Run {
	r := Analyze(run.Plan, run.Trials, run.Environment)
	r.Directory, r.Finished = run.Dir, run.Finished
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
	case journal.NoteRemark, journal.NoteLeftOut, journal.NoteMadeUp, journal.NoteExtended:
		return true
	case journal.NoteSetUps:
		return n.Rounds != 1
	}
	return false
}
