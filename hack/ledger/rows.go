package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/analysis"
)

// ledger has the documents, and the rows about their figures.
type ledger struct {
	root      string
	documents []*document
	rows      []row
	runs      map[string]*analysis.Run // runs that were checked, by name
}

// row is about figures that one experiment measures together.
type row struct {
	Figures map[string][]string `yaml:"figures"` // ids of figures, by document
	What    string              `yaml:"what"`
	State   state               `yaml:"state"`
	Factor  string              `yaml:"factor"`  // smaller: the size here in relation to the published size
	Reason  string              `yaml:"reason"`  // smaller: why
	Needs   string              `yaml:"needs"`   // not-here: hardware, product or part of Tare that is missing
	File    string              `yaml:"file"`    // the experiment, or the directory of several
	Command string              `yaml:"command"` // "": tare run FILE
	Page    string              `yaml:"page"`    // docs/…md#heading
	Runs    []string            `yaml:"runs"`    // names of kept runs: docs/studies/runs/NAME.tar.gz
	// Rows are ids of published rows in the experiment of the runs. Results are further results of the runs.
	Rows    []string `yaml:"rows"`
	Results []result `yaml:"results"`
	Derived string   `yaml:"derived"` // how the published rows follow from the document's numbers; "": they are these numbers

	measured []string // texts for the page
}

// result names results of a run on one metric: the baseline's median, and differences of other arms from it.
type result struct {
	Metric string   `yaml:"metric"` // METRIC or METRIC@CELL, as in a budget
	Arms   []string `yaml:"arms"`
	Mean   bool     `yaml:"mean"` // in place of these, each arm's mean and population variance with six decimals
}

// state says how far the figures of a row are measured here.
type state string

const (
	made    state = "made"
	smaller state = "smaller"
	notRun  state = "not-run"
	notHere state = "not-here"
)

var states = []struct {
	state         state
	name, meaning string
}{
	{made, "made", "by a run of the published size, or from the published raw results"},
	{smaller, "made smaller", "by a smaller run; the factor and the reason stand in the row"},
	{notRun, "file ready", "the experiment file is ready, and no run of it is kept here yet"},
	{notHere, "not here", "needs hardware, a product or a part of Tare that is missing; the row names it"},
}

// open reads the ledger of the repository at root.
func open(root string) (*ledger, error) {
	l := &ledger{root: root, runs: map[string]*analysis.Run{}}
	var file struct {
		Documents []string `yaml:"documents"`
		Rows      []row    `yaml:"rows"`
	}
	if err := read(filepath.Join(root, rowsFile), &file); err != nil {
		return nil, err
	}
	l.rows = file.Rows
	var err error
	l.documents, err = seeds(root, file.Documents)
	return l, err
}

func (l *ledger) document(name string) *document {
	for _, d := range l.documents {
		if d.name == name {
			return d
		}
	}
	return nil
}

// problems checks all rows and reads the results of their runs. Every figure must be in a row.
func (l *ledger) problems() (all []error) {
	known := map[string]bool{} // DOCUMENT/ID
	kept := map[string]bool{}
	for i := range l.rows {
		r := &l.rows[i]
		for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
			d := l.document(name)
			for _, id := range r.Figures[name] {
				if d == nil || d.figure(id) == nil {
					all = append(all, fmt.Errorf("%s: no figure %s/%s", r.What, name, id))
				}
				known[name+"/"+id] = true
			}
		}
		for _, run := range r.Runs {
			kept[run] = true
		}
		if err := errors.Join(r.fields(), l.places(r), l.measure(r)); err != nil {
			all = append(all, fmt.Errorf("%s: %w", r.What, err))
		}
	}
	for _, d := range l.documents {
		all = append(all, d.problems()...)
		for _, f := range d.Figures {
			if !known[d.name+"/"+f.ID] {
				all = append(all, fmt.Errorf("%s: no row is about the figure %s", d.name, f.ID))
			}
		}
	}
	archives, _ := filepath.Glob(filepath.Join(l.root, runsDir, "*"))
	for _, a := range archives {
		if name, ok := strings.CutSuffix(filepath.Base(a), ".tar.gz"); !ok || !kept[name] {
			all = append(all, fmt.Errorf("%s/%s: no row refers to it", runsDir, filepath.Base(a)))
		}
	}
	return all
}

// fields checks that a row has the fields of its state, and no others.
func (r *row) fields() error {
	isMade := r.State == made || r.State == smaller
	switch {
	case r.What == "" || len(r.Figures) == 0:
		return errors.New("what or figures are missing")
	case !slices.Contains([]state{made, smaller, notRun, notHere}, r.State):
		return fmt.Errorf("state %q is not known", r.State)
	case (r.State == smaller) != (r.Factor != "" && r.Reason != "") || r.State != smaller && r.Factor+r.Reason != "":
		return errors.New("factor and reason belong to the state smaller, both")
	case (r.State == notHere) != (r.Needs != ""):
		return errors.New("needs belongs to the state not-here")
	case isMade && (len(r.Runs) == 0 || len(r.Rows)+len(r.Results) == 0):
		return fmt.Errorf("the state %s needs a kept run, and rows or results that it shows", r.State)
	case !isMade && len(r.Runs)+len(r.Rows)+len(r.Results) > 0:
		return fmt.Errorf("the state %s has no runs, rows or results", r.State)
	case r.File == "" && r.Page == "":
		return errors.New("a file or a page is missing")
	}
	return nil
}

// places checks that the file and the page of a row exist.
func (l *ledger) places(r *row) error {
	if r.File != "" {
		if _, err := os.Stat(filepath.Join(l.root, r.File)); err != nil {
			return err
		}
	}
	if r.Page == "" {
		return nil
	}
	file, anchor, _ := strings.Cut(r.Page, "#")
	text, err := os.ReadFile(filepath.Join(l.root, file))
	if err != nil || anchor == "" {
		return err
	}
	for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
		if slug(h[1]) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading #%s", file, anchor)
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// slug returns the anchor that GitHub gives a heading.
func slug(heading string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}
