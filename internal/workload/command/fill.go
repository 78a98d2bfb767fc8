package command

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/workload/service"
)

// filler replaces the names of factors in texts, such as $(qps), by their present levels.
func (c *Config) filler() *strings.Replacer { return factor.Filler(c.Factors) }

// texts lists all texts that may contain names of factors.
func (c *Config) texts() []string {
	all := append(slices.Clone([]string(c.Command)), c.Shell)
	all = slices.AppendSeq(all, maps.Values(c.Env))
	if c.Server != nil {
		all = append(all, c.Server.Run...)
		all = slices.AppendSeq(all, maps.Values(c.Server.Env))
	}
	return all
}

// filledServer returns the server with the present levels in its texts.
func (c *Config) filledServer() *service.Config {
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

// checkFactors reports names that cannot stand in a text, and factors that no text uses.
func (c *Config) checkFactors(errs *experiment.FieldErrors) {
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		if err := factor.CheckNamed(c.Factors, name, c.texts(), nil); err != nil {
			errs.Add("factors."+name, "%v", err)
		}
	}
}
