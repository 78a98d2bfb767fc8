package importer

import (
	"crypto/sha256"
	"fmt"
)

// contents finds files with the same content. Within an arm, all but the first are
// copies of one result and no trials of their own: counted, they would make the
// interval narrower than what was measured. In two arms, one of them was probably
// given the other's directory. A small file that tells no time may be the same as
// another of its arm by chance: it is a trial like any.
type contents struct {
	first  map[sum256][]int // files with this content: the first of each arm
	copies map[string][]int // files that are copies, by arm
	arms   []string         // with copies, in order
	shared []*shared
	files  map[string]int // that were read, by arm
}

type sum256 [sha256.Size]byte

// shared is what a later arm has of an earlier one.
type shared struct {
	of, in string
	files  []int
}

func newContents() contents {
	return contents{first: map[sum256][]int{}, copies: map[string][]int{}, files: map[string]int{}}
}

// copied gives the path of the file of the same arm that a file is a copy of; "" if
// it is none. A file that tells arms itself holds many results.
func (r *run) copied(i int, c content) string {
	arm := r.Sources[r.files[i].from.source].Arm
	if !c.kept.whole || c.trials[0].Arm != "" {
		return ""
	}
	all := &r.contents
	all.files[arm]++
	known := all.first[c.kept.sum]
	again := false // in the arm, by chance
	for _, k := range known {
		if r.Sources[r.files[k].from.source].Arm != arm {
			continue
		}
		if again = !c.distinct(); !again {
			if len(all.copies[arm]) == 0 {
				all.arms = append(all.arms, arm)
			}
			all.copies[arm] = append(all.copies[arm], i)
			return r.files[k].path
		}
	}
	for _, k := range known {
		if other := r.Sources[r.files[k].from.source].Arm; other != arm {
			all.share(other, arm, i)
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
func (c *content) distinct() bool {
	values := 0
	for _, t := range c.trials {
		if !t.Start.IsZero() {
			return true
		}
		values += len(t.Values)
	}
	return values >= enoughValues
}

func (c *contents) share(of, in string, file int) {
	for _, s := range c.shared {
		if s.of == of && s.in == in {
			s.files = append(s.files, file)
			return
		}
	}
	c.shared = append(c.shared, &shared{of, in, []int{file}})
}

// remarks sums up what was found.
func (c *contents) remarks(files []found) []string {
	var list []string
	for _, arm := range c.arms {
		copies := c.copies[arm]
		name := arm
		if name == "" {
			name = imported
		}
		list = append(list, fmt.Sprintf("%d of the %s of %s hold the same as another and are no trials of their own; the first is %s",
			len(copies), plural(c.files[arm], "file"), name, files[copies[0]].path))
	}
	for _, s := range c.shared {
		all := c.files[s.in] - len(c.copies[s.in])
		text := fmt.Sprintf("%d of the %s of %s hold the same as files of %s; the first is %s", len(s.files), plural(all, "file"), s.in, s.of, files[s.files[0]].path)
		if len(s.files) == all {
			text = fmt.Sprintf("all %s of %s hold the same as those of %s: a wrong directory?", plural(all, "file"), s.in, s.of)
		}
		list = append(list, text)
	}
	return list
}
