// Package reference reads references to values that an experiment file must not contain, such as passwords.
// References may stand in the arguments of a program and in the values of variables.
//
//	$NAME            the value of a variable of the environment that Tare runs in
//	$(file:/a/path)  the content of a file on the machine that Tare runs on, without the
//	                 newline at its end; ~/ is the home directory
//	$$               a dollar
//
// Every other $ is kept, so that regular expressions and $(TARE_CONTEXT) need no escape. A text with a
// reference and another $ is an error, since it is unclear which program the other $ is for.
//
// A program such as a shell has its own variables. If an argument after such a program contains $HOME, the
// argument is a text in the program's language (see Arguments).
//
// References are resolved once, when a run starts (Values). The values are in no record of the run: plans,
// errors and reports contain the references.
package reference

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Reference is the source of a value: a variable or a file.
type Reference struct {
	Variable string // the name of the variable
	File     string // the path in the file: absolute, or below ~/
}

// String returns the reference in the form of a file.
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

// The forms, in the order in which they are tried. Package placeholder reads $(TARE_…) and its escape, so these
// are kept.
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

// names lists the references among parts, for messages.
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

// Check returns the error in the value of a variable, or nil.
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
