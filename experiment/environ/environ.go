// Package environ is the environment variables of an experiment file: a map of
// names to values, in which a value may be taken from the environment that Tare
// runs in, so that no secret is written into a file or a run.
//
//	env:
//	  LEVEL: debug           # as it is
//	  TARGET: $MY_TARGET     # the value of MY_TARGET where Tare runs
//	  PRICE: $$5             # $5
//
// The plan of a run holds the values as written. A variable whose name looks
// like a secret's (a part of it is TOKEN, PASSWORD, SECRET, KEY…) must
// therefore be taken from the environment, and is refused otherwise.
package environ

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"tare/experiment"
)

// Variables are environment variables as written in an experiment file.
type Variables map[string]string

var (
	validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secret    = regexp.MustCompile(`(?i)((^|_)(TOKEN|PASS|PWD|KEY|CREDENTIAL|CREDENTIALS|AUTH)|PASSWORD|PASSWD|PASSPHRASE|SECRET|SECRETS|APIKEY)($|_|[0-9])`)
)

// Names gives the names in order.
func (v Variables) Names() []string { return slices.Sorted(maps.Keys(v)) }

// Referred gives the name of the variable of Tare's own environment that the
// named one's value is taken from.
func (v Variables) Referred(name string) (string, bool) {
	value, ok := strings.CutPrefix(v[name], "$")
	return value, ok && !strings.HasPrefix(value, "$")
}

// Hidden says whether the value must not be shown: it is taken from the
// environment, or its name looks like a secret's.
func (v Variables) Hidden(name string) bool {
	_, referred := v.Referred(name)
	return referred || LooksSecret(name)
}

// LooksSecret says whether a variable of this name is likely to hold a secret.
// PWD and OLDPWD are directories.
func LooksSecret(name string) bool {
	return name != "PWD" && name != "OLDPWD" && secret.MatchString(name)
}

// Validate reports every problem, with fields below the given one.
func (v Variables) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	for _, name := range v.Names() {
		at := field + "." + name
		referred, is := v.Referred(name)
		switch {
		case !validName.MatchString(name):
			errs.Add(at, "%q is not the name of a variable: letters, digits and underscores", name)
		case strings.ContainsRune(v[name], 0):
			errs.Add(at, "the value has a zero byte")
		case is && !validName.MatchString(referred):
			errs.Add(at, "%q is not $NAME, the value of a variable; write $$ for a $", v[name])
		case !is && LooksSecret(name) && v[name] != "":
			errs.Add(at, "%s looks like a secret, which would be kept in the run: write $%s to take it from the environment of tare", name, name)
		}
	}
	return errs
}

// Resolve gives the values in force.
func (v Variables) Resolve() (map[string]string, error) {
	values := map[string]string{}
	var missing []string
	for _, name := range v.Names() {
		values[name] = v[name]
		if strings.HasPrefix(v[name], "$$") {
			values[name] = v[name][1:]
		}
		if from, referred := v.Referred(name); referred {
			value, ok := os.LookupEnv(from)
			if !ok {
				missing = append(missing, from)
			}
			values[name] = value
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the experiment takes %s from the environment, where it is not set: export it before running tare", strings.Join(missing, ", "))
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
