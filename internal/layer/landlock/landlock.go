// Package landlock puts a Landlock ruleset around the subjects. They may read, execute and write files everywhere, but
// create and remove files only where a rule allows this.
//
//   - landlock: {rules: [1, 8, 63]}
//   - landlock: {rules: 4, writable: [/tmp, /var/tmp]}
//
// When a file is opened, Landlock looks for a rule of each directory from the file up to the root. The first rule is
// for the root. The next rules are for the writable directories, and the others for directories of /proc/sys that
// programs do not open. With rules: 0 there is no ruleset.
//
// The ruleset is created where the subject is started, before the subject's time is counted. Tare's launcher (package
// launcher) restricts itself by the ruleset and then executes the subject. A rule belongs to a file and not to a path:
// in a sandbox with its own root, no rule matches, and nothing is allowed.
//
// Proof: the prober may not create a file outside the writable directories (EACCES). Outside the layer it may create
// the file.
package landlock

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed/launcher"
)

const name = "landlock"

// Config holds the layer's parameters.
type Config struct {
	Rules    factor.Levels[int] `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of path rules: one for the root, one for each writable directory, and the others for paths below /proc/sys; 0 creates no ruleset"`
	Writable []string           `yaml:"writable" json:"writable,omitempty" doc:"directories in which programs may create and remove files; absent: none"`
	Around   layer.Side         `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "Landlock with a given number of path rules: files can be created and removed only where a rule allows it",
	New:     func() layer.Layer { return &Config{Rules: factor.Of(8)} },
	Probe:   wrapper.Launchable(name, launcher.Settings{Landlock: &launcher.Landlock{Rules: 64}}),
}

// Declare declares how the parameters are validated, and that Tare's launcher starts the subjects.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.Around.Needs(""), OwnProves: true, Launched: true}
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	for i, dir := range c.Writable {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
			errs.Add(fmt.Sprintf("writable[%d]", i), "%q is not the path of a directory below /", dir)
		}
	}
	for _, n := range c.Rules {
		if n > 0 && n < 1+len(c.Writable) {
			errs.Add("rules", "%d rules are too few for the root and %d writable directories", n, len(c.Writable))
		}
	}
	return errs
}

func (c *Config) front() wrapper.Wrapper {
	if c.Rules.One() == 0 {
		return wrapper.Idle(name, c.Around, "makes no ruleset")
	}
	asks := slices.DeleteFunc(slices.Clone(wrapper.Makeable), func(ask string) bool {
		dir := strings.TrimPrefix(ask, "write:") + "/"
		return slices.ContainsFunc(c.Writable, func(w string) bool { return strings.HasPrefix(dir, filepath.Clean(w)+"/") })
	})
	return wrapper.Launched(name, c.Around, launcher.Settings{Landlock: &launcher.Landlock{Rules: c.Rules.One(), Writable: c.Writable}},
		wrapper.Denied("file made where no rule allows it", []string{"EACCES"}, asks...))
}

// Up puts the ruleset around the subjects.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.front().Up(s), nil
}

// ProveOff shows that, without the ruleset, the prober may create a file that the ruleset would deny.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front().Off(ctx, s)
}
