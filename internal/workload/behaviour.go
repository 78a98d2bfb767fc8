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

// Observation is one aspect of a Behaviour.
type Observation struct {
	// Marks holds one example of each kind of observation: lines on stderr, exit statuses, errors in answers,
	// a digest of the output, changes to files.
	Marks []string `json:"marks,omitempty"`
	Bytes int64    `json:"bytes,omitempty"` // size of the output of all runs, or of all answers
	Lines int64    `json:"lines,omitempty"` // number of lines in the output of all runs
	Runs  int64    `json:"runs"`            // number of runs of the program, or of answers
}

// MostMarks is the largest number of Marks in an Observation.
const MostMarks = 16

// Add adds observations of an aspect. It keeps the first mark of each kind (KindOf), up to MostMarks.
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

// KindOf returns the kind of a mark. For a line on stderr, the kind is the line without its directories and
// numbers, which differ between runs. For any other mark, the kind is the mark itself.
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

// Bounds of the output that a Listener examines. They keep the Listener from slowing the program.
const (
	maxLines      = 1000 // lines of a run
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
