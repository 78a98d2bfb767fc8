// Command house measures how simple the code of Tare is, to compare two versions of it.
//
//	go -C hack/bench run ./house                 this tree
//	go -C hack/bench run ./house -C ../before    another checkout, such as a git worktree
//	go -C hack/bench run ./house -draw 1         100 comments and sentences, for a reader who knows nothing else
//
// The command prints one table: lines of Go by group of packages, lines of C, entries of the top level, exported
// names without users, interfaces, repeated blocks of eight lines, words of the glossary that several types have as
// names, and the path of a result through the packages (report.Run). Tests, benches, images, packaging and the test
// cluster are no product code and are not counted.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("C", "../..", "the checkout to measure")
	glossary := flag.String("glossary", "docs/glossary.md", "the words that have one meaning each")
	verbose := flag.Bool("v", false, "name what is counted")
	seed := flag.Uint64("draw", 0, "seed by which comments and sentences are drawn, instead of measuring")
	flag.Parse()
	h, err := open(*dir)
	if err == nil && *seed != 0 {
		err = draw(os.Stdout, h, *seed)
	} else if err == nil {
		err = measure(os.Stdout, h, *glossary, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// house holds the packages that are measured.
type house struct {
	dir     string
	module  string
	product []*packages.Package // without benches, images, packaging and test packages
	all     []*packages.Package
}

// path returns the path of a package below the module, without internal/.
func (h *house) path(p *packages.Package) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, h.module+"/"), "internal/")
}

// open reads the packages of the module at dir, with types.
func open(dir string) (*house, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	config := &packages.Config{Dir: dir, Mode: packages.LoadAllSyntax | packages.NeedModule}
	list, err := packages.Load(config, "./...")
	if err != nil {
		return nil, err
	}
	all := list
	if bench := filepath.Join(dir, "hack", "bench"); exists(bench) {
		config.Dir = bench
		users, err := packages.Load(config, "./...")
		if err != nil {
			return nil, err
		}
		all = slices.Concat(list, users)
	}
	h := &house{dir: dir, all: all}
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, e)
		}
		h.module = "tare"
		if path := h.path(p); !apart(path) {
			h.product = append(h.product, p)
		}
	}
	return h, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// apart reports whether a package is no product code.
func apart(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{"bench", "test", "image", "deploy", "hack", "golden"}, first) ||
		strings.HasSuffix(path, "layertest") || strings.HasSuffix(path, "workloadtest") || strings.Contains(path, "testdata")
}

func measure(w io.Writer, h *house, glossary string, verbose bool) error {
	entries, err := exec.Command("git", "-C", h.dir, "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("list the top level: %w", err)
	}
	words, err := glossaryWords(filepath.Join(h.dir, glossary))
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what string, list []string) {
		fmt.Fprintf(t, "%s\t%d\n", what, len(list))
		if verbose {
			fmt.Fprintf(t, "\t\t%s\n", strings.Join(list, ", "))
		}
	}
	groups, lines, err := h.lines("*.go")
	if err != nil {
		return err
	}
	_, linesOfC, err := h.lines("*.c", "*.h")
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "lines of Go of product code\t%d\n", lines)
	for _, group := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return groups[b] - groups[a] }) {
		fmt.Fprintf(t, "  %s\t%d\n", group, groups[group])
	}
	fmt.Fprintf(t, "lines of C\t%d\n", linesOfC)
	visible := slices.DeleteFunc(strings.Fields(string(entries)), func(name string) bool { return strings.HasPrefix(name, ".") })
	row("entries of the top level that ls shows", visible)
	unused, exported := h.unused()
	fmt.Fprintf(t, "exported names\t%d\n", exported)
	row("exported names without a user outside of their package", unused)
	row("interfaces", h.interfaces())
	repeated, err := h.repeated()
	if err != nil {
		return err
	}
	row("pairs of repeated blocks of eight lines", repeated)
	fmt.Fprintf(t, "words of the glossary\t%d\n", len(words))
	row("words of the glossary that more than one type has", h.shared(words))
	stays, rooms := h.walk("report", "Run")
	fmt.Fprintf(t, "packages on the way of report.Run\t%d\n", rooms)
	fmt.Fprintf(t, "stays on the way of report.Run\t%d\n", stays)
	return t.Flush()
}

// lines counts the lines of the product files that match one of the patterns, by the first element of the files' paths.
// It counts the files for all operating systems.
func (h *house) lines(patterns ...string) (groups map[string]int, all int, err error) {
	files, err := exec.Command("git", append([]string{"-C", h.dir, "ls-files"}, patterns...)...).Output()
	if err != nil {
		return nil, 0, fmt.Errorf("list the files: %w", err)
	}
	groups = map[string]int{}
	for _, name := range strings.Fields(string(files)) {
		path := strings.TrimPrefix(name, "internal/")
		if strings.HasSuffix(name, "_test.go") || apart(filepath.Dir(path)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(h.dir, name))
		if err != nil {
			return nil, 0, err
		}
		group, _, below := strings.Cut(path, "/")
		if !below {
			group = "."
		}
		n := strings.Count(string(text), "\n")
		groups[group] += n
		all += n
	}
	return groups, all, nil
}
