package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/experiment/factor"
	"tare/experiment/strictyaml"
)

// fileKey says which trials a file holds. The command line, the path of the file and its
// position among the other files tell it.
type fileKey struct {
	arm, block, cell string
	levels           []factor.Level
	round            string // what the files of a round have in common
}

// measured names what a file measured, as far as its key tells: two files of an arm and
// round differ in it.
func (k *fileKey) measured() string { return fmt.Sprint(k.cell, k.levels) }

// apply moves a trial to the cell and the levels that the key of its file names.
func (k *fileKey) apply(t *Trial) error {
	if k.cell != "" && k.cell != t.Cell {
		t.Cell = k.cell + "." + t.Cell
	}
	for _, l := range k.levels {
		if i := slices.IndexFunc(t.Levels, func(own factor.Level) bool { return own.Factor == l.Factor }); i >= 0 {
			return misuse("leave the factor "+l.Factor+" out", "the file tells the factor %s itself: %s", l.Factor, t.Levels[i].Value)
		}
		t.Cell += "." + l.String()
	}
	t.Levels = slices.Concat(t.Levels, k.levels)
	return nil
}

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
	err := checkName("factor", f.name)
	if err != nil {
		return f, misuse(hint, "%w", err)
	}
	if f.pattern, err = oneGroup(how); err != nil {
		return f, misuse(hint, "cannot read the factor %s: %w", f.name, err)
	}
	return f, nil
}

// oneGroup compiles an expression whose one group captures a part of a path.
func oneGroup(expression string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(expression)
	if err == nil && re.NumSubexp() != 1 {
		err = fmt.Errorf("it has %d groups where one is needed", re.NumSubexp())
	}
	return re, err
}

// Pairing says which trials of different arms belong together.
type Pairing struct {
	how     string // as given; "": none do
	pattern *regexp.Regexp
	layout  *Layout // whose blocks and repeats pair; nil: none
}

// The ways of pairing besides a regular expression.
const (
	byName  = "name"  // the same path below the arm's directory
	byIndex = "index" // the n-th file of each arm
	byRound = "round" // as the file tells
)

// Pairings lists the ways of pairing that have a name.
var Pairings = []string{byName, byIndex, byRound}

// ParsePairing reads what --pair-by takes: a name of Pairings, or a regular
// expression whose one group captures, from a path, what the files of a round
// have in common. Nothing: the trials are independent samples.
func ParsePairing(how string) (p Pairing, err error) {
	p.how = how
	if how == "" || slices.Contains(Pairings, how) {
		return p, nil
	}
	if p.pattern, err = oneGroup(how); err == nil {
		return p, nil
	}
	hint := strictyaml.Suggest(how, "one of", Pairings) + `, or a regular expression with one group, as in 'run-([0-9]+)'`
	if p.pattern != nil && p.pattern.NumSubexp() == 0 && regexp.QuoteMeta(how) != how { // and so no misspelt name
		hint = "put the part that names the round in parentheses, as in 'round-([0-9]+)'"
	}
	return p, misuse(hint, "cannot pair by %q: %w", how, err)
}

// String is the pairing as given.
func (p Pairing) String() string { return p.how }

// byFiles says whether the keys of files pair their trials.
func (p *Pairing) byFiles() bool { return p.how != "" && p.how != byRound }

// common is what the files of a round have in common.
func (p *Pairing) common() string {
	switch {
	case p.layout != nil:
		return "block and repeat"
	case p.pattern != nil:
		return "match"
	}
	return p.how
}

// identify completes the keys of the files by factors and pairing. It refuses two files of
// an arm in one round that measured the same, as far as their keys tell.
func (o *Options) identify(files []found) error {
	for i, f := range o.Factors {
		if slices.ContainsFunc(o.Factors[:i], func(other PathFactor) bool { return other.name == f.name }) {
			return misuse("", "the factor %s is given twice", f.name)
		}
	}
	taken := map[[3]string]int{} // files by arm, round and what they measured
	counts := map[string]int{}   // files so far, by arm or by block
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

// identify sets the round of a file: what it has in common with files of other arms.
func (p *Pairing) identify(f *found, counts map[string]int) error {
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

// even refuses arms with different numbers of files for pairing by index: one file
// that is missing somewhere would shift all that follow it.
func even(files map[string]int, sources []Source) error {
	least, most := sources[0].Arm, sources[0].Arm
	for _, s := range sources {
		if files[s.Arm] < files[least] {
			least = s.Arm
		}
		if files[s.Arm] > files[most] {
			most = s.Arm
		}
	}
	if files[least] == files[most] {
		return nil
	}
	return misuse("pair by name, or by an expression with what the files of a round have in common in parentheses",
		"cannot pair by %s: arm %s has %s and arm %s has %d", byIndex, most, plural(files[most], "file"), least, files[least])
}

// part is the n-th trial, from 1, in the files of a round. A file has more than one trial
// of a cell where it holds a whole series of trials.
type part struct {
	round string
	n     int
}

// pairedRound is a round of the run: its number, and what its files have in common.
type pairedRound struct {
	number int
	label  string
}

// roundOf gives the number of the round of the n-th trial of a file. Rounds count up in the
// order in which they first appear.
func (r *run) roundOf(f *found, n int) int {
	return r.rounds.get(part{f.round, n}, func() *pairedRound {
		label := f.round
		if n > 1 {
			label = fmt.Sprintf("%s (%d)", label, n)
		}
		return &pairedRound{len(r.rounds.list) + 1, label}
	}).number
}
