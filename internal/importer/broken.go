package importer

import (
	"fmt"
	"maps"
	"slices"

	"tare/internal/run/journal"
)

// brokenFile is a file that gave no trial.
type brokenFile struct {
	arm    *arm // nil: the file has no arm, since only its content would have named one
	round  int
	path   string
	reason string
	raw    string
	key    *fileKey
}

// group counts the files of an arm whose paths name the same cell and levels.
type group struct {
	files    int
	measured int          // the sum of the number of cells of each file
	cells    map[int]bool // the cells that at least one file has a trial in
}

// done adds the cells of the file just read to its group.
func (a *arm) done(key *fileKey) {
	g := a.groups[key.measured()]
	if g == nil {
		g = &group{cells: map[int]bool{}}
		a.groups[key.measured()] = g
	}
	g.files++
	g.measured += len(a.file)
	maps.Copy(g.cells, a.file)
	clear(a.file)
}

func (r *run) recordBroken(i int, reason string, k *storedFile) error {
	f := &r.files[i]
	r.result.Broken++
	r.problem(Problem{File: f.path, Rule: ruleImport, Reason: reason})
	if r.Strict {
		return fmt.Errorf("%s: %s", f.path, reason)
	}
	b := brokenFile{path: f.path, reason: reason, key: &f.fileKey}
	if k != nil {
		b.raw = k.raw()
	}
	if f.arm != "" {
		b.arm = r.arms.named(f.arm)
		b.arm.files++
		switch {
		case r.PairBy.byFiles():
			b.round = r.roundOf(f, 1)
		case r.PairBy.how == "":
			b.round = b.arm.next()
		}
	}
	r.broken = append(r.broken, b)
	return nil
}

// addBroken records each file that gave no trial as an invalid trial in every cell that the file would have had
// a trial in. If these cells are unknown, it records none.
func (r *run) addBroken(arms []*arm) error {
	for _, b := range r.broken {
		for _, a := range arms {
			if b.arm != nil && b.arm != a {
				continue
			}
			round := b.round
			if round == 0 {
				round = a.next()
			}
			a.rounds[round] = true
			t := journal.Trial{
				Round: round, Attempt: 1, Arm: a.name, SetUp: r.Layout.setUp(b.key.block), Raw: b.raw, Source: b.path,
				Invalid: []journal.Violation{{Rule: ruleImport, Detail: b.reason}},
			}
			ids := []string{""}
			if cells := expected(arms, a, b.key); len(cells) > 0 {
				ids = nil
				for _, k := range cells {
					a.take(round, k, r.PairBy.how != "")
					ids = append(ids, r.cells.list[k].ID)
				}
			}
			for _, t.Cell = range ids {
				r.result.ByRule[ruleImport]++
				if err := r.bulk.Add(&t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// expected returns the cells that a broken file of an arm should have had trials in. They are the cells of the
// arm's other files with the same key, or, if none of these could be read, of other arms' files with that key.
// It returns none if these other files differ in their cells, since the cells are then unknown.
func expected(arms []*arm, a *arm, key *fileKey) []int {
	for _, of := range append([]*arm{a}, arms...) {
		if g := of.groups[key.measured()]; g != nil {
			if g.measured < g.files*len(g.cells) {
				return nil
			}
			return slices.Sorted(maps.Keys(g.cells))
		}
	}
	return nil
}
