package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
)

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The meanings of a $ in the arguments of a program, and after a program whose language has a $.
func TestArguments(t *testing.T) {
	t.Setenv("TARE_TEST_A", "va$lue")
	token := file(t, "secret\n")
	tests := []struct{ args, want []string }{
		{[]string{"p", "$TARE_TEST_A", "--x=$TARE_TEST_A", "a $TARE_TEST_A-b"}, []string{"p", "va$lue", "--x=va$lue", "a va$lue-b"}},
		{[]string{"p", "$(file:" + token + ")", "Bearer $(file:" + token + ")."}, []string{"p", "secret", "Bearer secret."}},
		{[]string{"p", "$$TARE_TEST_A", "$$5", "$$(file:" + token + ")", "$TARE_TEST_A$$"}, []string{"p", "$TARE_TEST_A", "$5", "$(file:" + token + ")", "va$lue$"}},
		// Text that is no reference is kept.
		{[]string{"p", "^a$", "$1", "$(date)", "$(TARE_CONTEXT)", "$$(TARE_CONTEXT)", "$", ""}, []string{"p", "^a$", "$1", "$(date)", "$(TARE_CONTEXT)", "$$(TARE_CONTEXT)", "$", ""}},
		// Text for a shell is kept, except an argument that is only a reference.
		{[]string{"sh", "-c", "echo $HOME $$ ${X} $(date) $TARE_TEST_A", "sh", "$TARE_TEST_A", "--x=$TARE_TEST_A"},
			[]string{"sh", "-c", "echo $HOME $$ ${X} $(date) $TARE_TEST_A", "sh", "va$lue", "--x=$TARE_TEST_A"}},
		{[]string{"timeout", "5", "/bin/bash", "-ec", "$TARE_TEST_A"}, []string{"timeout", "5", "/bin/bash", "-ec", "$TARE_TEST_A"}},
		{[]string{"python3.12", "-c", "print('$TARE_TEST_A')"}, []string{"python3.12", "-c", "print('$TARE_TEST_A')"}},
		{[]string{"awk", "{print $NF}"}, []string{"awk", "{print $NF}"}},
		{[]string{"bench", "sha256", "$TARE_TEST_A"}, []string{"bench", "sha256", "va$lue"}},
	}
	for _, test := range tests {
		got, err := Arguments(test.args).Resolve(t.Context(), nil)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", test.args, err, diff)
		}
	}
	// Placeholders in the text of the file are replaced. Placeholders in a value are not.
	fill := func(s string) (string, error) { return strings.ReplaceAll(s, "va$lue", "filled"), nil }
	if got, err := (Arguments{"va$$lue", "$TARE_TEST_A"}).Resolve(t.Context(), fill); err != nil || got[0] != "filled" || got[1] != "va$lue" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"echo hi":                            {"echo", "hi"},
		"./a --x=1  $TOKEN $(file:/run/t.k)": {"./a", "--x=1", "$TOKEN", "$(file:/run/t.k)"},
		"./a 'b c'":                          {"sh", "-c", "./a 'b c'"},
		"A=1 ./a":                            {"sh", "-c", "A=1 ./a"},
		"a; b":                               {"sh", "-c", "a; b"},
		"a $(date)(":                         {"sh", "-c", "a $(date)("},
	} {
		if diff := cmp.Diff(want, Arguments(nil).Words(line)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", line, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	got := Arguments{"$P", "$A $1", "${A}", "$(file:token)", "$(file:)", "$A $B$", "sh", "-c", "cat $(file:/x)", "$(file:/x)"}.Validate("run")
	want := []experiment.FieldError{
		{Field: "run[0]", Message: "a program is named in the file, and not by $P: what runs is part of the experiment"},
		{Field: "run[1]", Message: "it is not clear who is to read which $: write $$ for each that is not $A"},
		{Field: "run[2]", Message: "${A} is not read here: write $A for the value of the variable, or $${A} for the text as it is"},
		{Field: "run[3]", Message: "$(file:token) is no absolute path: a run that is resumed reads the file again, from wherever it is then"},
		{Field: "run[4]", Message: "$(file:) is no absolute path: a run that is resumed reads the file again, from wherever it is then"},
		{Field: "run[5]", Message: "it is not clear who is to read which $: write $$ for each that is not $A, $B"},
		{Field: "run[8]", Message: "$(file:/x) stands in the text of a program that reads $ itself: give the value by env, and let the program take that variable"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Values are the values at the start of a run, even if variables and files change.
func TestTake(t *testing.T) {
	t.Setenv("TARE_TEST_A", "first")
	token := file(t, "first\r\n")
	args := Arguments{"p", "$TARE_TEST_A", "$(file:" + token + ")"}
	values, err := Take(args.References())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TARE_TEST_A", "second")
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := args.Resolve(With(t.Context(), values), nil)
	if diff := cmp.Diff([]string{"p", "first", "first"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	var each []string
	values.Each(func(r Reference, value string) { each = append(each, r.String()+"="+value) })
	if diff := cmp.Diff([]string{"$TARE_TEST_A=first", "$(file:" + token + ")=first"}, each); diff != "" {
		t.Error(diff)
	}

	dir := t.TempDir()
	_, err = Take([]Reference{{Variable: "TARE_TEST_NO"}, {Variable: "TARE_TEST_NOT"}, {File: "/no/such"}, {File: dir}, {File: file(t, "a\x00")}, {File: file(t, strings.Repeat("a", maxFile+1))}})
	for _, want := range []string{"TARE_TEST_NO, TARE_TEST_NOT from the environment", "/no/such: no such file", dir + ": is a directory", "has a zero byte", "has more than 64 KiB"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("$A$$B${C}$(file:/x)$(TARE_X)$$(TARE_X)$1", true)
	f.Fuzz(func(t *testing.T, text string, shell bool) {
		args := Arguments{"p", text}
		if shell {
			args = Arguments{"sh", "-c", text}
		}
		bad, refers := args.Validate("run"), args.References()
		if len(bad) > 0 || len(refers) > 0 {
			return
		}
		got, err := args.Resolve(t.Context(), nil)
		if last := got[len(got)-1]; err != nil || last != text && (shell || !strings.Contains(text, "$$")) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}
