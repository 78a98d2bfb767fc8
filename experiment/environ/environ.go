// Package environ is the environment variables of an experiment file: a map of
// names to values, which may refer to variables of the environment that Tare runs in
// and to files (package reference), so that no secret is written into a file or a run.
//
//	env:
//	  LEVEL: debug                          # as it is
//	  TARGET: $MY_TARGET                    # the value of MY_TARGET where Tare runs
//	  TOKEN: $(file:/run/secrets/token)     # what the file holds
//	  DATABASE: postgres://me:$PASSWORD@db  # with the value of PASSWORD in it
//	  PRICE: $$5                            # $5
//
// The plan of a run holds the values as written.
package environ

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"tare/experiment"
	"tare/experiment/reference"
	"tare/experiment/secret"
)

// Variables are environment variables as written in an experiment file.
type Variables map[string]string

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Names gives the names in order.
func (v Variables) Names() []string { return slices.Sorted(maps.Keys(v)) }

// References lists what the values take from elsewhere.
func (v Variables) References() []reference.Reference {
	var all []reference.Reference
	for _, name := range v.Names() {
		all = append(all, reference.In(v[name])...)
	}
	return all
}

// Refers says whether the named one's value takes something from elsewhere.
func (v Variables) Refers(name string) bool { return len(reference.In(v[name])) > 0 }

// Hidden says whether the value must not be shown: it refers to one, or its name looks
// like a secret's.
func (v Variables) Hidden(name string) bool { return v.Refers(name) || secret.Named(name) }

// Validate reports every problem, with fields below the given one.
func (v Variables) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	for _, name := range v.Names() {
		at := field + "." + name
		if !validName.MatchString(name) {
			errs.Add(at, "%q is not the name of a variable: letters, digits and underscores", name)
		} else if err := reference.Check(v[name]); err != nil {
			errs.Add(at, "%v", err)
		}
	}
	return errs
}

// Resolve gives the values in force.
func (v Variables) Resolve(ctx context.Context) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range v.Names() {
		value, err := reference.Resolve(ctx, v[name])
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

// Assignments writes values as "NAME=value", ordered by name.
func Assignments(values map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+values[name])
	}
	return out
}
