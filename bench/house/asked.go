package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// protocol are the packages whose interfaces an author of a layer or a workload would
// have to know. The seams of package testbed itself, which its function As finds, are
// what a testbed can do, and no part of it.
var protocol = []string{"experiment", "layer", "workload", "testbed/kube", "cli"}

// assertions names the interfaces of the protocol that a package asks for by a type
// assertion, a type switch or an instance of a generic function.
func assertions(p *packages.Package) map[string]bool {
	found := map[string]bool{}
	add := func(expr ast.Expr) {
		named, ok := p.TypesInfo.TypeOf(expr).(*types.Named)
		if !ok || !types.IsInterface(named) || named.Obj().Pkg() == nil {
			return
		}
		path := strings.TrimPrefix(named.Obj().Pkg().Path(), p.Module.Path+"/")
		// The type that a config is handed on as is no option: every layer is one.
		if name := named.Obj().Name(); slices.Contains(protocol, path) && name != "Layer" && name != "Workload" {
			found[path+"."+name] = true
		}
	}
	for _, file := range p.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if n.Type != nil {
					add(n.Type)
				}
			case *ast.TypeSwitchStmt:
				for _, clause := range n.Body.List {
					for _, expr := range clause.(*ast.CaseClause).List {
						add(expr)
					}
				}
			case *ast.IndexExpr:
				add(n.Index)
			}
			return true
		})
	}
	return found
}

// worded are the packages whose sentences people read.
var worded = []string{"analysis", "wording", "compare", "combine", "gate", "history", "published", "report", "cli"}

// apart are the functions that look for something in a text or cut it.
var apart = map[string]bool{"Contains": true, "Cut": true, "CutPrefix": true, "CutSuffix": true, "HasPrefix": true, "HasSuffix": true,
	"Index": true, "LastIndex": true, "Split": true, "SplitN": true, "TrimPrefix": true, "TrimSuffix": true}

// sentencesCut gives the places of the calls of a package that take prose apart: by a text with a
// letter and a space or a colon, or by a bracket, comma or full stop that ends a part of a sentence.
func sentencesCut(p *packages.Package) (places []string) {
	path := strings.TrimPrefix(p.PkgPath, p.Module.Path+"/")
	for _, room := range worded {
		if path != room && !strings.HasPrefix(path, room+"/") {
			continue
		}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && cutsProse(p, call) {
					at := p.Fset.Position(call.Pos())
					places = append(places, fmt.Sprintf("%s/%s:%d", path, filepath.Base(at.Filename), at.Line))
				}
				return true
			})
		}
	}
	return places
}

func cutsProse(p *packages.Package, call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 || !apart[f.Sel.Name] {
		return false
	}
	if used := p.TypesInfo.Uses[f.Sel]; used == nil || used.Pkg() == nil || used.Pkg().Path() != "strings" {
		return false
	}
	by := p.TypesInfo.Types[call.Args[1]].Value
	if by == nil || by.Kind() != constant.String {
		return false
	}
	text := constant.StringVal(by)
	switch text {
	case ".", ": ", "] ", "], ", "(", ")", "; ", ", ":
		return true
	}
	letters := strings.ContainsFunc(text, func(r rune) bool { return r >= 'a' && r <= 'z' })
	return letters && strings.ContainsAny(text, " ") || strings.HasSuffix(text, ": ")
}
