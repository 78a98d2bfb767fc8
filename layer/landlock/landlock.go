// Package landlock is a ruleset of Landlock around the programs under test: they may read, start
// and write to files everywhere, and make and remove files only where a rule says so.
//
//   - landlock: {rules: [1, 8, 63]}
//   - landlock: {rules: 4, writable: [/tmp, /var/tmp]}
//
// Landlock asks at each opening of a file, for each directory from the file up to the root, whether
// there is a rule. The ruleset handles all rights to files that the kernel knows. The first rule is that of
// the root, those of the writable directories follow, and further ones are for directories of
// /proc/sys that programs do not open, so that their number can be swept. With rules: 0 no
// ruleset is made, and the arm differs from the baseline by nothing.
//
// The ruleset is made where the program is started, on a cluster in the pod, before the program's time begins. Tare's
// launcher restricts itself by it and becomes the program (package launcher). A rule is for a file, not for a path: in a
// sandbox that has files of its own in the root, nothing is allowed.
//
// Proof: the prober is denied to make a file outside of the writable directories, with EACCES,
// and is allowed to outside of the layer.
package landlock

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/front"
	"tare/testbed/launcher"
)

const name = "landlock"

// Config is the parameters of the layer.
type Config struct {
	Rules    factor.Levels[int] `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of path rules: that of the root, those of the writable directories, and more for directories that are not used; 0 makes no ruleset"`
	Writable []string           `yaml:"writable" json:"writable,omitempty" doc:"directories in which programs may make and remove files; nowhere if absent"`
	// Around is left out of plans where it is the default.
	Around layer.Around `yaml:"around" json:"around,omitempty" doc:"which programs it is put around, where the load comes from others than the server: both, server or client; both if absent"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "Landlock with so many path rules: files are made and removed only where allowed",
	New:     func() layer.Layer { return &Config{Rules: factor.Of(8)} },
	Probe:   front.Launchable(name, launcher.Settings{Landlock: &launcher.Landlock{Rules: 64}}),
}

// Declare says how the values are checked.
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

func (c *Config) front() front.Front {
	if c.Rules.One() == 0 {
		return front.Idle(name, c.Around, "makes no ruleset")
	}
	asks := slices.DeleteFunc(slices.Clone(front.Makeable), func(ask string) bool {
		return slices.ContainsFunc(c.Writable, func(w string) bool { return within(strings.TrimPrefix(ask, "write:"), w) })
	})
	return front.Launched(name, c.Around, launcher.Settings{Landlock: &launcher.Landlock{Rules: c.Rules.One(), Writable: c.Writable}},
		front.Denied("file made where no rule allows it", []string{"EACCES"}, asks...))
}

// within says whether a directory is another or below it.
func within(dir, other string) bool {
	other = filepath.Clean(other)
	return dir == other || strings.HasPrefix(dir, other+"/")
}

// Up puts the ruleset around the programs.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.front().Up(s), nil
}

// ProveOff shows that a file can be made where the ruleset does not allow it. Another ruleset of
// the arm's own is shown by its own proof.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front().Off(ctx, s)
}
