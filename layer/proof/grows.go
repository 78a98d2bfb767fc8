package proof

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"tare/experiment"
	"tare/layer"
	"tare/layer/evidence"
	"tare/safetext"
	"tare/testbed"
)

// A counter that only ever counts up shows that something was once on. That a trial
// went through it, the counter shows by growing between the two reads around it.

// counter compiles the expression of a number; one group is the number.
func counter(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile("(?m)" + text)
	if err == nil && pattern.NumSubexp() != 1 {
		err = fmt.Errorf("it has %d groups, and the number is the one that it must have: (\\d+)", pattern.NumSubexp())
	}
	return pattern, err
}

// validateGrows reports every problem of a check of a counter.
func (i Item) validateGrows(at string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if _, err := counter(i.Grows); err != nil {
		errs.Add(at+".grows", "%q is not a regular expression of a number: %v", i.Grows, err)
	}
	if i.On != "" {
		errs.Add(at+".on", "on and grows exclude each other: that the number grew shows that it is on")
	}
	if i.When != "" {
		errs.Add(at+".when", "a number that grows is read before and after each trial")
	}
	return errs
}

// sum adds up the numbers that an output has, and says how many there are.
func sum(pattern *regexp.Regexp, text string) (total float64, found int, err error) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(match[1], 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
			return 0, 0, fmt.Errorf("%s is no count", evidence.Quote(match[1]))
		}
		total += n
		found++
	}
	return total, found, nil
}

// reading is what a counter showed at one place.
type reading struct {
	title string
	total float64
	none  string // why there is no number; "": there is
}

// read reads the counter everywhere it is to be.
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

// number is the number in an output, or why there is none.
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

// absent is the reading of an output without the number, as counters are before
// the first thing to count. It counts as nothing.
const absent = "no such number"

// grown compares what a counter showed before and after a trial. It must have
// grown everywhere.
func (i Item) grown(before, after []reading) layer.Check {
	check := layer.Check{Layer: name, Name: i.Name, Expected: "to grow during the trial: " + i.Grows, OK: len(after) > 0, Observed: "no pod of that kind runs here"}
	was := map[string]reading{}
	for _, r := range before {
		was[r.title] = r
	}
	for n, r := range after {
		b, read := was[r.title]
		observed, ok := fmt.Sprintf("%s, then %s", b.text(), r.text()), r.none == "" && (b.none == "" || b.none == absent) && r.total > b.total
		if !read {
			observed, ok = "it was not there before the trial", false
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
		check.Observed += fmt.Sprintf("; it grew likewise in %d more", len(after)-1)
	}
	return check
}

func (r reading) text() string {
	if r.none != "" {
		return r.none
	}
	return strconv.FormatFloat(r.total, 'f', -1, 64)
}
