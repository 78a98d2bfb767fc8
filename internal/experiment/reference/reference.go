// Package reference reads references to values that an experiment file must not contain, such as passwords. They stand
// in the arguments of a program and in the values of variables.
//
//	$NAME            the value of a variable of the environment that Tare runs in
//	$(file:/a/path)  the content of a file on the machine that Tare runs on, without the
//	                 newline at its end; ~/ is the home directory
//	$$               a dollar
//
// Every other $ is kept: regular expressions and $(TARE_CONTEXT) need no escape. A text with a reference and another $
// is an error, since it is unclear which program the other $ is for. An argument after a program such as a shell is a
// text in that program's language (see Arguments).
//
// References are resolved once, when a run starts (Values). Plans, errors and reports contain the references, and never
// the values.
package reference

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment"
)

// Reference is the source of a value: a variable or a file.
type Reference struct {
	Variable string
	File     string // the path of the file: absolute, or below ~/
}

// String returns the text of the reference in a file.
func (r Reference) String() string {
	if r.File != "" {
		return "$(file:" + r.File + ")"
	}
	return "$" + r.Variable
}

type part struct {
	literal string
	taken   *Reference
}

// forms matches everything that begins with $: references such as $NAME, and other uses. $(TARE_…) is read by package
// placeholder.
var forms = regexp.MustCompile(`\$?\$\(TARE_[A-Za-z0-9_]*\)|\$\$|\$\(file:([^)]*)\)|(\$\{[A-Za-z_][A-Za-z0-9_]*\})|\$([A-Za-z_][A-Za-z0-9_]*)`)

func parse(text string) (parts []part, err error) {
	var literal strings.Builder
	unclear, any := false, false
	plain := func(s string) {
		unclear = unclear || strings.Contains(s, "$")
		literal.WriteString(s)
	}
	at := 0
	for _, m := range forms.FindAllStringSubmatchIndex(text, -1) {
		plain(text[at:m[0]])
		at = m[1]
		found := text[m[0]:m[1]]
		var taken Reference
		switch {
		case found == "$$":
			literal.WriteByte('$')
			continue
		case m[2] >= 0:
			taken.File = text[m[2]:m[3]]
			if !filepath.IsAbs(taken.File) && !strings.HasPrefix(taken.File, "~/") {
				return nil, fmt.Errorf("%s is no absolute path: a run that is resumed reads the file again, from wherever it is then", found)
			}
		case m[4] >= 0:
			return nil, fmt.Errorf("%s is not read here: write $%s for the value of the variable, or $%s for the text as it is", found, strings.Trim(found, "${}"), found)
		case m[6] >= 0:
			taken.Variable = text[m[6]:m[7]]
		default:
			literal.WriteString(found)
			continue
		}
		any = true
		parts = append(parts, part{literal: literal.String()}, part{taken: &taken})
		literal.Reset()
	}
	plain(text[at:])
	if any && unclear {
		return nil, fmt.Errorf("it is not clear who is to read which $: write $$ for each that is not %s", names(parts))
	}
	return append(parts, part{literal: literal.String()}), nil
}

// names lists the references among the parts of a text, for messages.
func names(parts []part) string {
	var all []string
	for _, r := range taken(parts) {
		all = append(all, r.String())
	}
	return strings.Join(all, ", ")
}

func taken(parts []part) []Reference {
	var all []Reference
	for _, p := range parts {
		if p.taken != nil && !slices.Contains(all, *p.taken) {
			all = append(all, *p.taken)
		}
	}
	return all
}

// In lists the references in the value of a variable; none if the value is invalid.
func In(text string) []Reference {
	parts, err := parse(text)
	if err != nil {
		return nil
	}
	return taken(parts)
}

// Check returns an error if the text is no valid value of a variable.
func Check(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("the value has a zero byte")
	}
	parts, err := parse(text)
	if err == nil && strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "$$") && len(parts) == 1 && !strings.HasPrefix(text, "$(TARE_") {
		return fmt.Errorf("%q is not $NAME, the value of a variable; write $$ for a $", text)
	}
	return err
}

// Arguments are a program and its arguments, as in an experiment file.
//
// In some programs, $ has a meaning (a shell, awk, jq). An argument after such a program is resolved only if it is a
// reference as a whole. The text after -c or -e always stays.
type Arguments []string

// languages are programs with a language in which $NAME has a meaning. The names have no versions.
var languages = strings.Fields(`sh ash bash dash ksh mksh zsh rbash fish csh tcsh busybox toybox pwsh powershell nu elvish
awk gawk mawk nawk sed perl python pypy ruby node nodejs deno bun php lua luajit tclsh wish expect julia Rscript R
jq yq gojq make gmake bmake ninja envsubst ssh su runuser xargs parallel hyperfine watch script flock
tmux screen systemd-run nix-shell psql mongosh mongo sqlite gnuplot vim nvim ex ed emacs m4 groovy jshell`)

var version = regexp.MustCompile(`[0-9.-]*$`)

// textOption matches an option such as -c, whose next argument is a text in the program's language, such as a shell
// script.
var textOption = regexp.MustCompile(`^-[A-Za-z]*[ce]$`)

// shellSigns matches characters that a shell interprets in a command line, except the $ of a reference.
var shellSigns = regexp.MustCompile(`[^A-Za-z0-9_./%+=:@,$ \t-]|^\S*=`)

// ofReference matches a reference in brackets: $(NAME) or $(file:PATH).
var ofReference = regexp.MustCompile(`\$\(([A-Za-z0-9_.:/~-]+)\)`)

// Words splits a line into a program and arguments. If only a shell can read the line, the program is a shell.
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

// ValidateCommand checks arguments as Validate does, and also that they contain a program.
func (a Arguments) ValidateCommand(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(a) == 0 || a[0] == "" {
		errs.Add(field, "no program is given: write it as a list, [program, argument…]")
	}
	return append(errs, a.Validate(field)...)
}

// Validate returns every problem of the arguments. The argument field is the YAML name of the field that holds them.
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

// Validate returns the problems of the value. The argument field is the YAML name of the field that holds it.
func (t Text) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if err := Check(string(t)); err != nil {
		errs.Add(field, "%v", err)
	}
	return errs
}

// Resolve returns the value with its references replaced.
func (t Text) Resolve(ctx context.Context) (string, error) { return Resolve(ctx, string(t)) }
