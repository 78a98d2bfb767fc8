// Package unixbench reads the text reports of byte-unixbench, the files called HOST-DATE-NN in its directory of
// results.
//
// A report has a section for each number of parallel copies, and each section a line for each test. Test and
// copies name a cell, as on the command line of Run: "execl", "execl.copies=2". The rate of a test is its
// headline. UnixBench computes it as the geometric mean of the better two thirds of several samples, which the
// report does not contain. The index of a test is its rate as a multiple of the rate of a SPARCstation of 1995.
// The indexes and the score over all tests restate the rates, and are exploratory. A score over a part of the
// tests is not read.
package unixbench

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"tare/internal/experiment"
	"tare/internal/importer"
)

// Format reads UnixBench's reports.
var Format = importer.Format{
	Name: "unixbench",
	Doc:  "byte-unixbench's text reports (results/HOST-DATE-NN), with one or more parallel copies",
	Read: read,
}

const banner = "BYTE UNIX Benchmarks (Version "

func read(f importer.File) ([]importer.Trial, error) {
	data, err := importer.ReadAll(f)
	if err != nil {
		return nil, err
	}
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
	indexed  bool // set within the table of indexes
}

// line reads the next line. Unknown lines are ignored, since reports differ in how they describe the system.
func (r *report) line(text string) error {
	if when, ok := strings.CutPrefix(text, "Benchmark Run: "); ok {
		r.indexed = false
		r.sections = append(r.sections, newSection(when))
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

// indexOf returns a metric that restates a rate.
func indexOf(name string) experiment.Metric {
	return importer.Ratio(name, "", experiment.Higher, false)
}
