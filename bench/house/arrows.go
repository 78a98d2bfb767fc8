package main

import (
	"go/ast"
	"maps"
	"slices"

	"golang.org/x/tools/go/packages"
)

// arrows counts the pairs of files of which one uses what the other declares, and
// those that run back up: against the order in which the fewest do, as far as a greedy
// search finds it.
type arrows struct{ count, up int }

// between counts the arrows between the files of a package.
func between(p *packages.Package) arrows {
	uses := map[string]map[string]bool{}
	for _, file := range p.Syntax {
		from := p.Fset.Position(file.Pos()).Filename
		uses[from] = map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if used := p.TypesInfo.Uses[id]; used != nil && used.Pkg() == p.Types && used.Pos().IsValid() {
				if to := p.Fset.Position(used.Pos()).Filename; to != from {
					uses[from][to] = true
				}
			}
			return true
		})
	}
	all := arrows{up: upward(uses)}
	for _, to := range uses {
		all.count += len(to)
	}
	return all
}

// upward is the number of arrows that run against the order which the heuristic of
// Eades, Lin and Smyth finds (A fast and effective heuristic for the feedback arc set
// problem, Information Processing Letters 47, 1993): files that nobody uses stand at the top, those that
// use none at the bottom, and between them goes up next who uses most and is used least.
func upward(uses map[string]map[string]bool) int {
	left := slices.Sorted(maps.Keys(uses))
	out := func(f string) (n int) {
		for _, g := range left {
			if uses[f][g] {
				n++
			}
		}
		return n
	}
	in := func(f string) (n int) {
		for _, g := range left {
			if uses[g][f] {
				n++
			}
		}
		return n
	}
	var top, bottom []string
	take := func(i int) string {
		f := left[i]
		left = slices.Delete(left, i, i+1)
		return f
	}
	for len(left) > 0 {
		if i := slices.IndexFunc(left, func(f string) bool { return out(f) == 0 }); i >= 0 {
			bottom = append(bottom, take(i))
			continue
		}
		if i := slices.IndexFunc(left, func(f string) bool { return in(f) == 0 }); i >= 0 {
			top = append(top, take(i))
			continue
		}
		best := 0
		for i, f := range left {
			if out(f)-in(f) > out(left[best])-in(left[best]) {
				best = i
			}
		}
		top = append(top, take(best))
	}
	slices.Reverse(bottom)
	place := map[string]int{}
	for i, f := range append(top, bottom...) {
		place[f] = i
	}
	n := 0
	for from, to := range uses {
		for f := range to {
			if place[f] < place[from] {
				n++
			}
		}
	}
	return n
}
