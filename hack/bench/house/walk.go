package main

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// walk follows the static calls of a function through the packages of the module, in the order of the text. It visits
// each function once. A stay begins whenever the walk enters a package from another package, also at a return from a
// call. The result rooms is the number of packages.
func (h *house) walk(path, name string) (stays, rooms int) {
	program, list := ssautil.AllPackages(h.product, ssa.InstantiateGenerics)
	program.Build()
	at := slices.IndexFunc(h.product, func(p *packages.Package) bool { return h.path(p) == path })
	if at < 0 || list[at] == nil || list[at].Func(name) == nil {
		return 0, 0
	}
	seen, in := map[*ssa.Function]bool{}, map[*ssa.Package]bool{}
	var now *ssa.Package
	enter := func(p *ssa.Package) {
		if p != now {
			stays++
		}
		now, in[p] = p, true
	}
	var visit func(f *ssa.Function)
	visit = func(f *ssa.Function) {
		p := f.Package()
		if p == nil && f.Origin() != nil {
			p = f.Origin().Package()
		}
		if p == nil || seen[f] || !strings.HasPrefix(p.Pkg.Path(), h.module+"/") {
			return
		}
		seen[f] = true
		enter(p)
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				if call, ok := i.(ssa.CallInstruction); ok && call.Common().StaticCallee() != nil {
					visit(call.Common().StaticCallee())
					enter(p)
				}
			}
		}
		for _, inner := range f.AnonFuncs {
			visit(inner)
			enter(p)
		}
	}
	visit(list[at].Func(name))
	return stays, len(in)
}
