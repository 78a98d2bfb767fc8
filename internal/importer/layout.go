package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/lists"
)

// Layout describes the paths of files by a template with fields. The fields of a role (arm, block, cell, repeat) form
// its value together; a field without a role is a factor.
type Layout struct {
	Path   string   `yaml:"path" required:"true" doc:"template of the paths of the files, such as results/{cni}{layer:(-wg)?}/{rep}.json"`
	Arm    []string `yaml:"arm" doc:"fields that name the arm"`
	Block  []string `yaml:"block" doc:"fields that name the block; each block has its own baseline"`
	Cell   []string `yaml:"cell" doc:"fields that name the cell"`
	Repeat []string `yaml:"rep" doc:"fields that number the repeats within a block"`

	directory string // directory at the beginning of the template, before its first field
	pattern   *regexp.Regexp
	factors   []string       // the fields that are factors
	at        map[string]int // number of the group in the pattern that matches a field, by the field's name
	blocks    []string       // sorted names of all blocks in the imported files; nil: no field is a block
}

// nothing is the value of a role or factor whose text in the path is empty.
const nothing = "none"

// unused is the name for a field of a path template whose text is ignored.
const unused = "_"

// field matches a field of a template: {name} or {name:expression}.
var field = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)(?::(.*))?$`)

// ReadLayout reads a layout from the YAML in data. name is the path of the YAML file: a relative template begins at its
// directory.
func ReadLayout(name string, data []byte) (*Layout, error) {
	l := &Layout{}
	f := strictyaml.Read(name, data)
	if f.Root != nil {
		f.Decode(f.Root, "", l)
	}
	if problems := f.Problems(); len(problems) > 0 {
		return nil, &UsageError{hinted{&problems, ""}}
	}
	if !filepath.IsAbs(l.Path) {
		l.Path = filepath.ToSlash(filepath.Join(filepath.Dir(name), l.Path))
	}
	return l, nil
}

// compile turns the template into a regular expression. A field called arm, block, cell or rep gets this role if no
// field was given the role.
func (l *Layout) compile() error {
	const hint = "as in 'results/{cni}{layer:(-wg)?}/{rep}/{cell}.json': {NAME} is a part of a name, {NAME:EXPRESSION} what matches"
	expression, err := l.expression()
	if err != nil {
		return misuse(hint, "cannot read the template %q: %w", l.Path, err)
	}
	if l.pattern, err = regexp.Compile(expression); err != nil {
		return misuse(hint, "cannot read the template %q: %w", l.Path, err)
	}
	role := map[string]string{}
	for _, r := range []struct {
		name   string
		fields *[]string
	}{{"arm", &l.Arm}, {"block", &l.Block}, {"cell", &l.Cell}, {"rep", &l.Repeat}} {
		if _, there := l.at[r.name]; there && len(*r.fields) == 0 {
			*r.fields = []string{r.name}
		}
		for _, f := range *r.fields {
			if _, there := l.at[f]; !there {
				return misuse(suggest(f, l.factors), "the template has no field {%s} to be the %s", f, r.name)
			}
			if other, taken := role[f]; taken {
				return misuse("", "the field {%s} cannot be both %s and %s", f, other, r.name)
			}
			role[f] = r.name
		}
	}
	if len(l.Arm) == 0 {
		return misuse("--arm-by names one: there are "+strings.Join(l.factors, ", "), "no field of the template names the arm")
	}
	l.factors = slices.DeleteFunc(l.factors, func(f string) bool { return role[f] != "" })
	return nil
}

func (l *Layout) expression() (string, error) {
	l.at, l.factors = map[string]int{}, nil
	before, _, some := strings.Cut(l.Path, "{")
	if !some {
		return "", fmt.Errorf("it has no {FIELD}")
	}
	at := strings.LastIndex(before, "/") + 1
	l.directory = path.Clean(l.Path[:at])
	groups := 0 // groups in the regular expression so far, including the user's own in fields
	var text strings.Builder
	for rest := l.Path[at:]; rest != ""; {
		literal, after, some := strings.Cut(rest, "{")
		text.WriteString(regexp.QuoteMeta(literal))
		if !some {
			break
		}
		end := closing(after)
		if end < 0 {
			return "", fmt.Errorf("%q has no closing brace", "{"+after)
		}
		m := field.FindStringSubmatch(after[:end])
		if m == nil {
			return "", fmt.Errorf("%q is no field", "{"+after[:end]+"}")
		}
		rest = after[end+1:]
		how := cmp.Or(m[2], "[^/]+?")
		own, err := regexp.Compile(how)
		if err != nil {
			return "", fmt.Errorf("{%s}: %w", m[1], err)
		}
		groups++
		if _, twice := l.at[m[1]]; twice {
			return "", fmt.Errorf("the field {%s} is there twice", m[1])
		}
		if m[1] != unused {
			l.at[m[1]] = groups
			l.factors = append(l.factors, m[1])
		}
		fmt.Fprintf(&text, "(%s)", how)
		groups += own.NumSubexp()
	}
	return "^" + text.String() + "$", nil
}

// closing returns the index of the brace that ends a field; -1 if there is none. The field's expression may contain
// braces in pairs.
func closing(text string) int {
	open := 1
	return strings.IndexFunc(text, func(c rune) bool {
		switch c {
		case '{':
			open++
		case '}':
			open--
		}
		return open == 0
	})
}

// of returns the key of a file by its path below the layout's directory; ok is false if the path does not match the
// template.
func (l *Layout) of(name string) (k fileKey, ok bool) {
	m := l.pattern.FindStringSubmatch(path.Clean(filepath.ToSlash(name)))
	if m == nil {
		return k, false
	}
	join := func(fields []string, between string) string {
		if len(fields) == 0 {
			return ""
		}
		var parts []string
		for _, f := range fields {
			if v := strings.Trim(m[l.at[f]], "-_. "); v != "" {
				parts = append(parts, v)
			}
		}
		return strings.Clone(cmp.Or(strings.Join(parts, between), nothing))
	}
	k = fileKey{arm: join(l.Arm, "-"), block: join(l.Block, "/"), round: join(l.Repeat, "/"), cell: join(l.Cell, ".")}
	for _, f := range l.factors {
		k.levels = append(k.levels, factor.Level{Factor: f, Value: join([]string{f}, "")})
	}
	return k, true
}

// find lists the files that match the template, arm by arm. The arm called "none", whose field is empty in the path,
// comes first.
func (l *Layout) find() (*fileSearch, []Source, error) {
	s := &fileSearch{}
	if err := s.directory("", l.directory); err != nil {
		return nil, nil, err
	}
	var other []string
	arms, blocks := map[string]bool{}, map[string]bool{}
	files := s.files[:0]
	for _, f := range s.files {
		k, ok := l.of(f.name)
		if !ok {
			other = append(other, f.path)
			continue
		}
		f.fileKey = k
		arms[k.arm], blocks[k.block] = true, true
		files = append(files, f)
	}
	if s.files = files; len(files) == 0 {
		s.close()
		return nil, nil, misuse("the first of "+plural(len(other), "file")+" there is "+other[0], "no file below %s matches %s", l.directory, l.Path)
	}
	if len(other) > 0 {
		s.remarks = append(s.remarks, fmt.Sprintf("%s below %s passed over that the template does not match; the first is %s", plural(len(other), "file"), l.directory, other[0]))
	}
	order := sortedNames(arms)
	slices.SortStableFunc(s.files, func(a, b inputFile) int { return slices.Index(order, a.arm) - slices.Index(order, b.arm) })
	sources := lists.Map(order, func(arm string) Source { return Source{Arm: arm, From: []string{l.Path}} })
	if len(l.Block) > 0 {
		l.blocks = sortedNames(blocks)
	}
	return s, sources, nil
}

// sortedNames returns the layers' names in natural order. The word for an arm without layers, "none", is first.
func sortedNames(set map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(set), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == nothing:
			return -1
		case b == nothing:
			return 1
		}
		return natural(a, b)
	})
}

func (l *Layout) pairing() pairing {
	return pairing{how: strings.Join(append(slices.Clone(l.Block), cmp.Or(strings.Join(l.Repeat, ", "), "order")), ", "), layout: l}
}

// setUp returns the number of a block, from 1, as the number of its trials' set-up. It is 0 if the layout has no
// blocks.
func (l *Layout) setUp(block string) int {
	if l == nil {
		return 0
	}
	return slices.Index(l.blocks, block) + 1
}

// remarkRepeats adds a remark if cells have repeats but the layout names no blocks. Repeats then count as independent,
// but may share one deployment.
func (r *run) remarkRepeats() {
	if r.Layout == nil || r.Layout.blocks != nil {
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
