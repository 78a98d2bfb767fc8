package command

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/testbed"
)

var metricName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// longest is the longest allowed timeout of a run. A thousand runs of this length still fit into a time.Duration.
const longest = 1000 * time.Hour

// programs lists the programs that the workload starts: one, or one for each level of the factors in its name. /bin/sh
// and programs in an image are not listed, since Tare does not check them.
func (c *Config) programs() []experiment.Program {
	if len(c.Command) == 0 || c.Image != "" {
		return nil
	}
	where := experiment.AtSite
	if c.place() == testbed.Host {
		where = experiment.OnMachine
	}
	names := []string{c.Command[0]}
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		var each []string
		for _, level := range c.Factors[name] {
			fill := factor.Filler(factor.Named{name: factor.Of(level)})
			each = append(each, lists.Map(names, func(text string) string { return fill.Replace(text) })...)
		}
		slices.Sort(each)
		names = slices.Compact(each)
	}
	return lists.Map(names, func(name string) experiment.Program { return experiment.Program{Name: name, Dir: c.Dir, Where: where} })
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	switch {
	case len(c.Command) == 0 && c.Shell == "":
		errs.Add("run", "no program is given: write run: [program, argument…], or shell: text for /bin/sh")
	case len(c.Command) > 0 && c.Shell != "":
		errs.Add("shell", "there is run too; a trial runs one of them")
	case len(c.Command) > 0 && c.Command[0] == "":
		errs.Add("run[0]", "the program has no name")
	}
	if c.Image != "" && c.place() == testbed.Host {
		errs.Add("image", "the program runs on the machine that Tare runs on: write in: %s, or leave the image out", testbed.ClientPod)
	}
	errs = append(errs, c.Command.Validate("run")...)
	errs = append(errs, c.Env.Validate("env")...)
	if c.Server != nil {
		errs = append(errs, c.Server.Validate("server")...)
	}
	c.checkFactors(&errs)
	for i, name := range c.Judged {
		if m := c.metrics(); !slices.ContainsFunc(m, func(m metric) bool { return m.Name == name && m.Scale != experiment.Difference }) {
			errs.Add(fmt.Sprintf("headline[%d]", i), "%q is not a metric of this workload that can be a headline", name)
		}
	}
	switch {
	case c.Timeout.Std() < time.Millisecond:
		errs.Add("timeout", "%v is too short for any program", c.Timeout)
	case c.Timeout.Std() > longest:
		errs.Add("timeout", "%v is longer than %v", c.Timeout, quantity.Duration(longest))
	}
	if c.Expects.Std() > longest {
		errs.Add("expect", "%v is longer than %v", c.Expects, quantity.Duration(longest))
	}
	if c.Warmup < 0 || c.Warmup > 1000 {
		errs.Add("warmup", "%d is not a number of runs from 0 to 1000", c.Warmup)
	}
	if len(c.OK) == 0 {
		errs.Add("ok", "no exit status counts as success")
	}
	for i, status := range c.OK {
		if status < 0 || status > 255 {
			errs.Add(fmt.Sprintf("ok[%d]", i), "%d is not an exit status from 0 to 255", status)
		}
	}
	if len(c.Makes) > 0 && c.place() != testbed.Host {
		errs.Add("files", "files are looked for on the machine that Tare runs on, and the program runs in the %s", c.place())
	}
	for i, m := range c.Read {
		m.validate(&errs, fmt.Sprintf("metrics[%d]", i))
		if same := slices.IndexFunc(c.Read, func(o metric) bool { return o.Name == m.Name }); same < i {
			errs.Add(fmt.Sprintf("metrics[%d].name", i), "%q is the name of metrics[%d] too", m.Name, same)
		}
	}
	return errs
}

func (m metric) validate(errs *experiment.FieldErrors, field string) {
	if !metricName.MatchString(m.Name) {
		errs.Add(field+".name", "%q is not a name of lower-case letters, digits and single dashes", m.Name)
	}
	given := 0
	for _, source := range []string{string(m.From), m.Regex, m.JSON} {
		if source != "" {
			given++
		}
	}
	if given != 1 {
		errs.Add(field, "metric %q has %d of from, regex and json; it must have one", m.Name, given)
	}
	if m.From != "" {
		for _, option := range [][2]string{{"output", string(m.Output)}, {"which", string(m.Which)}} {
			if option[1] != "" {
				errs.Add(field+"."+option[0], "%q is for metrics that are read from the output; this one is %s", option[1], m.From)
			}
		}
		if m.Unit != "" && m.Unit != m.From.unit() {
			errs.Add(field+".unit", "%q is not the unit of %s, which is %s", m.Unit, m.From, m.From.unit())
		}
	}
	if m.Regex != "" {
		pattern, err := regexp.Compile(m.Regex)
		switch {
		case err != nil:
			errs.Add(field+".regex", "%q is not a regular expression: %v", m.Regex, err)
		case pattern.NumSubexp() != 1:
			errs.Add(field+".regex", "%q has %d groups; one (…) must enclose the number, others are written (?:…)", m.Regex, pattern.NumSubexp())
		}
	}
	if m.JSON != "" {
		if _, err := parsePath(m.JSON); err != nil {
			errs.Add(field+".json", "%v", err)
		}
	}
	if m.Scale == experiment.Difference && m.Headline != nil && *m.Headline {
		errs.Add(field+".headline", "a metric on the scale difference cannot be a headline")
	}
}
