package importer

import (
	"cmp"
	"crypto/sha256"
)

// duplicates finds files with the same content. Within an arm, all but the first are copies of one result and
// are no trials: counted, they would make the interval narrower than the measurements allow. If two arms share
// content, one of them was probably given the other's directory. A small file without a time may equal another
// one of its arm by chance, and stays a trial.
type duplicates struct {
	first map[sum256][]int // indices of the files with this content, the first of each arm
	sets  ordered[[2]string, duplicateSet]
	files map[string]int // the number of files read, by arm
}

type sum256 [sha256.Size]byte

// duplicateSet lists the files of an arm whose content an earlier file has. The earlier file belongs to another arm or
// the same one.
type duplicateSet struct {
	in, of string
	files  []int
}

// note records that a file of the arm in has the content of a file of the arm of.
func (d *duplicates) note(in, of string, file int) {
	s := d.sets.get([2]string{in, of}, func() *duplicateSet { return &duplicateSet{in: in, of: of} })
	s.files = append(s.files, file)
}

// duplicateOf returns the path of the file of the same arm that file i is a copy of, or "". A file that itself
// names several arms holds many results and is never a copy.
func (r *run) duplicateOf(i int, c readResult) string {
	arm := r.files[i].arm
	if !c.stored.whole || c.trials[0].Arm != "" {
		return ""
	}
	all := &r.duplicates
	all.files[arm]++
	known := all.first[c.stored.sum]
	again := false // set if a file of this arm has the same content, but may have it by chance
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

// enoughValues is the number of values, rounded as tools round them, from which two trials do not agree in all
// of them by chance.
const enoughValues = 8

// distinct reports whether a second trial would certainly have given different content.
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

// remarkDuplicates adds the remarks on duplicates: first on duplicates within an arm, then on duplicates in
// different arms.
func (r *run) remarkDuplicates() {
	own := map[string]int{} // the number of copies within each arm
	for _, s := range r.duplicates.sets.list {
		if s.in == s.of {
			own[s.in] = len(s.files)
			r.remark("%d of the %s of %s hold the same as another and are no trials of their own; the first is %s",
				len(s.files), plural(r.duplicates.files[s.in], "file"), cmp.Or(s.in, imported), r.files[s.files[0]].path)
		}
	}
	for _, s := range r.duplicates.sets.list {
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
