package analysis

import (
	"iter"
	"math"
	"slices"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/workload"
)

// table holds the trials of a run, sorted by cell, arm and round of the plan.
type table struct {
	plan            *experiment.Plan
	cells           map[string]int                          // cell indices by ID
	arms            map[string]int                          // arm indices by name
	rounds          []int                                   // numbers of rounds with a trial, ascending; independent samples: 1 to the most trials
	at              [][]int                                 // numbers of each cell's rounds, ascending; equal to rounds in a run that Tare carried out
	slots           [][][]slot                              // slots by cell, arm and index into at; without pairs, one for each trial of the arm
	final           int                                     // highest round that has any trial
	stray           int                                     // number of trials that belong to no cell or arm of the plan
	broken          int                                     // number of imported files whose cell could not be read
	double          int                                     // number of valid trials that do not count, since the same cell, arm and round has a later valid trial
	loops           []*LoopSummary                          // evidence of closed loops, by cell; nil: no closed loop
	data            admission                               // validOnly, or withFailed: with trials that broke only the rule on errors
	setUps          SetUps                                  // counts of the arms' set-ups
	blockOf         map[int]int                             // block numbers of an import, by round; nil: the run has no blocks
	settings        map[string][]experiment.ImportedSetting // settings of the workload that differ between files, by cell
	positionEffects map[[2]string]*PositionEffects          // cache of position effects, by cell and metric
}

type admission int

const (
	validOnly  admission = iota
	withFailed           // valid trials, and invalid trials that broke only the rule on errors
)

// slot is one planned trial with its attempts.
type slot struct {
	valid    *journal.Trial // the latest valid attempt; nil: none
	last     *journal.Trial // the latest attempt; nil: none
	attempts int
	failed   int    // attempts in which the program failed
	rule     string // rule that the latest invalid attempt broke
}

// ranToEnd reports whether the program has run to its own end, with success or failure.
func (s *slot) ranToEnd() bool { return s.valid != nil || s.failed > 0 }

// broke reports whether the planned trial has no value because the program failed.
func (s *slot) broke() bool { return s.valid == nil && s.failed > 0 }

// tabulate sorts trials, which must be in the journal's order, by cell, arm and round. Of several valid attempts, the
// latest counts.
func tabulate(plan *experiment.Plan, trials []journal.Trial, data admission) *table {
	t := &table{plan: plan, cells: map[string]int{}, arms: map[string]int{}, data: data, positionEffects: map[[2]string]*PositionEffects{}}
	for i, c := range plan.Cells {
		t.cells[c.ID] = i
	}
	for i, a := range plan.Arms {
		t.arms[a.Name] = i
	}
	if plan.Paired() {
		t.byRound(trials)
	} else {
		t.inOrder(trials)
	}
	t.settings = settingsOf(plan)
	for c := range plan.Cells {
		t.loops = append(t.loops, t.loop(c))
	}
	for i := range trials {
		if _, _, ok := t.place(trials[i].Cell, trials[i].Arm); !ok {
			if plan.Import != nil && !trials[i].Valid() {
				t.broken++
			} else {
				t.stray++
			}
		}
	}
	t.setUps, t.blockOf = setUpsOf(trials), t.blocks()
	return t
}

func (t *table) place(cell, arm string) (c, a int, ok bool) {
	c, okCell := t.cells[cell]
	a, okArm := t.arms[arm]
	return c, a, okCell && okArm
}

// slot returns the slot of an arm in a cell and round; an empty slot if the cell has no such round.
func (t *table) slot(c, a, round int) *slot {
	if at, there := slices.BinarySearch(t.at[c], round); there {
		return &t.slots[c][a][at]
	}
	return &slot{}
}

// byRound groups trials by round. In an import, a cell has slots only for its own rounds: otherwise a cell per file
// would need quadratic memory.
func (t *table) byRound(trials []journal.Trial) {
	t.at = make([][]int, len(t.plan.Cells))
	last := map[[2]int]int{} // number of the last attempt by cell and round, only for cells whose trials are cut into slices
	for i := range trials {
		trial := &trials[i]
		t.rounds = append(t.rounds, trial.Round)
		if c, ok := t.cells[trial.Cell]; ok {
			t.at[c] = append(t.at[c], trial.Round)
			if key := [2]int{c, trial.Round}; t.plan.Cells[c].Slices > 0 {
				last[key] = max(last[key], trial.Attempt)
			}
		}
	}
	t.rounds = ascending(t.rounds)
	if n := len(t.rounds); n > 0 {
		t.final = t.rounds[n-1]
	}
	t.slots = make([][][]slot, len(t.plan.Cells))
	for c := range t.slots {
		if t.plan.Import == nil {
			t.at[c] = t.rounds
		}
		t.at[c] = ascending(t.at[c])
		t.slots[c] = make([][]slot, len(t.plan.Arms))
		for a := range t.slots[c] {
			t.slots[c][a] = make([]slot, len(t.at[c]))
		}
	}
	for i := range trials {
		trial := &trials[i]
		c, a, ok := t.place(trial.Cell, trial.Arm)
		if !ok {
			continue
		}
		s := t.slot(c, a, trial.Round)
		if trial.Attempt < last[[2]int{c, trial.Round}] {
			s.attempts++ // slices: all arms repeat a spoilt trial together, so only the last attempt counts
			continue
		}
		t.add(s, trial)
	}
}

func ascending(rounds []int) []int {
	slices.Sort(rounds)
	return slices.Compact(rounds)
}

func (t *table) add(s *slot, trial *journal.Trial) {
	s.attempts++
	s.last = trial
	if failed(t.plan, trial) {
		s.failed++
	}
	switch {
	case trial.Valid():
		if s.valid != nil && s.valid.Valid() {
			t.double++
		}
		s.valid = trial
	case t.data == withFailed && onlyFailed(trial) && (s.valid == nil || !s.valid.Valid()):
		s.valid = trial
	default:
		s.rule = trial.Invalid[0].Rule
	}
}

// settled reports whether a planned trial gets no further attempt: it is valid, its program failed, its attempts are
// used up, or its round has ended.
func (t *table) settled(s *slot, round int) bool {
	if s.ranToEnd() || s.attempts == 0 {
		return s.ranToEnd()
	}
	return t.plan.Import != nil || s.attempts >= t.plan.Attempts || round < t.final
}

// counts returns the numbers of planned, done, valid, failed and lost trials. More trials than planned may be done:
// they make up for rounds in which another arm was left out.
func (t *table) counts(rounds int, trials []journal.Trial) (c Counts) {
	for k, cell := range t.slots {
		for a, arm := range cell {
			done := 0
			for i := range arm {
				switch s := &arm[i]; {
				case s.valid != nil:
					done++
					c.Valid++
				case s.failed > 0:
					done++
					c.Failed++
				case t.settled(s, t.at[k][i]):
					done++
					c.Lost++
				}
			}
			c.Done += done
			c.Planned += max(t.plan.RoundsOf(a, rounds), done)
		}
	}
	if t.plan.Import != nil {
		c.Done, c.Lost = c.Done+t.broken, c.Lost+t.broken
		c.Planned = c.Done // an import has no planned number
	}
	for i := range trials {
		broken := trials[i].Invalid
		for k, v := range broken {
			if slices.ContainsFunc(broken[:k], func(b journal.Violation) bool { return b.Rule == v.Rule }) {
				continue // a trial counts only once for a rule, even if it broke the rule several times
			}
			if c.ByRule == nil {
				c.ByRule = map[string]int{}
			}
			c.ByRule[v.Rule]++
		}
	}
	return c
}

func valid(arm []slot) iter.Seq[*journal.Trial] {
	return func(yield func(*journal.Trial) bool) {
		for i := range arm {
			if v := arm[i].valid; v != nil && !yield(v) {
				return
			}
		}
	}
}

// value returns a metric's value in a trial. It returns false unless the value is finite and, on a ratio scale,
// positive.
func value(t *journal.Trial, m experiment.Metric) (float64, bool) {
	if t == nil {
		return 0, false
	}
	v, ok := t.Values[m.Name]
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0) && (m.Scale == experiment.Difference || v > 0)
}

// role returns the index of the first arm with the given role; -1 if there is none.
func role(plan *experiment.Plan, r experiment.Role) int {
	return slices.IndexFunc(plan.Arms, func(a experiment.PlannedArm) bool { return a.Role == r })
}

// complete reports whether rounds 1 to last have all begun, and all their planned trials are settled.
func (t *table) complete(last int) bool {
	seen := 0
	for i, r := range t.rounds {
		if r < 1 || r > last {
			continue
		}
		seen++
		for _, cell := range t.slots {
			for a, arm := range cell {
				if t.plan.TakesPart(a, r) && !t.settled(&arm[i], r) {
					return false
				}
			}
		}
	}
	return seen == last
}

// inOrder gives each trial of independent samples a slot of its own, by start time; in the journal's order if one of
// the arm has no start time.
func (t *table) inOrder(trials []journal.Trial) {
	lists := map[[2]int][]*journal.Trial{} // trials by cell and arm
	for i := range trials {
		c, a, ok := t.place(trials[i].Cell, trials[i].Arm)
		if ok {
			lists[[2]int{c, a}] = append(lists[[2]int{c, a}], &trials[i])
		}
	}
	longest := 0
	t.slots, t.at = make([][][]slot, len(t.plan.Cells)), make([][]int, len(t.plan.Cells))
	for c := range t.slots {
		for a := range t.plan.Arms {
			list := lists[[2]int{c, a}]
			if !slices.ContainsFunc(list, func(t *journal.Trial) bool { return t.Start.IsZero() }) {
				slices.SortStableFunc(list, func(a, b *journal.Trial) int { return a.Start.Compare(b.Start) })
			}
			arm := make([]slot, len(list))
			for i, trial := range list {
				t.add(&arm[i], trial)
			}
			t.slots[c], longest = append(t.slots[c], arm), max(longest, len(list))
		}
	}
	for i := range longest {
		t.rounds = append(t.rounds, i+1)
	}
	t.final = longest
	for c := range t.at {
		t.at[c] = t.rounds
	}
}

// onlyFailed reports whether failed operations are the only reason why a trial is invalid.
func onlyFailed(t *journal.Trial) bool {
	return len(t.Invalid) > 0 && len(t.Values) > 0 &&
		!slices.ContainsFunc(t.Invalid, func(v journal.Violation) bool { return v.Rule != workload.RuleErrors })
}
