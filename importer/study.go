package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// find lists the files that match the template, arm by arm: first those without a name, as without a layer.
func (l *Layout) find() (*search, []Source, error) {
	s := &search{}
	if err := s.directory("", l.directory); err != nil {
		return nil, nil, err
	}
	var other []string
	arms, blocks := map[string]bool{}, map[string]bool{}
	files := s.files[:0]
	for _, f := range s.files {
		p, ok := l.of(f.name)
		if !ok {
			other = append(other, f.path)
			continue
		}
		f.arm = p.arm
		arms[p.arm], blocks[p.block] = true, true
		files = append(files, f)
	}
	if s.files = files; len(files) == 0 {
		return nil, nil, errors.Join(s.close(), misuse("the first of "+plural(len(other), "file")+" there is "+other[0], "no file below %s matches %s", l.directory, l.Path))
	}
	if len(other) > 0 {
		s.remarks = append(s.remarks, fmt.Sprintf("%s below %s passed over that the template does not match; the first is %s", plural(len(other), "file"), l.directory, other[0]))
	}
	order := sortedNames(arms)
	slices.SortStableFunc(s.files, func(a, b found) int { return slices.Index(order, a.arm) - slices.Index(order, b.arm) })
	var sources []Source
	for _, arm := range order {
		sources = append(sources, Source{Arm: arm, From: []string{l.Path}})
	}
	if len(l.Block) > 0 {
		l.names, l.blocks = sortedNames(blocks), map[string]int{}
		for i, b := range l.names {
			l.blocks[b] = i + 1
		}
	}
	return s, sources, nil
}

// sortedNames puts what has no name first, the others in natural order.
func sortedNames(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b string) int {
		switch {
		case a == nothing && b != nothing:
			return -1
		case b == nothing && a != nothing:
			return 1
		}
		return natural(a, b)
	})
	return list
}

// find finds the files, and of a layout what their paths tell.
func (o *Options) find() (*search, error) {
	if o.Layout == nil {
		return find(o.Sources, o.Format.Extensions)
	}
	if err := o.Layout.compile(); err != nil {
		return nil, err
	}
	if len(o.Layout.Block) > 0 {
		if o.PairBy.how != "" {
			return nil, misuse("leave out --pair-by", "cannot pair by %s: repeats are compared within their block", o.PairBy)
		}
		o.PairBy = o.Layout.pairing()
	}
	var s *search
	var err error
	s, o.Sources, err = o.Layout.find()
	return s, err
}

// pairing is how a layout with blocks pairs trials: by block and repeat.
func (l *Layout) pairing() Pairing {
	return Pairing{how: strings.Join(append(slices.Clone(l.Block), cmp.Or(strings.Join(l.Repeat, ", "), "order")), ", "), layout: l}
}

// placeOf is what the path of a file tells.
func (o *Options) placeOf(f *found) (place, error) {
	var p place
	if o.Layout != nil {
		p, _ = o.Layout.of(f.name) // found by it
	}
	levels, err := levelsOf(o.Factors, f.path)
	p.levels = append(p.levels, levels...)
	return p, err
}

// setUp is the number of a block, from 1; 0: there are none.
func (r *run) setUp(p place) int {
	if r.Layout == nil {
		return 0
	}
	return r.Layout.blocks[p.block]
}

// blocks are their names, in the order of their numbers; nil: there are none.
func (r *run) blocks() []string {
	if r.Layout == nil {
		return nil
	}
	return r.Layout.names
}

// remarkRepeats says what repeats are taken for where no blocks are told.
func (r *run) remarkRepeats() {
	if r.Layout == nil || r.Layout.names != nil {
		return
	}
	for _, a := range r.arms.list {
		for _, g := range a.groups {
			if g.files > len(g.cells) {
				r.remark("repeats of a cell are taken for independent of each other: where they share a deployment, intervals are too narrow unless --block-by names it")
				return
			}
		}
	}
}
