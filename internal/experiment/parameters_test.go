package experiment

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/strictyaml"
)

func TestWithEnvironment(t *testing.T) {
	const file = "name: a # ä\nparameters:\n  REVISION: &revision default # ä\n  QUOTED: &quoted \"1.0\"\n  SINGLE: &single 'b c'\n  WORDS: &words a b\n  PLAIN: &plain x\nuses: [*revision, *quoted, *single, *words, *plain]\n"
	environment := map[string]string{"REVISION": "asm-1-27", "QUOTED": `a"b: #c`, "SINGLE": "", "WORDS": "ä", "OTHER": "y", "PLAIN": "x"}
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	for _, text := range []string{file, strings.ReplaceAll(file, "\n", "\r\n"), "\xef\xbb\xbf" + file} {
		got, replaced, err := WithEnvironment("f", []byte(text), lookup)
		if err != nil {
			t.Fatal(err)
		}
		read := strictyaml.Read("f", got)
		values := map[string]string{}
		for i, n := range read.Root.Get("uses").Items {
			values[[]string{"REVISION", "QUOTED", "SINGLE", "WORDS", "PLAIN"}[i]] = n.Value
		}
		want := maps.Clone(environment)
		delete(want, "OTHER")
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("%s\n%s", diff, got)
		}
		if len(replaced) != 4 || replaced[0] != (Replaced{"REVISION", "asm-1-27"}) {
			t.Errorf("replaced: %v", replaced)
		}
	}
	for _, text := range []string{"", "a: [", "parameters: 3", "parameters: {A: [1]}", "parameters:\n  A: |\n    text\n"} {
		if got, replaced, err := WithEnvironment("f", []byte(text), func(string) (string, bool) { return "v", true }); err != nil || string(got) != text || replaced != nil {
			t.Errorf("%q: %q, %v, %v", text, got, replaced, err)
		}
	}
	_, _, err := WithEnvironment("f", []byte(file), func(string) (string, bool) { return "a\nb", true })
	if err == nil || err.Error() != "f:3:23: the variable REVISION of the environment has control characters" {
		t.Errorf("%v", err)
	}
}
