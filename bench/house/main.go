// Command house measures how simple this code is, so that a redesign can show what
// it has changed.
//
//	go run ./bench/house                 this tree
//	go run ./bench/house -C ../before    another checkout of it, such as a git worktree
//
// It reads the code with its types and counts, without tests: lines; the arrows between
// the files of each package, and how many of them run back up; the interfaces of the
// protocol that are asked for by type assertion; and the calls that take sentences apart.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("C", ".", "the checkout to measure")
	most := flag.Int("most", 8, "packages to list")
	flag.Parse()
	if err := measure(os.Stdout, *dir, *most); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// room is one package, measured.
type room struct {
	path   string // below the module: "testbed/kube"
	files  int
	lines  int
	arrows arrows
}

// load reads the packages of the module at dir with the types of their own code.
func load(dir string) ([]*packages.Package, error) {
	config := &packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule}
	list, err := packages.Load(config, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, e)
		}
	}
	return list, nil
}

func measure(w io.Writer, dir string, most int) error {
	list, err := load(dir)
	if err != nil {
		return err
	}
	var rooms []room
	asked, cuts := map[string]bool{}, []string(nil)
	for _, p := range list {
		r := room{path: strings.TrimPrefix(p.PkgPath, p.Module.Path+"/"), files: len(p.GoFiles), arrows: between(p)}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			r.lines += strings.Count(string(text), "\n")
		}
		rooms = append(rooms, r)
		maps.Copy(asked, assertions(p))
		if !strings.HasPrefix(r.path, "bench/") {
			cuts = append(cuts, sentencesCut(p)...)
		}
	}
	return show(w, rooms, asked, cuts, most)
}

func show(w io.Writer, rooms []room, asked map[string]bool, cuts []string, most int) error {
	lines, all := 0, arrows{}
	for _, r := range rooms {
		lines += r.lines
		all.count += r.arrows.count
		all.up += r.arrows.up
	}
	names := slices.Sorted(maps.Keys(asked))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "lines of Go without tests\t%d\n", lines)
	fmt.Fprintf(t, "arrows between files of a package\t%d, of which %d run back up\n", all.count, all.up)
	fmt.Fprintf(t, "optional interfaces of the protocol\t%d\t%s\n", len(names), strings.Join(names, ", "))
	fmt.Fprintf(t, "calls that take sentences apart\t%d\t%s\n", len(cuts), strings.Join(cuts, ", "))
	kube := slices.DeleteFunc(slices.Clone(rooms), func(r room) bool { return !strings.HasPrefix(r.path, "testbed/kube") })
	if len(kube) > 0 {
		largest := slices.MaxFunc(kube, func(a, b room) int { return cmp.Compare(a.files, b.files) })
		fmt.Fprintf(t, "files in the largest package of testbed/kube\t%d\t%s, %d lines\n", largest.files, largest.path, largest.lines)
	}
	fmt.Fprintln(t)
	fmt.Fprintln(t, "package\tfiles\tlines\tarrows\tback up")
	slices.SortFunc(rooms, func(a, b room) int { return cmp.Or(b.lines-a.lines, cmp.Compare(a.path, b.path)) })
	for _, r := range rooms[:min(most, len(rooms))] {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", r.path, r.files, r.lines, r.arrows.count, r.arrows.up)
	}
	return t.Flush()
}
