package reference

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment"
)

// Arguments are a program and its arguments in the form of an experiment file.
//
// Some programs have a language in which $ has a meaning (a shell, awk, jq). An argument after such a program
// is text in its language and is not changed, except if the whole argument is a reference. The text after -c or
// -e is never changed.
type Arguments []string

// languages are programs in whose language $NAME has a meaning, by name without a version.
var languages = strings.Fields(`sh ash bash dash ksh mksh zsh rbash fish csh tcsh busybox toybox pwsh powershell nu elvish
awk gawk mawk nawk sed perl python pypy ruby node nodejs deno bun php lua luajit tclsh wish expect julia Rscript R
jq yq gojq make gmake bmake ninja envsubst ssh su runuser xargs parallel hyperfine watch script flock
tmux screen systemd-run nix-shell psql mongosh mongo sqlite gnuplot vim nvim ex ed emacs m4 groovy jshell`)

var version = regexp.MustCompile(`[0-9.-]*$`)

// textOption matches an option whose value is text in the program's language.
var textOption = regexp.MustCompile(`^-[A-Za-z]*[ce]$`)

// shellSigns matches characters that a shell interprets in a command line, except the $ of a reference.
var shellSigns = regexp.MustCompile(`[^A-Za-z0-9_./%+=:@,$ \t-]|^\S*=`)

// ofReference matches the brackets of $(NAME) and $(file:PATH).
var ofReference = regexp.MustCompile(`\$\(([A-Za-z0-9_.:/~-]+)\)`)

// Words returns the program and arguments for a command line: the words of the line, or a shell that reads
// the line.
func (Arguments) Words(line string) []string {
	if shellSigns.MatchString(ofReference.ReplaceAllString(line, "$1")) {
		return []string{"sh", "-c", line}
	}
	return strings.Fields(line)
}

func (a Arguments) parts(i int) ([]part, error) {
	text := a[i]
	behind := false
	for _, before := range a[:i] {
		name := path.Base(before)
		behind = behind || slices.Contains(languages, name) || slices.Contains(languages, version.ReplaceAllString(name, ""))
	}
	parts, err := parse(text)
	whole := err == nil && len(parts) == 3 && parts[0].literal == "" && parts[2].literal == ""
	switch {
	case !behind, whole && !textOption.MatchString(a[i-1]):
		return parts, err
	case err == nil && strings.Contains(names(parts), "$(file:"):
		return nil, fmt.Errorf("%s stands in the text of a program that reads $ itself: give the value by env, and let the program take that variable", names(parts))
	}
	return []part{{literal: text}}, nil
}

// References lists the references in the arguments.
func (a Arguments) References() []Reference {
	var all []Reference
	for i := range a {
		if parts, err := a.parts(i); err == nil {
			all = append(all, taken(parts)...)
		}
	}
	return all
}

// ValidateCommand is Validate for arguments that must contain a program.
func (a Arguments) ValidateCommand(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(a) == 0 || a[0] == "" {
		errs.Add(field, "no program is given: write it as a list, [program, argument…]")
	}
	return append(errs, a.Validate(field)...)
}

// Validate returns every problem, by the field that holds the arguments.
func (a Arguments) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	for i := range a {
		parts, err := a.parts(i)
		if err == nil && i == 0 && len(taken(parts)) > 0 {
			err = errors.New("a program is named in the file, and not by " + names(parts) + ": what runs is part of the experiment")
		}
		if err != nil {
			errs.Add(fmt.Sprintf("%s[%d]", field, i), "%v", err)
		}
	}
	return errs
}

// Text is a value that may contain references, such as a token.
type Text string

// References lists the references in the value.
func (t Text) References() []Reference { return In(string(t)) }

// Validate returns the problems of the value, by its field.
func (t Text) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if err := Check(string(t)); err != nil {
		errs.Add(field, "%v", err)
	}
	return errs
}

// Resolve returns the value with its references replaced.
func (t Text) Resolve(ctx context.Context) (string, error) { return Resolve(ctx, string(t)) }
