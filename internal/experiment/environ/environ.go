// Package environ holds the environment variables of an experiment file: a map of names to values. A value may refer to
// a variable or a file where Tare runs (package reference). So no secret is written into an experiment file or a run.
//
//	env:
//	  LEVEL: debug                          # this text
//	  TARGET: $MY_TARGET                    # the value of MY_TARGET where Tare runs
//	  TOKEN: $(file:/run/secrets/token)     # the content of the file
//	  DATABASE: postgres://me:$PASSWORD@db  # a text that contains the value of PASSWORD
//	  PRICE: $$5                            # $5
//
// The plan of a run holds the values as the file has them.
package environ

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/experiment/secret"
)

// Variables are environment variables in the form of an experiment file.
type Variables map[string]string

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Names returns the names in alphabetical order.
func (v Variables) Names() []string { return slices.Sorted(maps.Keys(v)) }

// References lists the references in the values.
func (v Variables) References() []reference.Reference {
	var all []reference.Reference
	for _, name := range v.Names() {
		all = append(all, reference.In(v[name])...)
	}
	return all
}

// Refers reports whether the value of a variable contains a reference.
func (v Variables) Refers(name string) bool { return len(reference.In(v[name])) > 0 }

// Hidden reports whether a variable's value must not be shown: it has a reference, or its name looks like a secret's.
func (v Variables) Hidden(name string) bool { return v.Refers(name) || secret.Named(name) }

// Validate returns all problems of the variables. In each problem, the name of the field begins with the argument
// field.
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

// Resolve returns the values with their references replaced.
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

// Assignments returns values in the form "NAME=value", ordered by name.
func Assignments(values map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+values[name])
	}
	return out
}
