package environ

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
)

func TestResolve(t *testing.T) {
	t.Setenv("TARE_TEST_FROM", "$given")
	v := Variables{"PLAIN": "a b", "FROM": "$TARE_TEST_FROM", "WITHIN": "db://me:$TARE_TEST_FROM@host", "DOLLAR": "$$5", "LATER": "a$$b", "EMPTY": "", "ALONE": "a$ b$"}
	got, err := v.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ALONE=a$ b$", "DOLLAR=$5", "EMPTY=", "FROM=$given", "LATER=a$b", "PLAIN=a b", "WITHIN=db://me:$given@host"}
	if diff := cmp.Diff(want, Assignments(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]reference.Reference{{Variable: "TARE_TEST_FROM"}, {Variable: "TARE_TEST_FROM"}}, v.References()); diff != "" {
		t.Error(diff)
	}
	_, err = Variables{"A": "$TARE_TEST_MISSING"}.Resolve(t.Context())
	if err == nil || err.Error() != "the experiment takes TARE_TEST_MISSING from the environment, where it is not set: export it before running tare" {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	v := Variables{"OK": "1", "A-B": "1", "ZERO": "a\x00", "REF": "$1", "DB_PASSWORD": "$DB_PASSWORD", "FILE": "$(file:token)", "BRACES": "a${B}"}
	want := []experiment.FieldError{
		{Field: "env.A-B", Message: `"A-B" is not the name of a variable: letters, digits and underscores`},
		{Field: "env.BRACES", Message: "${B} is not read here: write $B for the value of the variable, or $${B} for the text as it is"},
		{Field: "env.FILE", Message: "$(file:token) is no absolute path: a run that is resumed reads the file again, from wherever it is then"},
		{Field: "env.REF", Message: `"$1" is not $NAME, the value of a variable; write $$ for a $`},
		{Field: "env.ZERO", Message: "the value has a zero byte"},
	}
	if diff := cmp.Diff(want, v.Validate("env")); diff != "" {
		t.Error(diff)
	}
}

func TestHidden(t *testing.T) {
	v := Variables{"PLAIN": "a", "REF": "$X", "WITHIN": "a $X", "DOLLAR": "$$X", "api_key": "", "KEYBOARD": "us"}
	for name, want := range map[string]bool{"PLAIN": false, "REF": true, "WITHIN": true, "DOLLAR": false, "api_key": true, "KEYBOARD": false} {
		if got := v.Hidden(name); got != want {
			t.Errorf("Hidden(%s): got %v, want %v", name, got, want)
		}
	}
}
