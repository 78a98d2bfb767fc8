package proof

import (
	"cmp"
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
	config *config
	site   testbed.Site           // the site with the wrappers, as the workload gets it
	once   map[string]layer.Check // results of the checks that are made only once; each key names a check and its pods
	counts map[int][]reading      // readings before the trial, by index of the check
}

func (c *config) make(ctx context.Context, site testbed.Site, want evidence.State, once map[string]layer.Check, when ...when) ([]layer.Check, error) {
	var checks []layer.Check
	for i, item := range c.Checks {
		moment := item.When
		moment = cmp.Or(moment, before)
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

// check runs the check's program in all its targets. Every target must show the state want.
func (i Item) check(ctx context.Context, site testbed.Site, want evidence.State) (layer.Check, error) {
	targets, err := i.targets(ctx, site)
	if err != nil {
		return layer.Check{}, err
	}
	if len(targets) == 0 { // without a pod the mechanism counts as off, although no program has shown this
		return i.without("there is no such pod", want), nil
	}
	return ofAll(len(targets), "; likewise in %d more", func(n int) (string, layer.Check, error) {
		check, err := i.at(ctx, targets[n], want)
		return targets[n].title, check, err
	})
}

// ofAll makes a check in each of several targets and returns the first that fails. If none fails, the first target's
// check has the number of further ones, written in format.
func ofAll(targets int, format string, make func(n int) (title string, check layer.Check, err error)) (all layer.Check, err error) {
	for n := range targets {
		title, check, err := make(n)
		if err != nil {
			return check, err
		}
		if targets > 1 {
			check.Observed = title + ": " + check.Observed
		}
		if !check.OK {
			return check, nil
		}
		if n == 0 {
			all = check
		}
	}
	if targets > 1 {
		all.Observed += fmt.Sprintf(format, targets-1)
	}
	return all, nil
}

// without makes the check for a target in which no program can run, for the given reason. In such a target, the
// mechanism counts as off.
func (i Item) without(reason string, want evidence.State) layer.Check {
	check := i.patterns().Check(name, i.Name, want, "", nil)
	check.Observed, check.OK = reason, want == evidence.Off
	return check
}

func (i Item) at(ctx context.Context, t target, want evidence.State) (layer.Check, error) {
	if t.missing != "" {
		return i.without(t.missing, want), nil
	}
	text, failed := t.run(ctx, i.Run)
	if ctx.Err() != nil {
		return layer.Check{}, ctx.Err()
	}
	return i.patterns().Check(name, i.Name, want, text, failed), nil
}

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

// counter compiles a regular expression that finds a counter in an output. The expression's only group is the
// counter's number.
func counter(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile("(?m)" + text)
	if err == nil && pattern.NumSubexp() != 1 {
		err = fmt.Errorf("it has %d groups; it must have one, the number: (\\d+)", pattern.NumSubexp())
	}
	return pattern, err
}

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

// sum adds up the numbers that the pattern finds in the text. It returns the total, and in found how many numbers it
// added up.
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

type reading struct {
	title string
	total float64
	none  string // reason why the target shows no number; "" if it shows one
}

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

// absent is the result of reading an output without the counter. Before a trial it counts as 0: some programs print a
// counter only after its first use.
const absent = "no such number"

// grown checks that a counter has grown in every target between its readings before and after a trial.
func (i Item) grown(before, after []reading) layer.Check {
	check := layer.Check{Layer: name, Name: i.Name, Expected: "to grow during the trial: " + i.Grows, Observed: "there is no such pod"}
	if len(after) == 0 {
		return check
	}
	all, _ := ofAll(len(after), "; it grew in %d more", func(n int) (string, layer.Check, error) {
		one, r := check, after[n]
		one.Observed = "there was no reading before the trial"
		if k := slices.IndexFunc(before, func(b reading) bool { return b.title == r.title }); k >= 0 {
			b := before[k]
			one.Observed = fmt.Sprintf("%s, then %s", b.text(), r.text())
			one.OK = r.none == "" && (b.none == "" || b.none == absent) && r.total > b.total
		}
		return r.title, one, nil
	})
	return all
}

func (r reading) text() string {
	if r.none != "" {
		return r.none
	}
	return strconv.FormatFloat(r.total, 'f', -1, 64)
}
