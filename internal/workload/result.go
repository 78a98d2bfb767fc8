package workload

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/lists"
)

// Price returns the cost metrics of a trial: CPU time per unit of work, and memory. layers is the CPU time of the
// layers' processes, and machine that of the machine; 0: unknown. A trial without work is an error.
func Price(c experiment.Cost, r Result, layers, machine time.Duration) (map[string]float64, error) {
	if !(r.Work > 0) {
		return nil, fmt.Errorf("no work done: %v %s", r.Work, c.Unit)
	}
	total, known := layers, true
	values := map[string]float64{c.Prefix + "-cpu-layer": layers.Seconds() / r.Work}
	for _, part := range c.Parts {
		used, ok := r.Used[part]
		if !ok {
			return nil, fmt.Errorf("no usage of the %s", part)
		}
		if used.Unavailable {
			known = false
			continue
		}
		total += used.CPU()
		values[c.Prefix+"-cpu-"+part] = used.CPU().Seconds() / r.Work
		if used.MaxRSS > 0 {
			values[c.Prefix+"-memory-"+part] = float64(used.MaxRSS)
		}
	}
	if machine > 0 {
		values[c.Prefix+"-cpu-machine"] = machine.Seconds() / r.Work
	}
	if known { // the sum needs all parts
		values[c.Prefix+"-cpu"] = total.Seconds() / r.Work
	}
	return values, nil
}

// OfLayers names the two cost metrics that include CPU time of the layers' own processes.
func OfLayers(c experiment.Cost) []string {
	return []string{c.Prefix + "-cpu", c.Prefix + "-cpu-layer"}
}

// Unavailable names the cost metrics that a trial lacks. If a part's usage is unknown, the part's metrics and the sum
// of CPU times are lacking. A part that ended early may lack only its memory.
func Unavailable(c experiment.Cost, r Result) []string {
	var names []string
	known := true
	for _, part := range c.Parts {
		used, ok := r.Used[part]
		if used.Unavailable {
			names = append(names, c.Prefix+"-cpu-"+part)
			known = false
		}
		if used.Unavailable || ok && used.MaxRSS <= 0 {
			names = append(names, c.Prefix+"-memory-"+part)
		}
	}
	if !known {
		names = append(names, c.Prefix+"-cpu")
	}
	return names
}

// Quantile is the share of values that do not exceed a value, from 0 to 1: 0.99 is the 99th percentile.
type Quantile float64

// Supported reports whether n values are enough for the quantile: at least a hundred values must lie above the
// quantile.
func (q Quantile) Supported(n int) bool { return math.Round(float64(n)*(1-float64(q))*1e6)/1e6 >= 100 }

// String returns the quantile's name in metrics: "p99".
func (q Quantile) String() string { return fmt.Sprintf("p%g", 100*float64(q)) }

// TimeMetrics lists the metrics of n measured times: their mean, and the quantiles for which n times are enough.
func TimeMetrics(name string, n int, quantiles []Quantile) []experiment.Metric {
	names := []string{name + "-mean"}
	for _, q := range quantiles {
		if q.Supported(n) {
			names = append(names, name+"-"+q.String())
		}
	}
	return lists.Map(names, func(name string) experiment.Metric {
		return experiment.Metric{Name: name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true}
	})
}

// Behaviour describes what the programs under test did in a trial, apart from speed: exit status, output, answers,
// files. Arms are compared by it before their speed.
type Behaviour map[experiment.Aspect]Observation

// Observation is one aspect of a Behaviour.
type Observation struct {
	// Marks holds one example of each kind of observation: a line on stderr, an exit status, an error in an answer, a
	// digest of the output, or a change to a file.
	Marks []string `json:"marks,omitempty"`
	Bytes int64    `json:"bytes,omitempty"` // size of the output of all runs, or of all answers
	Lines int64    `json:"lines,omitempty"` // number of lines in the output of all runs
	Runs  int64    `json:"runs"`            // number of executions of the program, or of answers
}

// MostMarks is the largest number of elements of Marks in an Observation.
const MostMarks = 16

// Add adds the observations of more to those of an aspect. It keeps one mark of each kind (KindOf), and at most
// MostMarks marks.
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

// varyingPart matches the parts of a line that differ between executions of a program: directories, and words with
// digits.
var varyingPart = regexp.MustCompile(`[^\s'"=:(\[]*/|\w*\d[\w.]*`)

// KindOf returns the kind of a mark. For a line on stderr this is the line without its directories and numbers; any
// other mark is its own kind.
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

// Write counts the output. With Keep, a carriage return ends a line, as a line feed does: progress displays use it.
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
