package importer

import (
	"cmp"
	"crypto/sha256"
)

// duplicates finds files with the same content. Within an arm, all but the first are
// copies of one result and no trials of their own: counted, they would make the
// interval narrower than what was measured. In two arms, one of them was probably
// given the other's directory. A small file that tells no time may be the same as
// another of its arm by chance: it is a trial like any.
type duplicates struct {
	first map[sum256][]int // files with this content: the first of each arm
	same  ordered[[2]string, same]
	files map[string]int // that were read, by arm
}

type sum256 [sha256.Size]byte

// same is what an arm has of an earlier one, or of itself.
type same struct {
	in, of string
	files  []int
}

// note notes that a file of an arm has the content of a file of another one or the same.
func (d *duplicates) note(in, of string, file int) {
	s := d.same.get([2]string{in, of}, func() *same { return &same{in: in, of: of} })
	s.files = append(s.files, file)
}

// duplicateOf gives the path of the file of the same arm that a file is a copy of; "" if
// it is none. A file that tells arms itself holds many results.
func (r *run) duplicateOf(i int, c readResult) string {
	arm := r.files[i].arm
	if !c.kept.whole || c.trials[0].Arm != "" {
		return ""
	}
	all := &r.duplicates
	all.files[arm]++
	known := all.first[c.kept.sum]
	again := false // in the arm, by chance
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
		all.first[c.kept.sum] = append(known, i)
	}
	return ""
}

// enoughValues is from how many values on two trials do not agree in all of them by
// chance, rounded as tools round them.
const enoughValues = 8

// distinct says whether another trial would have given another content.
func (c *readResult) distinct() bool {
	values := 0
	for _, t := range c.trials {
		if !t.Start.IsZero() {
			return true
		}
		values += len(t.Values)
	}
	return values >= enoughValues
}

// remarkDuplicates sums up what was found: what an arm has of itself, then of others.
func (r *run) remarkDuplicates() {
	own := map[string]int{} // files that are copies, by arm
	for _, s := range r.duplicates.same.list {
		if s.in == s.of {
			own[s.in] = len(s.files)
			r.remark("%d of the %s of %s hold the same as another and are no trials of their own; the first is %s",
				len(s.files), plural(r.duplicates.files[s.in], "file"), cmp.Or(s.in, imported), r.files[s.files[0]].path)
		}
	}
	for _, s := range r.duplicates.same.list {
		all := r.duplicates.files[s.in] - own[s.in]
		switch {
		case s.in == s.of:
		case len(s.files) == all:
			r.remark("all %s of %s hold the same as those of %s: a wrong directory?", plural(all, "file"), s.in, s.of)
		default:
			r.remark("%d of the %s of %s hold the same as files of %s; the first is %s",
				len(s.files), plural(all, "file"), s.in, s.of, r.files[s.files[0]].path)
		}
	}
}
