package proof

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

type active struct {
	config *Config
	site   testbed.Site           // the site with the wrappers, as the workload gets it
	once   map[string]layer.Check // results of checks that are made once, by the pods that they apply to
	counts map[int][]reading      // readings before the trial, by index of the check
}

// make makes the checks that are due at the given times (when).
func (c *Config) make(ctx context.Context, site testbed.Site, want evidence.State, once map[string]layer.Check, when ...when) ([]layer.Check, error) {
	var checks []layer.Check
	for i, item := range c.Checks {
		moment := item.When
		if moment == "" {
			moment = before
		}
		if !slices.Contains(when, moment) || item.Grows != "" && want == evidence.On {
			continue
		}
		key := ""
		if moment == Once {
			pods, err := podsOf(ctx, site)
			if err != nil {
				return checks, err
			}
			if pods != "" {
				key = fmt.Sprintf("%d %s", i, pods)
			}
			if check, made := once[key]; made {
				checks = append(checks, check)
				continue
			}
		}
		check, err := item.check(ctx, site, want)
		if err != nil {
			return checks, err
		}
		if key != "" && check.OK {
			check.Once = true
			once[key] = check
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// check runs the check's program in all its targets. Every target must show the wanted state.
func (i Item) check(ctx context.Context, site testbed.Site, want evidence.State) (layer.Check, error) {
	targets, err := i.targets(ctx, site)
	if err != nil {
		return layer.Check{}, err
	}
	var all layer.Check
	for n, t := range targets {
		check, err := i.at(ctx, t, want)
		if err != nil {
			return check, err
		}
		if len(targets) > 1 {
			check.Observed = t.title + ": " + check.Observed
		}
		if n == 0 || !check.OK {
			all = check
		}
		if !check.OK {
			return all, nil
		}
	}
	if len(targets) > 1 {
		all.Observed += fmt.Sprintf("; likewise in %d more", len(targets)-1)
	}
	if len(targets) == 0 {
		all = i.patterns().Check(name, i.Name, want, "", nil)
		// Without a pod the mechanism is off, although no program has shown this.
		all.Observed, all.OK = "there is no such pod", want == evidence.Off
	}
	return all, nil
}

// at makes the check in one target.
func (i Item) at(ctx context.Context, t target, want evidence.State) (layer.Check, error) {
	if t.missing != "" {
		check := i.patterns().Check(name, i.Name, want, "", nil)
		check.Observed, check.OK = t.missing, want == evidence.Off
		return check, nil
	}
	text, failed := t.run(ctx, i.Run)
	if ctx.Err() != nil {
		return layer.Check{}, ctx.Err()
	}
	return i.patterns().Check(name, i.Name, want, text, failed), nil
}

// before makes the checks that are due before a trial, and reads the counters.
func (a *active) before(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	a.site = site
	checks, err := a.config.make(ctx, site, evidence.On, a.once, before, Once)
	if err != nil {
		return checks, err
	}
	for i, item := range a.config.Checks {
		if item.Grows == "" {
			continue
		}
		if a.counts[i], err = item.read(ctx, site); err != nil {
			return checks, err
		}
	}
	return checks, nil
}

// after makes the checks that are due after a trial, and compares the counters with their values before it.
func (a *active) after(ctx context.Context, _ layer.Did) ([]layer.Check, error) {
	if a.site == nil {
		return nil, fmt.Errorf("the layer proof has no readings from before the trial")
	}
	checks, err := a.config.make(ctx, a.site, evidence.On, a.once, after)
	if err != nil {
		return checks, err
	}
	for i, item := range a.config.Checks {
		if item.Grows == "" {
			continue
		}
		after, err := item.read(ctx, a.site)
		if err != nil {
			return checks, err
		}
		checks = append(checks, item.grown(a.counts[i], after))
	}
	return checks, nil
}

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
