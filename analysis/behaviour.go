package analysis

import (
	"math"
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/journal"
	"tare/stats"
	"tare/workload"
)

// A layer in which a program does not do its work makes it fast. So what programs do is compared
// before their speed: what an arm's trials show of each aspect (a line on stderr, an exit status, a
// size of the output) is counted by trials, and so it is in the trials of the baseline and the
// control together. An arm behaves otherwise where something is in all trials of the one and in none
// of the other, or more often by Fisher's exact test, corrected for the number of things that could
// be found so (Tarone 1990). Claims of gains and equivalence are then withheld.
//
// Something that only some trials of the arm show, and no other trial, is a warning that withholds
// nothing: chance alone may do that among so few trials. There is no such warning where one trial of
// the baseline or the control shows something that no other does: that program is erratic.

// OtherBehaviour is the finding that an arm's programs do not do what the baseline's do, and the
// reason why the arm's gains are withheld.
type OtherBehaviour struct {
	Aspect experiment.Aspect `json:"aspect"`
	// Mark is what was seen: a line on stderr, an exit status; of sizes one of the constants below.
	Mark string `json:"mark"`
	// Lacks says that it is seen in the baseline and not, or less often, in the arm.
	Lacks     bool `json:"lacks,omitempty"`
	More      int  `json:"more,omitempty"` // other things that differ in the same way
	Count     int  `json:"count"`          // trials of the arm with it
	Of        int  `json:"of"`             // trials of the arm
	Reference int  `json:"reference"`      // trials of the baseline and the control with it
	Among     int  `json:"among"`          // trials of the baseline and the control
	// Raw is the directory of a trial that shows it, below the run's.
	Raw string `json:"raw,omitempty"`
	// Withholds says that it takes gains and equivalence from the arm.
	Withholds bool `json:"withholds"`
	// OtherProgram: the arm runs another program than the baseline, which may print other messages and
	// end with another exit status.
	OtherProgram bool `json:"otherProgram,omitempty"`
}

// Kind is its name.
func (OtherBehaviour) Kind() string { return "other-behaviour" }

// Marks of how much was printed, or answered, beside the baseline and the control.
const (
	Nothing    = "nothing"
	Something  = "something"
	FarLess    = "far-less"
	FarMore    = "far-more"
	OtherLines = "other-lines"
)

// veryDifferent is by how many times an amount must be larger than the largest, or smaller than the
// smallest, of the baseline and the control: numbers that are printed have more digits when they
// are larger.
const veryDifferent = 1.5

// behaviours compares what programs did in every arm with what they did in the baseline and its control.
func (t *table) behaviours() (list []Warning) {
	base, control := role(t.plan, experiment.Baseline), role(t.plan, experiment.Control)
	for c, cell := range t.plan.Cells {
		var reference []*journal.Trial
		for _, a := range []int{base, control} {
			if a >= 0 {
				reference = append(reference, observed(t.slots[c][a])...)
			}
		}
		for a, arm := range t.plan.Arms {
			trials := observed(t.slots[c][a])
			if arm.Role != experiment.Treatment || len(trials) == 0 || len(reference) == 0 {
				continue
			}
			for _, aspect := range experiment.Aspects {
				if slices.Contains(arm.Allow, aspect) {
					continue
				}
				f := sighted(arm, aspect, trials, reference).compare(contrast.RulesOf(t.plan).Alpha)
				if f == nil {
					continue
				}
				f.Aspect, f.OtherProgram = aspect, arm.OtherProgram
				f.Withholds = f.Withholds && !(arm.OtherProgram && (aspect == experiment.Stderr || aspect == experiment.Exit))
				list = append(list, Warning{Cell: cell.ID, Arm: arm.Name, Finding: *f})
			}
		}
	}
	return list
}

// observed are the valid trials that have a record of what the programs did.
func observed(slots []slot) (list []*journal.Trial) {
	for v := range valid(slots) {
		if v.Behaviour != nil {
			list = append(list, v)
		}
	}
	return list
}

// sighting is something that was seen of an aspect: in how many trials, and the first of the arm.
type sighting struct {
	mark           string
	arm, reference int
	first          *journal.Trial
}

// sightings are all that was seen of an aspect, in the order in which it appeared in the arm.
type sightings struct {
	list       []*sighting
	of, among  int
	incomplete bool // a trial may have shown more than is kept
	trials     []*journal.Trial
}

func sighted(arm experiment.PlannedArm, a experiment.Aspect, trials, reference []*journal.Trial) *sightings {
	s := &sightings{of: len(trials), among: len(reference), trials: trials}
	byKind := map[string]*sighting{}
	see := func(marks []string) (seen []*sighting) {
		s.incomplete = s.incomplete || len(marks) >= workload.MostMarks
		for _, mark := range marks {
			kind := workload.KindOf(a, mark)
			if byKind[kind] == nil {
				byKind[kind] = &sighting{mark: mark}
				s.list = append(s.list, byKind[kind])
			}
			seen = append(seen, byKind[kind])
		}
		return seen
	}
	sizes := amounts(a, reference)
	for _, t := range trials {
		marks := t.Behaviour[a].Marks
		if m := sizes.mark(t.Behaviour[a]); m != "" && !arm.OtherProgram {
			marks = append(slices.Clip(marks), m)
		}
		for _, one := range see(marks) {
			if one.arm++; one.first == nil {
				one.first = t
			}
		}
	}
	for _, t := range reference {
		for _, one := range see(t.Behaviour[a].Marks) {
			one.reference++
		}
	}
	return s
}

// compare finds what differs; nil: nothing.
func (s *sightings) compare(alpha float64) (f *OtherBehaviour) {
	able, erratic := 0, false
	for _, one := range s.list {
		if stats.FisherLeast(one.arm+one.reference, s.of, s.among) <= alpha {
			able++
		}
		erratic = erratic || one.reference == 1 && s.among > 1
	}
	take := func(one *sighting, lacks, withholds bool) {
		if f != nil {
			if f.Lacks == lacks && f.Withholds == withholds {
				f.More++
			}
			return
		}
		raw := s.trials[0].Raw
		if one.first != nil {
			raw = one.first.Raw
		}
		f = &OtherBehaviour{Mark: one.mark, Lacks: lacks, Count: one.arm, Of: s.of, Reference: one.reference, Among: s.among, Raw: raw, Withholds: withholds}
	}
	for _, lacks := range []bool{false, true} {
		for _, one := range s.list {
			less := one.arm*s.among < one.reference*s.of
			if less == lacks && !(lacks && s.incomplete) && s.shown(one, alpha/float64(max(able, 1))) {
				take(one, lacks, true)
			}
		}
	}
	for _, one := range s.list {
		if one.reference == 0 && !erratic && !size(one.mark) {
			take(one, false, false)
		}
	}
	return f
}

// shown says whether something is seen in all trials of the one and none of the other, or more often.
func (s *sightings) shown(one *sighting, alpha float64) bool {
	if one.arm == s.of && one.reference == 0 || one.arm == 0 && one.reference == s.among {
		return true
	}
	p, err := stats.FisherExact(one.arm, s.of, one.reference, s.among)
	return err == nil && p <= alpha
}

// amount is how much the reference printed in a run, or answered: the least and the most.
type amount struct{ lo, hi, fewest, most float64 }

// amounts gives the range of sizes in the reference; nil for an aspect without sizes.
func amounts(a experiment.Aspect, reference []*journal.Trial) *amount {
	if a != experiment.Output && a != experiment.Answers {
		return nil
	}
	r := &amount{lo: math.Inf(1), hi: -1, fewest: math.Inf(1)}
	for _, t := range reference {
		if s := t.Behaviour[a]; s.Runs > 0 {
			bytes, lines := float64(s.Bytes)/float64(s.Runs), float64(s.Lines)/float64(s.Runs)
			r.lo, r.hi, r.fewest, r.most = min(r.lo, bytes), max(r.hi, bytes), min(r.fewest, lines), max(r.most, lines)
		}
	}
	return r
}

// mark says by what an amount is very different; "" where it is not.
func (r *amount) mark(s workload.Seen) string {
	if r == nil || s.Runs == 0 || r.hi < 0 {
		return ""
	}
	bytes, lines := float64(s.Bytes)/float64(s.Runs), float64(s.Lines)/float64(s.Runs)
	switch {
	case bytes == 0 && r.lo > 0:
		return Nothing
	case bytes > 0 && r.hi == 0:
		return Something
	case bytes*veryDifferent < r.lo:
		return FarLess
	case bytes > r.hi*veryDifferent:
		return FarMore
	case r.fewest == r.most && lines != r.most:
		return OtherLines
	}
	return ""
}

func size(mark string) bool {
	return slices.Contains([]string{Nothing, Something, FarLess, FarMore, OtherLines}, mark)
}

// Otherwise is how programs behave otherwise in an arm than in the baseline, where that withholds
// gains and equivalence; nil: they do not.
func (r *Run) Otherwise(cell, arm string) *OtherBehaviour {
	for _, w := range r.Behaviours {
		if f, ok := w.Finding.(OtherBehaviour); ok && f.Withholds && w.Cell == cell && w.Arm == arm {
			return &f
		}
	}
	return nil
}

// WithholdGains takes the verdict from a comparison that says that one of the arms gains or is
// equivalent, where programs do not do there what they do in the baseline.
func (r *Run) WithholdGains(c *Comparison, arms ...string) {
	for _, arm := range arms {
		if f := r.Otherwise(c.Cell, arm); f != nil && (c.Verdict == Gains || c.Verdict == Equivalent || c.Verdict == LessTogether) {
			c.Withhold(*f)
		}
	}
}
