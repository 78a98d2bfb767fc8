package workload

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment"
)

// Behaviour describes what the programs under test did in all their runs of a trial, apart from speed: exit
// status, output, answers, files. Package analysis compares the behaviour of arms before their speed.
type Behaviour map[experiment.Aspect]Observation

// Observation holds what was observed in one aspect, such as stderr, over all runs.
type Observation struct {
	// Marks holds one example of each kind of observation: lines on stderr, exit statuses, errors in answers,
	// a digest of the output, changes to files.
	Marks []string `json:"marks,omitempty"`
	Bytes int64    `json:"bytes,omitempty"` // total over all runs or answers
	Lines int64    `json:"lines,omitempty"` // total over all runs
	Runs  int64    `json:"runs"`            // number of runs of the program, or of answers
}

// MostMarks is the largest number of marks that an Observation keeps.
const MostMarks = 16

// Add adds observations of an aspect.
func (b Behaviour) Add(a experiment.Aspect, more Observation) {
	s := b[a]
	s.Bytes, s.Lines, s.Runs = s.Bytes+more.Bytes, s.Lines+more.Lines, s.Runs+more.Runs
	for _, mark := range more.Marks {
		same := func(m string) bool { return KindOf(a, m) == KindOf(a, mark) }
		if len(s.Marks) < MostMarks && !slices.ContainsFunc(s.Marks, same) {
			s.Marks = append(s.Marks, mark)
		}
	}
	b[a] = s
}

// varyingPart matches the parts of a line that differ between runs: directories, and words with digits.
var varyingPart = regexp.MustCompile(`[^\s'"=:(\[]*/|\w*\d[\w.]*`)

// KindOf returns a mark without the parts that differ between runs. For a line on stderr these are directories and
// numbers, such as times and process ids. Marks with equal results are of one kind.
func KindOf(a experiment.Aspect, mark string) string {
	if a != experiment.Stderr {
		return mark
	}
	return varyingPart.ReplaceAllStringFunc(strings.TrimSpace(mark), func(part string) string {
		if strings.HasSuffix(part, "/") {
			return ""
		}
		return "#"
	})
}

// Bounds of the output that a Listener examines, so that it does not slow the program.
const (
	maxLines      = 1000
	maxLineLength = 4096 // bytes of a line
)

// Listener counts the output of one run of a program. With Keep it also keeps one line of each kind.
type Listener struct {
	Keep bool

	kept  Behaviour
	bytes int64
	lines int64
	line  []byte // incomplete last line
}

// Write counts output. With Keep a carriage return ends a line too, as in a progress display.
func (l *Listener) Write(p []byte) (int, error) {
	l.bytes += int64(len(p))
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n")
		if !l.Keep {
			end = bytes.IndexByte(rest, '\n')
		}
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		if room := maxLineLength - len(l.line); room > 0 {
			l.line = append(l.line, part[:min(room, len(part))]...)
		}
		if end < 0 {
			break
		}
		l.end()
		rest = rest[end+1:]
	}
	return len(p), nil
}

func (l *Listener) end() {
	if l.Keep && l.lines < maxLines && len(bytes.TrimSpace(l.line)) > 0 {
		if l.kept == nil {
			l.kept = Behaviour{}
		}
		l.kept.Add(experiment.Stderr, Observation{Marks: []string{string(l.line)}})
	}
	l.lines++
	l.line = l.line[:0]
}

// Seen returns the observations of the whole output.
func (l *Listener) Seen() Observation {
	if len(l.line) > 0 {
		l.end()
	}
	return Observation{Marks: l.kept[experiment.Stderr].Marks, Bytes: l.bytes, Lines: l.lines, Runs: 1}
}
