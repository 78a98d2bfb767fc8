package proof

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
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
