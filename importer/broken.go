package importer

import (
	"fmt"
	"maps"
	"slices"

	"tare/journal"
)

// broken is a file that gave no trial.
type broken struct {
	arm    *arm // nil: the file would have told
	round  int
	path   string
	reason string
	raw    string
	key    *fileKey
}

// group is the files of an arm whose paths tell the same cell and levels.
type group struct {
	files    int
	measured int          // cells, added up over the files
	cells    map[int]bool // of any of them
}

// done ends a file.
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

func (r *run) lose(i int, reason string, k *kept) error {
	f := &r.files[i]
	r.result.Broken++
	r.problem(Problem{File: f.path, Rule: ruleImport, Reason: reason})
	if r.Strict {
		return fmt.Errorf("%s: %s", f.path, reason)
	}
	b := broken{path: f.path, reason: reason, key: &f.fileKey}
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

// addBroken records each file that gave nothing as an invalid trial: of every cell that it would have been one of, or
// where that is not known, of none.
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

// expected are the cells that a file of an arm would have had a trial in: those of the others with its key, if these
// have the same, or of the files of other arms there, if no other can be read. None: that is not known.
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
