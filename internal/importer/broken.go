package importer

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// brokenFile is a file that gave no trial. The run records the invalid trial of this struct in its place.
type brokenFile struct {
	journal.Trial
	arm *arm // arm of the file; nil: only the unreadable content names the arm
	key *fileKey
}

type group struct {
	files    int
	measured int          // sum over the group's files of the number of cells of each file
	cells    map[int]bool // cells in which at least one file of the group has a trial
}

// done is called when a file has been read. It adds the file's cells to the file's group: all files of the arm whose
// keys have equal cell and levels.
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
	b := brokenFile{key: &f.fileKey, Trial: journal.Trial{
		Attempt: 1, SetUp: r.Layout.setUp(f.block), Raw: k.raw(), Source: f.path, Invalid: []journal.Violation{{Rule: ruleImport, Detail: reason}},
	}}
	if f.arm != "" {
		b.arm = r.arms.named(f.arm)
		b.arm.files++
		switch {
		case r.PairBy.byFiles():
			b.Round = r.roundOf(f, 1)
		case r.PairBy.how == "":
			b.Round = b.arm.next()
		}
	}
	r.broken = append(r.broken, b)
	return nil
}

// addBroken records invalid trials for each file that gave no trial: one in each cell that the file should have, or one
// without a cell.
func (r *run) addBroken(arms []*arm) error {
	for _, b := range r.broken {
		for _, a := range arms {
			if b.arm != nil && b.arm != a {
				continue
			}
			t := b.Trial
			t.Arm = a.name
			if t.Round == 0 {
				t.Round = a.next()
			}
			a.rounds[t.Round] = true
			ids := []string{""}
			if cells := expected(arms, a, b.key); len(cells) > 0 {
				ids = nil
				for _, k := range cells {
					a.take(t.Round, k, r.PairBy.how != "")
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

// expected returns the cells that a broken file should have had: those of files of its arm (or another arm) with this
// key. nil: unknown.
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

// duplicates finds files with equal content. Within an arm, only the first is a trial. A small file without a start
// time stays a trial, since it may be equal by chance.
type duplicates struct {
	first map[[sha256.Size]byte][]int // for each checksum of a content: the first file of each arm that has this content
	sets  ordered[[2]string, duplicateSet]
	files map[string]int // the number of files read, by arm
}

// duplicateSet lists the files of an arm that are copies. other is the arm of the originals. If both names are equal,
// the originals are earlier files.
type duplicateSet struct {
	arm, other string
	files      []int
}

func (d *duplicates) note(arm, other string, file int) {
	s := d.sets.get([2]string{arm, other}, func() *duplicateSet { return &duplicateSet{arm: arm, other: other} })
	s.files = append(s.files, file)
}

// duplicateOf returns the path of an earlier file of the arm that file i copies; "": none. A file that names its arms
// itself never counts as a copy.
func (r *run) duplicateOf(i int, c readResult) string {
	arm := r.files[i].arm
	if !c.stored.whole || c.trials[0].Arm != "" {
		return ""
	}
	all := &r.duplicates
	all.files[arm]++
	known := all.first[c.stored.sum]
	again := false // an earlier file of the arm has the same content, but too little of it to prove a copy
	for _, k := range known {
		if r.files[k].arm != arm {
			continue
		}
		if c.distinct() {
			all.note(arm, arm, i)
			return r.files[k].path
		}
		again = true
	}
	for _, k := range known {
		if other := r.files[k].arm; other != arm {
			all.note(arm, other, i)
		}
	}
	if !again {
		all.first[c.stored.sum] = append(known, i)
	}
	return ""
}

// distinct reports whether a file's content is too special to occur in two trials by chance.
func (c *readResult) distinct() bool {
	const enoughValues = 8 // two trials agree in a few values by chance, since tools round values, but not in so many
	values := 0
	for _, t := range c.trials {
		if !t.Start.IsZero() {
			return true
		}
		values += len(t.Values)
	}
	return values >= enoughValues
}

func (r *run) remarkDuplicates() {
	own := map[string]int{} // by arm, the number of files that are copies of other files of this arm
	for _, s := range r.duplicates.sets.list {
		if s.arm == s.other {
			own[s.arm] = len(s.files)
			r.remark("%d of the %s of %s hold the same as another and are no trials of their own; the first is %s",
				len(s.files), plural(r.duplicates.files[s.arm], "file"), cmp.Or(s.arm, imported), r.files[s.files[0]].path)
		}
	}
	for _, s := range r.duplicates.sets.list {
		all := r.duplicates.files[s.arm] - own[s.arm]
		switch {
		case s.arm == s.other:
		case len(s.files) == all:
			r.remark("all %s of %s hold the same as those of %s: a wrong directory?", plural(all, "file"), s.arm, s.other)
		default:
			r.remark("%d of the %s of %s hold the same as files of %s; the first is %s",
				len(s.files), plural(all, "file"), s.arm, s.other, r.files[s.files[0]].path)
		}
	}
}

// omission counts the unusable values of one exploratory metric, such as zeros of a counter. Only an unusable value of
// a headline makes a trial invalid.
type omission struct {
	metric string
	values int
	first  string // path of the first file in which the metric's value is unusable
}

// leaveOut removes the unusable values of exploratory metrics from a trial. Such a metric becomes optional in the cell.
func (r *run) leaveOut(file int, in *importedCell, t *Trial) {
	if t.Broken != "" {
		return // a trial that is invalid as a whole keeps its values, since none counts
	}
	t.Values = slices.DeleteFunc(t.Values, func(v Value) bool {
		name, headline := v.Metric.Name, v.Metric.Headline // headlines that the user names replace those that the format marks
		if len(r.Headline) > 0 {
			headline = slices.Contains(r.Headline, name) || slices.Contains(r.Headline, in.ID+":"+name)
		}
		if headline || !unfit(v) {
			return false
		}
		r.leftOut.get(name, func() *omission { return &omission{metric: name, first: r.files[file].path} }).values++
		if t.Loop != nil && (t.Loop.Latency == name || t.Loop.Throughput == name) {
			t.Loop = nil // a closed loop needs both values, latency and throughput
		}
		return true
	})
}

func unfit(v Value) bool {
	return !finite(v.Value) || v.Metric.Scale != experiment.Difference && v.Value <= 0
}

// differences is the advice to users if a metric on a ratio scale has the value zero, which is not allowed.
const differences = "scale=difference suits metrics that may be zero"
