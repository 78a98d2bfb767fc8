package wording

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deciding are the packages that decide and hand on typed values.
var deciding = []string{"analysis", "runs/compare", "runs/cost", "runs/gate", "runs/history", "runs/published"}

// answering are files that read what users write, and answer with errors.
var answering = []string{"../../runs/compare/reference.go"}

// sources reads the files of a package, without its tests.
func sources(t *testing.T, pkg string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("../../" + pkg + "/*.go")
	if err != nil || names == nil {
		t.Fatalf("no files of %s: %v", pkg, err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || slices.Contains(answering, name) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// Every kind of reason and finding has words: nothing that is decided reaches a
// reader as the name of a kind.
func TestEveryKindHasWords(t *testing.T) {
	worded := map[string]bool{}
	for _, f := range sources(t, "report/wording") {
		ast.Inspect(f, func(n ast.Node) bool {
			if clause, ok := n.(*ast.CaseClause); ok {
				for _, e := range clause.List {
					if s, ok := e.(*ast.SelectorExpr); ok {
						worded[s.X.(*ast.Ident).Name+"."+s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	worded["analysis.NothingShown"] = true // what could have been seen says it all
	kinds := 0
	for _, pkg := range deciding {
		for _, f := range sources(t, pkg) {
			for _, d := range f.Decls {
				method, ok := d.(*ast.FuncDecl)
				if !ok || method.Recv == nil || method.Name.Name != "Kind" {
					continue
				}
				kinds++
				if name := path.Base(pkg) + "." + method.Recv.List[0].Type.(*ast.Ident).Name; !worded[name] {
					t.Errorf("%s has no words", name)
				}
			}
		}
	}
	if kinds < 60 {
		t.Errorf("only %d kinds were found", kinds)
	}
}

// Packages that decide write no prose, so that a sentence can be changed here and
// nothing but golden files with it. Errors are said where they arise.
func TestProseStandsHereOnly(t *testing.T) {
	for _, pkg := range deciding {
		for _, f := range sources(t, pkg) {
			excused := map[ast.Node]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if r := n.Type.Results; r != nil && len(r.List) == 1 {
						if name, ok := r.List[0].Type.(*ast.Ident); ok && name.Name == "error" {
							excuse(n, excused)
						}
					}
				case *ast.Field:
					if n.Tag != nil {
						excused[n.Tag] = true
					}
				case *ast.CallExpr:
					if isError(n.Fun) {
						excuse(n, excused)
					}
				case *ast.CompositeLit:
					if name, ok := n.Type.(*ast.Ident); ok && (strings.HasSuffix(name.Name, "Error") || name.Name == "Skipped") {
						excuse(n, excused)
					}
				case *ast.BasicLit:
					text, err := strconv.Unquote(n.Value)
					if n.Kind == token.STRING && err == nil && !excused[n] && len(strings.Fields(text)) > 3 {
						t.Errorf("%s holds the sentence %q", pkg, text)
					}
				}
				return true
			})
		}
	}
}

func isError(fun ast.Expr) bool {
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && slices.Contains([]string{"fmt.Errorf", "errors.New"}, x.Name+"."+s.Sel.Name)
}

// excuse marks all that is below a node.
func excuse(n ast.Node, excused map[ast.Node]bool) {
	ast.Inspect(n, func(below ast.Node) bool {
		excused[below] = true
		return true
	})
}
