// Package hyperfine reads the JSON that hyperfine writes with --export-json.
//
// hyperfine compares commands on one machine. In a file with several commands, each command is an arm, and all are in
// the cell "command". A file with one command belongs to one arm. Its cell is the command, or "command" if each arm has
// just one such file.
//
// Each run of a command is a trial. The number of a run is its round. Runs of equal number are no pair: hyperfine runs
// one command to the end before the next. hyperfine's own mean and deviation are not used. User and system time are
// only means over the runs, and are not read.
package hyperfine

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/importer"
	"tare/internal/lists"
	"tare/internal/text/safetext"
	"tare/internal/toolformat/jsondoc"
)

// Format reads hyperfine's JSON.
var Format = importer.Format{
	Name:       "hyperfine",
	Doc:        "hyperfine's JSON (--export-json); in a file with several commands, each is an arm",
	Extensions: []string{".json"},
	Serial:     true,
	OneName:    "give the commands of hyperfine one name with -n",
	Read:       read,
}

// several is the name of the cell of commands that are compared with each other.
const several = "command"

// document is an exported file. Times are in s.
type document struct {
	Results []result `json:"results"`
}

type result struct {
	Command    string            `json:"command"` // the command, or the name that the user gave it
	Times      []float64         `json:"times"`
	ExitCodes  []*int            `json:"exit_codes"`        // the exit statuses of the runs; null: a signal ended the run
	Memory     []float64         `json:"memory_usage_byte"` // the largest resident set, in bytes; since hyperfine 1.19
	Parameters map[string]string `json:"parameters"`
}

func read(f importer.File) ([]importer.Trial, error) {
	doc, err := jsondoc.First(importer.Bound(f, importer.Limit, "the file"), func(d *document) bool { return d.Results != nil },
		"no result of hyperfine: it writes one with --export-json")
	if err != nil {
		return nil, err
	}
	if len(doc.Results) == 0 {
		return nil, errors.New("the document has no results: did hyperfine run to its end?")
	}
	names := doc.names()
	var trials []importer.Trial
	for i := range doc.Results {
		r := &doc.Results[i]
		if err := r.valid(); err != nil {
			return nil, fmt.Errorf("results[%d] (%.60q): %w", i, r.Command, err)
		}
		for n := range r.Times {
			t := r.trial(n)
			switch {
			case len(names) > 1:
				t.Arm, t.Cell = names[i], several
				t.Facts = nil // the facts are parameters only, and the arm's name contains them
			case f.Alone:
				t.Cell = several
			default:
				t.Cell = names[i]
			}
			trials = append(trials, t)
			if err := importer.CheckCount(len(trials)); err != nil {
				return nil, err
			}
		}
	}
	return trials, nil
}

// longest is the largest length, in bytes, of a command that is used as a name without being cut.
const longest = 100

func name(command string) string {
	line := cmp.Or(safetext.Line(command), several)
	if len(line) <= longest {
		return line
	}
	hash := fnv.New32a()
	hash.Write([]byte(command))
	return fmt.Sprintf("%s…~%08x", strings.ToValidUTF8(line[:longest], ""), hash.Sum32())
}

// names returns a unique name for each result's command. Equal commands get their parameters added, and a number if the
// names are still equal.
func (d *document) names() []string {
	count := map[string]int{}
	for _, r := range d.Results {
		count[r.Command]++
	}
	names := make([]string, len(d.Results))
	taken := map[string]int{} // uses of each name; for a name that gets numbers, the last number instead
	for i, r := range d.Results {
		label := r.Command
		if count[r.Command] > 1 && len(r.Parameters) > 0 {
			label += " [" + r.parameters() + "]"
		}
		base := name(label)
		for names[i] = base; taken[names[i]] > 0; {
			taken[base]++
			names[i] = fmt.Sprintf("%s (%d)", base, taken[base])
		}
		taken[names[i]]++
	}
	return names
}

func (r *result) parameters() string {
	names := slices.Sorted(maps.Keys(r.Parameters))
	return strings.Join(lists.Map(names, func(name string) string { return name + "=" + r.Parameters[name] }), ",")
}

func (r *result) valid() error {
	switch n := len(r.Times); {
	case n == 0:
		return errors.New("it has no times")
	case len(r.ExitCodes) != 0 && len(r.ExitCodes) != n:
		return fmt.Errorf("it has %d times and %d exit codes", n, len(r.ExitCodes))
	case len(r.Memory) != 0 && len(r.Memory) != n:
		return fmt.Errorf("it has %d times and %d values of memory_usage_byte", n, len(r.Memory))
	}
	return nil
}

// trial makes the trial of run n, counted from 0. A run that ended by a signal or with a status other than 0
// (--ignore-failure) is a failed operation.
func (r *result) trial(n int) importer.Trial {
	t := importer.Trial{Round: n + 1, Kind: "command", Wall: importer.Seconds(r.Times[n]), Facts: map[string]string{"command": r.Command}}
	t.Add(importer.Ratio("time", "s", experiment.Lower, true), r.Times[n])
	if len(r.Parameters) > 0 {
		t.Facts["parameters"] = r.parameters()
	}
	if len(r.ExitCodes) > 0 {
		t.Errors.Known = true
		if code := r.ExitCodes[n]; code == nil || *code != 0 {
			t.Errors.Share = 1
		}
	}
	if len(r.Memory) > 0 {
		t.AddFit(importer.Ratio("peak-memory", "B", experiment.Lower, false), r.Memory[n])
	}
	return t
}
