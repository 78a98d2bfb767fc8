package environ

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/experiment"
)

func TestResolve(t *testing.T) {
	t.Setenv("TARE_TEST_FROM", "$given")
	v := Variables{"PLAIN": "a b", "FROM": "$TARE_TEST_FROM", "DOLLAR": "$$5", "LATER": "a$$b", "EMPTY": ""}
	got, err := v.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"DOLLAR=$5", "EMPTY=", "FROM=$given", "LATER=a$$b", "PLAIN=a b"}
	if diff := cmp.Diff(want, Assignments(got)); diff != "" {
		t.Error(diff)
	}
	_, err = Variables{"A": "$TARE_TEST_MISSING"}.Resolve()
	if err == nil || err.Error() != "the experiment takes TARE_TEST_MISSING from the environment, where it is not set: export it before running tare" {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	v := Variables{"OK": "1", "A-B": "1", "ZERO": "a\x00", "REF": "$1", "API_TOKEN": "abc", "DB_PASSWORD": "$DB_PASSWORD", "SSH_KEY": "", "MONKEY": "x", "PWD": "/"}
	want := []experiment.FieldError{
		{Field: "env.A-B", Message: `"A-B" is not the name of a variable: letters, digits and underscores`},
		{Field: "env.API_TOKEN", Message: "API_TOKEN looks like a secret, which would be kept in the run: write $API_TOKEN to take it from the environment of tare"},
		{Field: "env.REF", Message: `"$1" is not $NAME, the value of a variable; write $$ for a $`},
		{Field: "env.ZERO", Message: "the value has a zero byte"},
	}
	if diff := cmp.Diff(want, v.Validate("env")); diff != "" {
		t.Error(diff)
	}
}

func TestHidden(t *testing.T) {
	v := Variables{"PLAIN": "a", "REF": "$X", "DOLLAR": "$$X", "api_key": "", "KEY2": "$$", "KEYBOARD": "us", "PGPASSWORD": "", "DBPasswd2": "", "CLIENTSECRET": "", "BYPASS": "1", "PASSWORDLESS": "1", "SECRETARY": "x"}
	for name, want := range map[string]bool{"PLAIN": false, "REF": true, "DOLLAR": false, "api_key": true, "KEY2": true, "KEYBOARD": false,
		"PGPASSWORD": true, "DBPasswd2": true, "CLIENTSECRET": true, "BYPASS": false, "PASSWORDLESS": false, "SECRETARY": false} {
		if got := v.Hidden(name); got != want {
			t.Errorf("Hidden(%s): got %v, want %v", name, got, want)
		}
	}
}
