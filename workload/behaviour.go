package workload

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"tare/experiment"
)

// Behaviour is what the programs under test did in a trial besides being fast or slow, in all
// their runs: package analysis compares arms by it before it compares their speed.
type Behaviour map[experiment.Aspect]Seen

// Seen is one aspect of a Behaviour.
type Seen struct {
	// Marks are what was seen, each kind once, as it appeared: lines on stderr, exit statuses,
	// ways in which answers were wrong, a digest of the output, files and what became of them.
	Marks []string `json:"marks,omitempty"`
	Bytes int64    `json:"bytes,omitempty"` // of all runs, or answers, together
	Lines int64    `json:"lines,omitempty"` // the same
	Runs  int64    `json:"runs"`            // of the program, or answers
}

// mostMarks is how many kinds of marks are kept.
const mostMarks = 16

// Add takes in more of an aspect.
func (b Behaviour) Add(a experiment.Aspect, more Seen) {
	s := b[a]
	s.Bytes, s.Lines, s.Runs = s.Bytes+more.Bytes, s.Lines+more.Lines, s.Runs+more.Runs
	for _, mark := range more.Marks {
		same := func(m string) bool { return KindOf(a, m) == KindOf(a, mark) }
		if len(s.Marks) < mostMarks && !slices.ContainsFunc(s.Marks, same) {
			s.Marks = append(s.Marks, mark)
		}
	}
	b[a] = s
}

// What is not the same in each run: where something is, and words with digits in them.
var varyingPart = regexp.MustCompile(`[^\s'"=:(\[]*/|\w*\d[\w.]*`)

// KindOf is what a mark has in common with others that say the same: a line on stderr is taken
// without directories and numbers, process ids and times among them.
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

// Of what a program prints, only so much is looked at: that must not cost the program time.
const (
	maxLines      = 1000
	maxLineLength = 4096 // bytes
)

// Listener counts what one run of a program prints. With Keep it keeps lines, each kind once.
type Listener struct {
	Keep bool

	kept  Behaviour
	bytes int64
	lines int64
	line  []byte // that is not at its end yet
}

// Write takes in what was printed. A carriage return ends a line, too, as in a display of progress.
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
		l.kept.Add(experiment.Stderr, Seen{Marks: []string{string(l.line)}})
	}
	l.lines++
	l.line = l.line[:0]
}

// Seen is what was printed in all.
func (l *Listener) Seen() Seen {
	if len(l.line) > 0 {
		l.end()
	}
	return Seen{Marks: l.kept[experiment.Stderr].Marks, Bytes: l.bytes, Lines: l.lines, Runs: 1}
}
