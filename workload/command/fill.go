package command

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"tare/experiment"
	"tare/workload/service"
)

// Level is a level of one of the file's own factors, as it is written there.
type Level string

// UnmarshalText takes any text or number.
func (l *Level) UnmarshalText(text []byte) error {
	*l = Level(text)
	return nil
}

// MarshalText gives it back.
func (l Level) MarshalText() ([]byte, error) { return []byte(l), nil }

var factorName = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)

// filler puts the levels in force into texts: $(qps).
func (c *Config) filler() *strings.Replacer {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		if levels := c.Factors[name]; len(levels) == 1 {
			pairs = append(pairs, "$("+name+")", string(levels.One()))
		}
	}
	return strings.NewReplacer(pairs...)
}

// texts lists all texts that factors may stand in.
func (c *Config) texts() []string {
	all := append(slices.Clone([]string(c.Command)), c.Shell)
	all = slices.AppendSeq(all, maps.Values(c.Env))
	if c.Server != nil {
		all = append(all, c.Server.Run...)
		all = slices.AppendSeq(all, maps.Values(c.Server.Env))
	}
	return all
}

// served is the server with the levels in force.
func (c *Config) served() *service.Config {
	s, fill := *c.Server, c.filler()
	s.Run, s.Env = filled(fill, s.Run), maps.Clone(s.Env)
	for name, value := range s.Env {
		s.Env[name] = fill.Replace(value)
	}
	return &s
}

func filled(fill *strings.Replacer, texts []string) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		texts[i] = fill.Replace(text)
	}
	return texts
}

// checkFactors refuses names that cannot stand in a text, and factors that nothing uses.
func (c *Config) checkFactors(errs *experiment.FieldErrors) {
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		field := "factors." + name
		switch used := "$(" + name + ")"; {
		case !factorName.MatchString(name):
			errs.Add(field, "%q is not a name of letters, digits and single dashes that begins with a lower-case letter", name)
		case len(c.Factors[name]) == 0:
			errs.Add(field, "it has no level")
		case !slices.ContainsFunc(c.texts(), func(text string) bool { return strings.Contains(text, used) }):
			errs.Add(field, "nothing holds %s, so that all levels would do the same", used)
		}
	}
}
