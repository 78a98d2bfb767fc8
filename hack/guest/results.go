package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"tare/hack/guest/plan"
)

// results are what the guest has said so far.
type results struct {
	out     io.Writer
	all     bool     // lines are shown as they come
	suites  []string // that were asked for
	ended   map[string]*plan.Ended
	lines   map[string][]string // what tests have printed, by package
	passed  map[string]int
	counts  map[string]int // by outcome
	trouble []string
}

func newResults(out io.Writer, chosen []suite) *results {
	r := &results{out: out, ended: map[string]*plan.Ended{}, lines: map[string][]string{}, passed: map[string]int{}, counts: map[string]int{}}
	for _, s := range chosen {
		r.suites = append(r.suites, s.Package)
	}
	return r
}

// outcome is the line by which a test says how it has ended, those within tests too.
var outcome = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) (\(.*\))`)

// add takes an event, and prints how a test has ended.
func (r *results) add(e plan.Event) {
	switch {
	case e.Kernel != "":
		say("the guest is up: Linux %s", e.Kernel)
	case e.Trouble != "":
		r.trouble = append(r.trouble, "the guest: "+e.Trouble)
	case e.Ended != nil:
		r.end(e.Suite, e.Ended)
	case e.Suite != "":
		r.lines[e.Suite] = append(r.lines[e.Suite], e.Line)
		if r.all {
			fmt.Fprintln(r.out, e.Line)
		}
		if of := outcome.FindStringSubmatch(e.Line); of != nil {
			r.counts[of[1]]++
			if of[1] == "PASS" {
				r.passed[e.Suite]++
			}
			fmt.Fprintf(r.out, "%s  %s  %s %s\n", of[1], e.Suite, of[2], of[3])
		}
	}
}

// end takes the end of a package, and shows all that it has printed where something went wrong.
func (r *results) end(suite string, ended *plan.Ended) {
	r.ended[suite] = ended
	text := strings.Join(r.lines[suite], "\n")
	switch {
	case ended.Status != 0:
		r.trouble = append(r.trouble, fmt.Sprintf("%s: %s", suite, ended.How))
	case strings.Contains(text, "--- SKIP: "):
		r.trouble = append(r.trouble, suite+": tests that the guest is for were skipped")
	case r.passed[suite] == 0:
		r.trouble = append(r.trouble, suite+": no test ran")
	default:
		return
	}
	if r.all {
		return
	}
	fmt.Fprintf(r.out, "\n%s\n\n", text)
}

// problems are why not all is well, and count says how much was run.
func (r *results) problems() []string {
	for _, s := range r.suites {
		if r.ended[s] == nil {
			r.trouble = append(r.trouble, s+": its tests have not ended")
		}
	}
	return r.trouble
}

func (r *results) count() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.counts["PASS"], r.counts["FAIL"], r.counts["SKIP"])
}
