// Package unixbench reads the text reports of byte-unixbench, which are called HOST-DATE-NN.
//
// A report has a section for each number of parallel copies, and each section has a line for each test. Test and copies
// name a cell, as on the command line of Run: "execl", "execl.copies=2".
//
// The headline of a test is its rate: the geometric mean of the better two thirds of several samples, which are not in
// the report. The index of a test is its rate as a multiple of the rate of a SPARCstation of 1995. Indexes and the
// score over all tests restate the rates, and are exploratory. A score over a part of the tests is not read.
package unixbench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
)

// Format reads UnixBench's reports.
var Format = importer.Format{
	Name: "unixbench",
	Doc:  "byte-unixbench's text reports (results/HOST-DATE-NN), with one or more parallel copies",
	Read: importer.Whole(read),
}

const banner = "BYTE UNIX Benchmarks (Version "

func read(f importer.File, data []byte) ([]importer.Trial, error) {
	at := bytes.Index(data, []byte(banner))
	switch ext := path.Ext(f.Name); {
	case at < 0 && (ext == ".log" || ext == ".html" || ext == ".csv"), bytes.HasPrefix(data, []byte("<!DOCTYPE")):
		return nil, fmt.Errorf("%w: the report has the same name without %s", importer.ErrNoResult, ext)
	case at < 0:
		return nil, fmt.Errorf("the file has no line with %q: is it the text report?", banner)
	}
	r := report{facts: map[string]string{}}
	for text := range strings.Lines(string(data[at:])) {
		if err := r.line(strings.TrimRight(text, " \r\n")); err != nil {
			return nil, err
		}
	}
	if len(r.sections) == 0 {
		return nil, errors.New("the report has no section \"Benchmark Run\": the file is truncated")
	}
	var trials []importer.Trial
	for i := range r.sections {
		if err := r.sections[i].whole(); err != nil {
			return nil, err
		}
		trials = append(trials, r.sections[i].trials(r.facts)...)
	}
	return trials, nil
}

type report struct {
	facts    map[string]string
	sections []section
	indexed  bool // set while lines of the table of indexes are read
}

// line reads one line. Unknown lines are ignored: UnixBench describes each operating system in different lines.
func (r *report) line(text string) error {
	if when, ok := strings.CutPrefix(text, "Benchmark Run: "); ok {
		r.indexed = false
		// The time, such as "Sat Nov 21 2026 23:06:44 - 23:13:32", is local but read as UTC. If its month is not in
		// English, it stays unknown.
		from, _, _ := strings.Cut(when, " - ")
		start, _ := time.Parse("Mon Jan _2 2006 15:04:05", from)
		r.sections = append(r.sections, section{start: start, titled: map[string]*test{}})
		return nil
	}
	if len(r.sections) == 0 {
		r.about(text)
		return nil
	}
	s := &r.sections[len(r.sections)-1]
	switch {
	case strings.Contains(text, " in system; running "):
		return s.running(text)
	case strings.HasSuffix(text, " samples)") && !r.indexed:
		return s.add(text)
	case strings.HasSuffix(text, " INDEX") && strings.Contains(text, " BASELINE "):
		r.indexed, s.indexes = true, true
	case strings.Contains(text, " Index Score"):
		s.ended = true
		return s.total(text)
	case strings.HasPrefix(text, "No index results available"):
		s.ended = true
	case r.indexed:
		return s.index(text)
	}
	return nil
}

func (r *report) about(text string) {
	if version, ok := strings.CutPrefix(text, banner); ok {
		r.facts["unixbench version"] = strings.TrimSuffix(version, ")")
	}
	what, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
	switch what {
	case "System":
		r.facts["host"], _, _ = strings.Cut(value, ": ")
	case "OS":
		if parts := strings.SplitN(value, " -- ", 3); len(parts) == 3 {
			r.facts["system"], r.facts["kernel"] = parts[0], parts[1]
		} else {
			r.facts["system"] = value
		}
	case "Machine":
		r.facts["machine"] = value
	case "CPU 0":
		r.facts["cpu"] = value
	}
}

type section struct {
	start   time.Time
	copies  string
	tests   []*test
	titled  map[string]*test
	indexes bool    // set when the reading has reached the table of indexes
	ended   bool    // set once the section's score, or the line that there is none, was read
	score   float64 // the score over all tests of the system; 0: unknown
}

// test is one test of a section: its trial, which gets its cell later, and its name.
type test struct {
	importer.Trial
	title string // the name in the report
}

func (s *section) running(text string) error {
	_, text, _ = strings.Cut(text, " running ")
	copies, _, _ := strings.Cut(text, " ")
	if n, err := strconv.Atoi(copies); err != nil || n < 1 {
		return fmt.Errorf("a section ran %q copies, which is no number of them", copies)
	}
	s.copies = copies
	return nil
}

var units = map[string]struct {
	unit   string
	factor float64
}{
	"lps":  {"1/s", 1},
	"lpm":  {"1/s", 1. / 60},
	"KBps": {"B/s", 1024},
	"fps":  {"1/s", 1},
}

// results matches a line of results: test, rate, unit, duration of a sample, samples. An example is "Execl Throughput
// 508.2 lps (30.0 s, 1 samples)".
var results = regexp.MustCompile(`^(.*[^ ]) +([^ ]+) +([^ ]+) *\(([^(]*) s, ([^(]*) samples\)$`)

// add reads the line of a test's results. A line without a number as rate makes the trial invalid, since the test
// failed.
func (s *section) add(text string) error {
	m := results.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	title, value, unit := m[1], m[2], m[3]
	if s.titled[title] != nil {
		return fmt.Errorf("the test %q comes twice in the section with copies: %s", title, s.copies)
	}
	each, err := importer.Number(m[4])
	if err != nil {
		return fmt.Errorf("test %q: the time of a sample: %w", title, err)
	}
	n, err := importer.Number(m[5])
	if err != nil {
		return fmt.Errorf("test %q: the number of samples: %w", title, err)
	}
	t := &test{title: title, Trial: importer.Trial{Wall: importer.Seconds(each * n)}}
	s.tests = append(s.tests, t)
	s.titled[title] = t
	v, err := importer.Number(value)
	switch {
	case err != nil:
		t.Broken = "its rate is " + value
		return nil
	case n <= 0:
		t.Broken = "no sample of it succeeded"
		return nil
	}
	base, ok := units[unit]
	if !ok {
		base.unit, base.factor = unit, 1
	}
	t.Add(importer.Ratio("rate", base.unit, experiment.Higher, true), v*base.factor)
	return nil
}

func last(text string) (rest, word string) {
	text = strings.TrimRight(text, " ")
	cut := strings.LastIndexByte(text, ' ') + 1
	return strings.TrimRight(text[:cut], " "), text[cut:]
}

// index reads a line of the table of indexes: the test, its baseline, its rate and its index.
func (s *section) index(text string) error {
	rest, value := last(text)
	rest, _ = last(rest)
	title, _ := last(rest)
	t := s.titled[title]
	if t == nil || value == "---" { // such a test has no index
		return nil
	}
	v, err := importer.Number(value)
	if err != nil {
		return fmt.Errorf("the index of %q: %w", title, err)
	}
	if t.Broken == "" && len(t.Values) == 1 && v > 0 {
		t.Add(importer.Ratio("index", "", experiment.Higher, false), v)
	}
	return nil
}

// total reads the score over all tests of the system. Scores of a part of the tests, and of graphics, are ignored.
func (s *section) total(text string) error {
	title, value := last(text)
	if title != "System Benchmarks Index Score" {
		return nil
	}
	var err error
	if s.score, err = importer.Number(value); err != nil {
		return fmt.Errorf("the index score: %w", err)
	}
	return nil
}

// whole returns an error if a section is truncated. A complete section ends with indexes and a score, or with "No index
// results available".
func (s *section) whole() error {
	switch {
	case s.copies == "":
		return errors.New("a section does not say how many copies ran: the file is truncated")
	case len(s.tests) == 0:
		return fmt.Errorf("the section with copies: %s has no results: the file is truncated", s.copies)
	case s.indexes && !s.ended:
		return fmt.Errorf("the section with copies: %s has no score at its end: the file is truncated", s.copies)
	case !s.ended && s.titled["System Call Overhead"] != nil: // the section has a table of indexes, since every such table has this test
		return fmt.Errorf("the section with copies: %s has no indexes: the file is truncated", s.copies)
	}
	return nil
}

func (s *section) trials(facts map[string]string) []importer.Trial {
	var list []importer.Trial
	for _, t := range s.tests {
		name, kind := cell(t.title)
		list = append(list, s.trial(name, kind, t.Trial, facts))
	}
	if s.score > 0 {
		score := importer.Trial{}
		score.Add(importer.Ratio("score", "", experiment.Higher, false), s.score)
		list = append(list, s.trial("index", "cpu", score, facts))
	}
	return list
}

func (s *section) trial(cell, kind string, t importer.Trial, facts map[string]string) importer.Trial {
	t.Cell, t.Kind, t.Start, t.Facts = cell, kind, s.start, maps.Clone(facts)
	t.Levels = []factor.Level{{Factor: "copies", Value: s.copies}}
	if s.copies != "1" {
		t.Cell += ".copies=" + s.copies
	}
	return t
}

// cells holds two names for each test, by the test's title in the report: its name on the command line of Run, and a
// kind of workload.
var cells = map[string]struct{ name, kind string }{
	"Dhrystone 2 using register variables":   {"dhry2reg", "cpu"},
	"Double-Precision Whetstone":             {"whetstone-double", "cpu"},
	"System Call Overhead":                   {"syscall", "syscalls"},
	"Exec System Call Overhead":              {"sysexec", "syscalls"},
	"Pipe-based Context Switching":           {"context1", "syscalls"},
	"Pipe Throughput":                        {"pipe", "syscalls"},
	"Process Creation":                       {"spawn", "syscalls"},
	"Execl Throughput":                       {"execl", "syscalls"},
	"File Write 1024 bufsize 2000 maxblocks": {"fstime-w", "storage"},
	"File Read 1024 bufsize 2000 maxblocks":  {"fstime-r", "storage"},
	"File Copy 1024 bufsize 2000 maxblocks":  {"fstime", "storage"},
	"File Write 256 bufsize 500 maxblocks":   {"fsbuffer-w", "storage"},
	"File Read 256 bufsize 500 maxblocks":    {"fsbuffer-r", "storage"},
	"File Copy 256 bufsize 500 maxblocks":    {"fsbuffer", "storage"},
	"File Write 4096 bufsize 8000 maxblocks": {"fsdisk-w", "storage"},
	"File Read 4096 bufsize 8000 maxblocks":  {"fsdisk-r", "storage"},
	"File Copy 4096 bufsize 8000 maxblocks":  {"fsdisk", "storage"},
	"Shell Scripts (1 concurrent)":           {"shell1", "syscalls"},
	"Shell Scripts (8 concurrent)":           {"shell8", "syscalls"},
	"Shell Scripts (16 concurrent)":          {"shell16", "syscalls"},
}

var letters = regexp.MustCompile(`[^a-z0-9]+`)

func cell(title string) (name, kind string) {
	if c, ok := cells[title]; ok {
		return c.name, c.kind
	}
	return cmp.Or(strings.Trim(letters.ReplaceAllString(strings.ToLower(title), "-"), "-"), "test"), "cpu"
}
