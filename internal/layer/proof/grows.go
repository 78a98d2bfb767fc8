package proof

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// Some counters only count up, and show that a mechanism was on at some time. If such a counter grows between
// a reading before a trial and a reading after it, the trial went through the mechanism.

// counter compiles the regular expression that finds a counter. Its only group is the counter's number.
func counter(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile("(?m)" + text)
	if err == nil && pattern.NumSubexp() != 1 {
		err = fmt.Errorf("it has %d groups; it must have one, the number: (\\d+)", pattern.NumSubexp())
	}
	return pattern, err
}

// validateGrows reports every problem of a check that has a counter.
func (i Item) validateGrows(at string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if _, err := counter(i.Grows); err != nil {
		errs.Add(at+".grows", "%q is not a regular expression of a number: %v", i.Grows, err)
	}
	if i.On != "" {
		errs.Add(at+".on", "on and grows exclude each other: a growing number shows that the mechanism is on")
	}
	if i.When != "" {
		errs.Add(at+".when", "a number that grows is read before and after each trial")
	}
	return errs
}

// sum returns the sum of the numbers that the pattern finds in an output, and how many there are.
func sum(pattern *regexp.Regexp, text string) (total float64, found int, err error) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(match[1], 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
			return 0, 0, fmt.Errorf("%s is not a count", evidence.Quote(match[1]))
		}
		total += n
		found++
	}
	return total, found, nil
}

// reading is the value of a counter in one target.
type reading struct {
	title string
	total float64
	none  string // reason why the target shows no number; "" if it shows one
}

// read reads the check's counter in all its targets.
func (i Item) read(ctx context.Context, site testbed.Site) ([]reading, error) {
	targets, err := i.targets(ctx, site)
	if err != nil {
		return nil, err
	}
	pattern, err := counter(i.Grows)
	if err != nil {
		return nil, err
	}
	var all []reading
	for _, t := range targets {
		r := reading{title: t.title, none: t.missing}
		if t.missing == "" {
			text, failed := t.run(ctx, i.Run)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r.total, r.none = number(pattern, text, failed)
		}
		all = append(all, r)
	}
	return all, nil
}

// number returns the counter's number in an output, or the reason why there is none.
func number(pattern *regexp.Regexp, text string, failed error) (total float64, none string) {
	if failed != nil {
		return 0, safetext.Tail(failed.Error(), 400)
	}
	total, found, err := sum(pattern, text)
	switch {
	case err != nil:
		return 0, err.Error()
	case found == 0:
		return 0, absent
	}
	return total, ""
}

// absent is the reading if the output does not contain the counter. Many counters do not appear before their
// first event. Before a trial, this reading therefore counts as 0.
const absent = "no such number"

// grown compares a counter's readings before and after a trial. The counter must have grown in every target.
func (i Item) grown(before, after []reading) layer.Check {
	check := layer.Check{Layer: name, Name: i.Name, Expected: "to grow during the trial: " + i.Grows, OK: len(after) > 0, Observed: "there is no such pod"}
	was := map[string]reading{}
	for _, r := range before {
		was[r.title] = r
	}
	for n, r := range after {
		b, read := was[r.title]
		observed, ok := fmt.Sprintf("%s, then %s", b.text(), r.text()), r.none == "" && (b.none == "" || b.none == absent) && r.total > b.total
		if !read {
			observed, ok = "there was no reading before the trial", false
		}
		if len(after) > 1 {
			observed = r.title + ": " + observed
		}
		if n == 0 || !ok {
			check.Observed = observed
		}
		if !ok {
			check.OK = false
			return check
		}
	}
	if len(after) > 1 {
		check.Observed += fmt.Sprintf("; it grew in %d more", len(after)-1)
	}
	return check
}

func (r reading) text() string {
	if r.none != "" {
		return r.none
	}
	return strconv.FormatFloat(r.total, 'f', -1, 64)
}
