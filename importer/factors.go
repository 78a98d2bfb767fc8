package importer

import (
	"regexp"
	"slices"
	"strings"

	"tare/experiment/factor"
)

// PathFactor is a factor whose level the path of a file tells: what was swept from
// outside the tool, so that its files do not say it.
type PathFactor struct {
	name    string
	pattern *regexp.Regexp
}

// ParseFactor reads what --factor takes: a name, and a regular expression whose one
// group captures the level from the path of a file, as in 'mtu=mtu-([0-9]+)'.
func ParseFactor(text string) (PathFactor, error) {
	const hint = "as in 'mtu=mtu-([0-9]+)', with what names the level in parentheses"
	name, how, ok := strings.Cut(text, "=")
	f := PathFactor{name: strings.TrimSpace(name)}
	if !ok || f.name == "" || how == "" {
		return f, misuse(hint, "cannot read the factor %q: it is NAME=EXPRESSION", text)
	}
	if err := checkName("factor", f.name); err != nil {
		return f, misuse(hint, "%w", err)
	}
	var err error
	if f.pattern, err = regexp.Compile(how); err != nil {
		return f, misuse(hint, "cannot read the factor %s: %w", f.name, err)
	}
	if n := f.pattern.NumSubexp(); n != 1 {
		return f, misuse(hint, "cannot read the factor %s: its expression has %d groups where one is needed", f.name, n)
	}
	return f, nil
}

// levelsOf are the levels that a path tells, in the order of the factors.
func levelsOf(factors []PathFactor, path string) ([]factor.Level, error) {
	var list []factor.Level
	for _, f := range factors {
		m := f.pattern.FindStringSubmatch(path)
		if m == nil || m[1] == "" {
			return nil, misuse("the expression has to match the path of every file", "%s does not tell the factor %s by %s", path, f.name, f.pattern)
		}
		list = append(list, factor.Level{Factor: f.name, Value: strings.Clone(m[1])})
	}
	return list, nil
}

// placed puts a trial where the path of its file says that it belongs: in a cell of its own.
func (t *Trial) placed(at place) error {
	if at.cell != "" && at.cell != t.Cell {
		t.Cell = at.cell + "." + t.Cell
	}
	for _, l := range at.levels {
		if i := slices.IndexFunc(t.Levels, func(own factor.Level) bool { return own.Factor == l.Factor }); i >= 0 {
			return misuse("leave the factor "+l.Factor+" out", "the file tells the factor %s itself: %s", l.Factor, t.Levels[i].Value)
		}
		t.Cell += "." + l.String()
	}
	t.Levels = slices.Concat(t.Levels, at.levels)
	return nil
}

// workloadOf names what was measured at all levels: the name of the cell without them, or
// the kind of the workload where the name does not have them.
func workloadOf(t *Trial) string {
	name := t.Cell
	for _, l := range t.Levels {
		for _, separator := range []string{".", "/"} {
			if before, after, ok := strings.Cut(name, separator+l.String()); ok {
				name = before + after
				break
			}
		}
	}
	if name == t.Cell || name == "" {
		return t.Kind
	}
	return name
}

// checkFactors refuses factors that are given twice, or that not every path tells.
func checkFactors(factors []PathFactor, files []found) error {
	for i, f := range factors {
		if slices.ContainsFunc(factors[:i], func(other PathFactor) bool { return other.name == f.name }) {
			return misuse("", "the factor %s is given twice", f.name)
		}
	}
	for i := range files {
		if _, err := levelsOf(factors, files[i].path); err != nil {
			return err
		}
	}
	return nil
}
