package analysis

import (
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
	"tare/internal/workload"
)

// A layer that stops a program from working makes the program fast. Tare therefore compares behaviour before speed.
// Each aspect (lines on stderr, exit status, size of the output) has observations, such as one line. Tare counts the
// trials that show an observation, for the arm and for its reference (baseline and control together). An arm behaves
// differently if all trials of one side and none of the other show the observation. An arm also behaves differently if
// one side shows the observation more often by Fisher's exact test, corrected for the number of possible differences
// (Tarone 1990). If an arm behaves differently, claims of gains and equivalence are withheld.
//
// An observation in some trials of the arm, but none of the reference, gives only a warning, since chance can cause it.
// An erratic program gets no such warning: it shows some observation in exactly one trial of the reference.

// OtherBehaviour is the finding that programs behave differently in an arm than in the baseline. It can be a reason to
// withhold gains and equivalence.
type OtherBehaviour struct {
	Aspect experiment.Aspect `json:"aspect"`
	// Mark is the observation that differs: a line on stderr, an exit status, or a constant such as FarLess for a size.
	Mark string `json:"mark"`
	// Lacks is set if the arm shows the observation Mark less often than the baseline does, or never.
	Lacks     bool `json:"lacks,omitempty"`
	More      int  `json:"more,omitempty"` // number of further observations that differ in this direction, with this consequence
	Count     int  `json:"count"`          // number of the arm's trials that show the observation
	Of        int  `json:"of"`             // number of the arm's trials
	Reference int  `json:"reference"`      // number of trials of baseline and control that show the observation
	Among     int  `json:"among"`          // number of trials of baseline and control
	// Raw is the directory of a trial that shows the observation, relative to the run's directory.
	Raw string `json:"raw,omitempty"`
	// Withholds is set if the finding withholds the arm's claims of gains and equivalence.
	Withholds bool `json:"withholds"`
	// OtherProgram is set if the arm runs another program than the baseline, which may print other messages and end
	// with another exit status.
	OtherProgram bool `json:"otherProgram,omitempty"`
}

// Kind returns the name of this kind of finding.
func (OtherBehaviour) Kind() string { return "other-behaviour" }

// Observations about sizes: the number of bytes, lines or answers differs from that in baseline and control.
const (
	nothing    = "nothing"
	something  = "something"
	FarLess    = "far-less"
	FarMore    = "far-more"
	OtherLines = "other-lines"
)

// veryDifferent is the factor by which a size in bytes must exceed, or fall below, all sizes in baseline and control.
// Longer printed numbers can explain less.
const veryDifferent = 1.5

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

// observed returns the valid trials that have a record of the programs' behaviour.
func observed(slots []slot) (list []*journal.Trial) {
	for v := range valid(slots) {
		if v.Behaviour != nil {
			list = append(list, v)
		}
	}
	return list
}

// sighting counts the trials that show one observation, such as an exit status. It keeps the arm's first trial with the
// observation.
type sighting struct {
	mark           string
	arm, reference int
	first          *journal.Trial
}

// sightings are all observations of one aspect, in the order in which the arm's trials first show them.
type sightings struct {
	list       []*sighting
	of, among  int
	incomplete bool // a trial may have shown more observations than the record keeps of it
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

// compare returns the first difference between the arm and the reference (baseline and control); nil if they do not
// differ.
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

// shown reports whether an observation differs: made in all trials of one side and none of the other, or significantly
// more often on one side.
func (s *sightings) shown(one *sighting, alpha float64) bool {
	if one.arm == s.of && one.reference == 0 || one.arm == 0 && one.reference == s.among {
		return true
	}
	return stats.FisherExact(one.arm, s.of, one.reference, s.among) <= alpha
}

// amount is how much baseline and control print per execution: the least and most bytes (lo, hi), and the least and
// most lines or answers.
type amount struct{ lo, hi, fewest, most float64 }

// amounts returns the range of an aspect's sizes, such as bytes of output, in baseline and control; nil for an aspect
// without sizes.
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

// mark compares a trial's size of output with the sizes in baseline and control. It returns a difference, such as
// FarLess; "": the sizes are alike.
func (r *amount) mark(s workload.Observation) string {
	if r == nil || s.Runs == 0 || r.hi < 0 {
		return ""
	}
	bytes, lines := float64(s.Bytes)/float64(s.Runs), float64(s.Lines)/float64(s.Runs)
	switch {
	case bytes == 0 && r.lo > 0:
		return nothing
	case bytes > 0 && r.hi == 0:
		return something
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
	return slices.Contains([]string{nothing, something, FarLess, FarMore, OtherLines}, mark)
}

// Otherwise returns the finding that withholds an arm's gains and equivalence: its programs behave differently than in
// the baseline. Nil: no such finding.
func (r *Run) Otherwise(cell, arm string) *OtherBehaviour {
	for _, w := range r.Behaviours {
		if f, ok := w.Finding.(OtherBehaviour); ok && f.Withholds && w.Cell == cell && w.Arm == arm {
			return &f
		}
	}
	return nil
}

// WithholdGains withholds a verdict of a gain or of equivalence, if programs behave differently in one of the arms.
func (r *Run) WithholdGains(c *Comparison, arms ...string) {
	for _, arm := range arms {
		if f := r.Otherwise(c.Cell, arm); f != nil && (c.Verdict == Gains || c.Verdict == Equivalent || c.Verdict == LessTogether) {
			c.Withhold(*f)
		}
	}
}
