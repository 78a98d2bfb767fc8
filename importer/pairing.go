package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/experiment/strictyaml"
)

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
func ParsePairing(how string) (Pairing, error) {
	p := Pairing{how: how}
	if how == "" || slices.Contains(Pairings, how) {
		return p, nil
	}
	var err error
	p.pattern, err = regexp.Compile(how)
	hint := strictyaml.Suggest(how, "one of", Pairings) + `, or a regular expression with one group, as in 'run-([0-9]+)'`
	if err != nil {
		return p, misuse(hint, "cannot pair by %q: %w", how, err)
	}
	if n := p.pattern.NumSubexp(); n != 1 {
		if n == 0 && regexp.QuoteMeta(how) != how { // and so no misspelt name
			hint = "put the part that names the round in parentheses, as in 'round-([0-9]+)'"
		}
		return p, misuse(hint, "cannot pair by %q: it has %d groups where one is needed", how, n)
	}
	return p, nil
}

// String is the pairing as given.
func (p Pairing) String() string { return p.how }

// sequence numbers the trials of an arm.
type sequence struct {
	pairing Pairing
	rounds  map[part]int // numbers of rounds, by key; shared by all arms
	labels  []string     // of the rounds by number - 1: what their files have in common
}

// part is the n-th trial, from 1, in the files that have a key in common. A file
// has more than one trial of a cell where it holds a whole series of trials.
type part struct {
	key string
	n   int
}

func newSequence(p Pairing) *sequence {
	return &sequence{pairing: p, rounds: map[part]int{}}
}

// keys gives each file what it is paired by, and refuses two files of an arm with
// the same that measured the same, as far as their places tell. Without pairing, or by what the files tell, there is none.
func (q *sequence) keys(files []found, sources []Source, placeOf func(*found) (place, error)) ([]string, error) {
	if q.pairing.how == "" || q.pairing.how == byRound {
		return nil, nil
	}
	keys := make([]string, len(files))
	taken := make(map[[3]string]int, len(files)) // by arm, key and place
	index := map[string]int{}
	for i, f := range files {
		p, err := placeOf(&f)
		if err != nil {
			return nil, err
		}
		switch layout := q.pairing.layout; {
		case layout != nil && len(layout.Repeat) > 0:
			keys[i] = p.block + "/" + p.repeat
		case layout != nil:
			at := f.arm + "/" + p.block + "/" + p.key()
			index[at]++
			keys[i] = fmt.Sprint(p.block, "/", index[at])
		case q.pairing.how == byName:
			keys[i] = f.name
		case q.pairing.how == byIndex:
			index[f.arm]++
			keys[i] = fmt.Sprint(index[f.arm])
		default:
			m := q.pairing.pattern.FindStringSubmatch(f.path)
			if m == nil {
				return nil, misuse("the expression has to match the path of every file", "%s does not match --pair-by %s", f.path, q.pairing)
			}
			keys[i] = strings.Clone(m[1])
		}
		at := [3]string{f.arm, keys[i], p.key()}
		if k, ok := taken[at]; ok {
			return nil, misuse("one arm has one file in each round", "%s and %s of arm %s have the same %s, %s: they cannot both be paired by it",
				files[k].path, f.path, f.arm, q.what(), keys[i])
		}
		taken[at] = i
	}
	if q.pairing.how != byIndex {
		return keys, nil
	}
	return keys, even(index, sources)
}

// even refuses arms with different numbers of files for pairing by index: one file
// that is missing somewhere would shift all that follow it.
func even(files map[string]int, sources []Source) error {
	least, most := "", ""
	for i, s := range sources {
		if i == 0 || files[s.Arm] < files[least] {
			least = s.Arm
		}
		if i == 0 || files[s.Arm] > files[most] {
			most = s.Arm
		}
	}
	if files[least] == files[most] {
		return nil
	}
	return misuse("pair by name, or by an expression with what the files of a round have in common in parentheses",
		"cannot pair by %s: arm %s has %s and arm %s has %d", byIndex, most, plural(files[most], "file"), least, files[least])
}

// what is what the files of a round have in common.
func (q *sequence) what() string {
	if q.pairing.layout != nil {
		return "block and repeat"
	}
	if q.pairing.pattern != nil {
		return "match"
	}
	return q.pairing.how
}

// round gives the number of the round of the n-th trial of a file with this key.
// Rounds count up in the order in which they first appear.
func (q *sequence) round(key string, n int) int {
	p := part{key, n}
	number, ok := q.rounds[p]
	if !ok {
		q.labels = append(q.labels, q.label(p))
		number = len(q.labels)
		q.rounds[p] = number
	}
	return number
}

func (q *sequence) label(p part) string {
	if p.n == 1 {
		return p.key
	}
	return fmt.Sprintf("%s (%d)", p.key, p.n)
}
