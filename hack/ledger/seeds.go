package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// document lists the figures of one published document. It has no sentence of the document.
type document struct {
	Title    string    `yaml:"title"`
	URL      string    `yaml:"url"`
	Revision string    `yaml:"revision"`
	Note     string    `yaml:"note"`
	File     string    `yaml:"file"` // digest of the document's text
	Figures  []figure  `yaml:"figures"`
	Ignored  []ignored `yaml:"ignored"`

	name string // name of the file, without .yaml
}

// figure is a number, a row of a table, a chart or a procedure of a document.
type figure struct {
	ID      string   `yaml:"id"`
	At      string   `yaml:"at"`   // line, or first and last line
	Kind    string   `yaml:"kind"` // one of kinds
	Of      string   `yaml:"of"`   // a label
	Numbers []string `yaml:"numbers"`
}

var kinds = []string{"result", "setting", "limit", "chart", "procedure", "version", "citation"}

// ignored are numbers of a document that are no quantities.
type ignored struct {
	At      string   `yaml:"at"`
	Why     string   `yaml:"why"`
	Numbers []string `yaml:"numbers"`
}

// seeds reads the documents in the order of the ledger.
func seeds(root string, names []string) ([]*document, error) {
	files, err := filepath.Glob(filepath.Join(root, seedsDir, "*.yaml"))
	if err != nil || len(files) != len(names) {
		return nil, fmt.Errorf("%s has %d files, and %s lists %d documents (%v)", seedsDir, len(files), rowsFile, len(names), err)
	}
	var all []*document
	for _, name := range names {
		d := &document{name: name}
		if err := read(filepath.Join(root, seedsDir, name+".yaml"), d); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// read decodes a YAML file. Unknown fields are errors.
func read(file string, into any) error {
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (d *document) figure(id string) *figure {
	for i := range d.Figures {
		if d.Figures[i].ID == id {
			return &d.Figures[i]
		}
	}
	return nil
}

// problems lists mistakes within the data itself.
func (d *document) problems() (all []error) {
	seen := map[string]bool{}
	for _, f := range d.Figures {
		_, _, err := lines(f.At)
		switch {
		case seen[f.ID]:
			all = append(all, fmt.Errorf("%s: the figure %s is there twice", d.name, f.ID))
		case !slices.Contains(kinds, f.Kind), f.Of == "", err != nil:
			all = append(all, fmt.Errorf("%s: figure %s: kind %q, of %q, at %q", d.name, f.ID, f.Kind, f.Of, f.At))
		}
		seen[f.ID] = true
	}
	return all
}

// lines parses a line or a range of lines.
func lines(at string) (from, to int, err error) {
	first, last, isRange := strings.Cut(at, "-")
	if from, err = strconv.Atoi(first); err != nil || !isRange {
		return from, from, err
	}
	to, err = strconv.Atoi(last)
	return from, to, err
}

var number = regexp.MustCompile(`[+-]?(?:\d+(?:[.,]\d+)*|\.\d+)%?`)

// numbers lists the numbers of a line. A sign or a point right after a word or a number belongs to no number.
func numbers(line string) (all []string) {
	for _, at := range number.FindAllStringIndex(line, -1) {
		text := line[at[0]:at[1]]
		if at[0] > 0 {
			if before := line[at[0]-1 : at[0]]; strings.ContainsAny(before, "%-+_)/") || word.MatchString(before) {
				text = strings.TrimLeft(text, "+-.")
			}
		}
		all = append(all, text)
	}
	return all
}

var (
	word = regexp.MustCompile(`[A-Za-z0-9]`)
	// pictured matches a line with an image, the text that stands in place of one, or a diagram.
	pictured = regexp.MustCompile(`!\[|<img |benchmark graph$|^\s*flowchart `)
)

// against compares the data with the document's text: each number and each chart of the text must be in the data, and
// each number of the data in its line.
func (d *document) against(text string) (all []error) {
	type entry struct {
		from, to int
		what     string
		numbers  []string
	}
	var entries []entry
	left, charts := map[int][]string{}, map[int]bool{}
	for i, line := range strings.Split(text, "\n") {
		left[i+1], charts[i+1] = numbers(line), pictured.MatchString(line)
	}
	add := func(at, what string, list []string) (from, to int) {
		from, to, _ = lines(at)
		entries = append(entries, entry{from, to, what, list})
		return from, to
	}
	for _, f := range d.Figures {
		from, to := add(f.At, f.ID, f.Numbers)
		for n := from; n <= to && (f.Kind == "chart" || f.Kind == "procedure"); n++ {
			delete(charts, n)
		}
	}
	for _, n := range d.Ignored {
		add(n.At, n.Why, n.Numbers)
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return (a.to - a.from) - (b.to - b.from) }) // exact lines first
	for _, e := range entries {
	next:
		for _, wanted := range e.numbers {
			for n := e.from; n <= e.to; n++ {
				if i := slices.Index(left[n], wanted); i >= 0 {
					left[n] = slices.Delete(left[n], i, i+1)
					continue next
				}
			}
			all = append(all, fmt.Errorf("%s:%d: %s: the document has no (further) number %s there", d.name, e.from, e.what, wanted))
		}
	}
	for n := range len(left) + 1 {
		if len(left[n]) > 0 {
			all = append(all, fmt.Errorf("%s:%d: the data lacks %s", d.name, n, strings.Join(left[n], ", ")))
		}
		if charts[n] {
			all = append(all, fmt.Errorf("%s:%d: the data lacks the chart or diagram", d.name, n))
		}
	}
	return all
}
