package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/run/machine/owned"
)

func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte("#!/bin/sh\n"), mode))
		return path
	}
	first, second := write("a/tool", 0o755), write("b/tool", 0o755)
	write("c/tool", 0o644)
	in := func(names ...string) []string {
		for i, n := range names {
			if !strings.HasPrefix(n, "./") {
				names[i] = filepath.Join(dir, n)
			}
		}
		return []string{"PATH=/overridden", "PATH=" + strings.Join(names, ":")}
	}
	cases := []struct {
		name, program string
		env           []string
		want, err     string
	}{
		{"first of two", "tool", in("a", "b"), first, ""},
		{"the other order", "tool", in("b", "a"), second, ""},
		{"behind one that may not be executed", "tool", in("c", "b"), second, ""},
		{"only one that may not be executed", "tool", in("c"), "", dir + "/c/tool: may not be executed: permission denied"},
		{"with a slash", "./x/tool", in("a"), "./x/tool", ""},
		{"relative to the working directory", "tool", in("./a"), first, ""},
		{"nowhere", "tool", in("d"), "", "tool: executable file not found in $PATH in PATH=" + dir + "/d; is it installed? (see tare doctor)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := lookUp(c.program, dir, c.env)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%q, %v; want %q, %s", got, err, c.want, c.err)
			}
		})
	}
}

func TestEnvironmentKeepsTheUserNamespaceToItself(t *testing.T) {
	t.Setenv(UserNamespaceVariable, "1")
	t.Setenv("TARE_TEST", "old")
	self, err := owned.This()
	if err != nil {
		t.Fatal(err)
	}
	env := environment([]string{"TARE_TEST=new"}, marker{owner: self, bed: 4, serial: 5})
	if slices.Contains(env, UserNamespaceVariable+"=1") {
		t.Error("commands see that Tare is in a user namespace")
	}
	if slices.Index(env, "TARE_TEST=new") < slices.Index(env, "TARE_TEST=old") {
		t.Error("the testbed's own variable stands behind the command's")
	}
	want := []string{"TARE_OWNER=" + self.String(), "TARE_PROCESS=4-5"}
	if got := env[len(env)-2:]; !slices.Equal(got, want) {
		t.Errorf("marker %q, want %q", got, want)
	}
}
