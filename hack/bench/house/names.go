package main

import (
	"go/types"
	"os"
	"regexp"
	"slices"
	"strings"
)

// unused lists the exported names of product packages that no other package uses outside of tests. The result all is
// the number of exported names. Methods and fields are left out, since interfaces and reflection may use them.
func (h *house) unused() (names []string, all int) {
	used := map[string]bool{}
	for _, p := range h.all {
		for _, o := range p.TypesInfo.Uses {
			if o.Pkg() != nil && o.Pkg().Path() != p.PkgPath && o.Parent() == o.Pkg().Scope() {
				used[o.Pkg().Path()+"."+o.Name()] = true
			}
		}
	}
	for _, p := range h.product {
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if !o.Exported() || p.Name == "main" {
				continue
			}
			all++
			if !used[p.PkgPath+"."+name] {
				names = append(names, h.path(p)+"."+name)
			}
		}
	}
	return names, all
}

// interfaces lists the interfaces of product packages.
func (h *house) interfaces() (names []string) {
	h.types(func(path string, o *types.TypeName) {
		if types.IsInterface(o.Type()) {
			names = append(names, path+"."+o.Name())
		}
	})
	return names
}

// types calls do with each type that a product package declares outside of functions.
func (h *house) types(do func(path string, o *types.TypeName)) {
	for _, p := range h.product {
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			if o, ok := scope.Lookup(name).(*types.TypeName); ok && !o.IsAlias() {
				do(h.path(p), o)
			}
		}
	}
}

var glossaryRow = regexp.MustCompile(`(?m)^\| ([a-z][a-z -]*) \|`)

// glossaryWords returns the words of the glossary. A missing file has no words.
func glossaryWords(file string) (words []string, err error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for _, m := range glossaryRow.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "word" {
			words = append(words, m[1])
		}
	}
	return words, err
}

// shared lists the words that are the names of types in several packages, with these packages.
func (h *house) shared(words []string) (list []string) {
	at := map[string][]string{}
	h.types(func(path string, o *types.TypeName) {
		word := strings.ToLower(o.Name())
		if slices.Contains(words, word) && !slices.Contains(at[word], path) {
			at[word] = append(at[word], path)
		}
	})
	for _, word := range words {
		if len(at[word]) > 1 {
			list = append(list, word+" ("+strings.Join(at[word], " ")+")")
		}
	}
	return list
}
