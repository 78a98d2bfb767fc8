package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
)

// fileKey identifies a file's trials by arm, block, cell, levels and round. It comes from the command line, the path
// and the position of the file.
type fileKey struct {
	arm, block, cell string
	levels           []factor.Level
	round            string // the text that the files of a round have in common
}

// measured joins the key's cell and levels to one text, which says what was measured. Two files of the same arm and
// round must differ in this text.
func (k *fileKey) measured() string { return fmt.Sprint(k.cell, k.levels) }

func (k *fileKey) apply(t *Trial) error {
	if k.cell != "" && k.cell != t.Cell {
		t.Cell = k.cell + "." + t.Cell
	}
	for _, l := range k.levels {
		if i := slices.IndexFunc(t.Levels, func(own factor.Level) bool { return own.Factor == l.Factor }); i >= 0 {
			return misuse("leave the factor "+l.Factor+" out", "the file itself has the factor %s: %s", l.Factor, t.Levels[i].Value)
		}
		t.Cell += "." + l.String()
	}
	t.Levels = slices.Concat(t.Levels, k.levels)
	return nil
}

// pathFactor is a factor whose level is a part of each file's path. The user varied it outside the tool, so the files'
// contents lack it.
type pathFactor struct {
	name    string
	pattern *regexp.Regexp
}

// ParseFactor reads the value of --factor, such as 'mtu=mtu-([0-9]+)'. The single group matches the level in the path
// of a file.
func ParseFactor(text string) (pathFactor, error) {
	const hint = "as in 'mtu=mtu-([0-9]+)', with what names the level in parentheses"
	name, how, ok := strings.Cut(text, "=")
	f := pathFactor{name: strings.TrimSpace(name)}
	if !ok || f.name == "" || how == "" {
		return f, misuse(hint, "cannot read the factor %q: it is NAME=EXPRESSION", text)
	}
	err := checkName("factor", f.name)
	if err != nil {
		return f, misuse(hint, "%w", err)
	}
	if f.pattern, err = oneGroup(how); err != nil {
		return f, misuse(hint, "cannot read the factor %s: %w", f.name, err)
	}
	return f, nil
}

func oneGroup(expression string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(expression)
	if err == nil && re.NumSubexp() != 1 {
		err = fmt.Errorf("it has %d groups where one is needed", re.NumSubexp())
	}
	return re, err
}

type pairing struct {
	how     string // the text of --pair-by; "": trials are not paired
	pattern *regexp.Regexp
	layout  *Layout // layout whose blocks and repeats pair the trials; nil: trials are paired otherwise
}

// The names that --pair-by takes. The option also takes a regular expression.
const (
	byName  = "name"  // files with the same path below their arm's directory are paired
	byIndex = "index" // the n-th files of all arms are paired with each other
	byRound = "round" // trials whose files name the same round are paired
)

// Pairings lists the named ways of pairing.
var Pairings = []string{byName, byIndex, byRound}

// ParsePairing reads the value of --pair-by: a name in Pairings, or a regular expression. Its group matches the part of
// a path that the files of a round share. "": independent samples.
func ParsePairing(how string) (p pairing, err error) {
	p.how = how
	if how == "" || slices.Contains(Pairings, how) {
		return p, nil
	}
	if p.pattern, err = oneGroup(how); err == nil {
		return p, nil
	}
	hint := strictyaml.Suggest(how, "one of", Pairings) + `, or a regular expression with one group, as in 'run-([0-9]+)'`
	// an expression without a group, and no misspelt name, since it has special characters
	if p.pattern != nil && p.pattern.NumSubexp() == 0 && regexp.QuoteMeta(how) != how {
		hint = "put the part that names the round in parentheses, as in 'round-([0-9]+)'"
	}
	return p, misuse(hint, "cannot pair by %q: %w", how, err)
}

// String returns the text of --pair-by.
func (p pairing) String() string { return p.how }

// byFiles reports whether a file's path or position gives the round of its trials. false: the content gives it, or
// trials are not paired.
func (p *pairing) byFiles() bool { return p.how != "" && p.how != byRound }

// common returns, for messages, the thing that the files of one round have in common.
func (p *pairing) common() string {
	switch {
	case p.layout != nil:
		return "block and repeat"
	case p.pattern != nil:
		return "match"
	}
	return p.how
}

// identify completes the keys of files with levels and rounds. It returns an error if two files of an arm have the same
// round, cell and levels.
func (o *Options) identify(files []inputFile) error {
	for i, f := range o.Factors {
		if slices.ContainsFunc(o.Factors[:i], func(other pathFactor) bool { return other.name == f.name }) {
			return misuse("", "the factor %s is given twice", f.name)
		}
	}
	taken := map[[3]string]int{} // index of the file with this arm, this round, and this cell with its levels
	counts := map[string]int{}   // the number of files so far, by arm or by block
	for i := range files {
		f := &files[i]
		for _, of := range o.Factors {
			m := of.pattern.FindStringSubmatch(f.path)
			if m == nil || m[1] == "" {
				return misuse("the expression has to match the path of every file", "%s does not tell the factor %s by %s", f.path, of.name, of.pattern)
			}
			f.levels = append(f.levels, factor.Level{Factor: of.name, Value: strings.Clone(m[1])})
		}
		if !o.PairBy.byFiles() {
			continue
		}
		if err := o.PairBy.identify(f, counts); err != nil {
			return err
		}
		at := [3]string{f.arm, f.round, f.measured()}
		if k, ok := taken[at]; ok {
			return misuse("one arm has one file in each round", "%s and %s of arm %s have the same %s, %s: they cannot both be paired by it",
				files[k].path, f.path, f.arm, o.PairBy.common(), f.round)
		}
		taken[at] = i
	}
	if o.PairBy.how != byIndex {
		return nil
	}
	return even(counts, o.Sources)
}

func (p *pairing) identify(f *inputFile, counts map[string]int) error {
	next := func(of string) int {
		counts[of]++
		return counts[of]
	}
	switch {
	case p.layout != nil && len(p.layout.Repeat) > 0:
		f.round = f.block + "/" + f.round
	case p.layout != nil:
		f.round = fmt.Sprint(f.block, "/", next(f.arm+"/"+f.block+"/"+f.measured()))
	case p.how == byName:
		f.round = f.name
	case p.how == byIndex:
		f.round = fmt.Sprint(next(f.arm))
	default:
		m := p.pattern.FindStringSubmatch(f.path)
		if m == nil {
			return misuse("the expression has to match the path of every file", "%s does not match --pair-by %s", f.path, p)
		}
		f.round = strings.Clone(m[1])
	}
	return nil
}

// even returns an error if arms have different numbers of files. When pairing by index, a missing file would shift the
// rounds of later files.
func even(files map[string]int, sources []Source) error {
	byFiles := func(a, b Source) int { return files[a.Arm] - files[b.Arm] }
	least, most := slices.MinFunc(sources, byFiles).Arm, slices.MaxFunc(sources, byFiles).Arm
	if files[least] == files[most] {
		return nil
	}
	return misuse("pair by name, or by an expression with what the files of a round have in common in parentheses",
		"cannot pair by %s: arm %s has %s and arm %s has %d", byIndex, most, plural(files[most], "file"), least, files[least])
}

// nthTrial is the key of a round, for files that hold several trials of a cell. The n-th trials (from 1) of a round's
// files form one round of the run.
type nthTrial struct {
	round string
	n     int
}

type pairedRound struct {
	number int
	label  string
}

// roundOf returns the number of the round that the n-th trial of a file belongs to. The import numbers rounds in the
// order in which it meets them.
func (r *run) roundOf(f *inputFile, n int) int {
	return r.rounds.get(nthTrial{f.round, n}, func() *pairedRound {
		label := f.round
		if n > 1 {
			label = fmt.Sprintf("%s (%d)", label, n)
		}
		return &pairedRound{len(r.rounds.list) + 1, label}
	}).number
}
