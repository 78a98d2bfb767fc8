package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStrict(t *testing.T) {
	var distinct []string
	for n := range 3 * smallObject {
		distinct = append(distinct, fmt.Sprintf(`"k%d":{"a":"}"}`, n))
	}
	many := strings.Join(distinct, ",")
	for document, want := range map[string]string{
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}`: "",
		`{"a":"a","b":"\"a\":","c":["a","a"]}`:      "",
		`{"x":{"a":1,"A":1}}`:                       "", // names that users gave
		`[{"a":1},"a","a"]`:                         "",
		`"a"`:                                       "",
		`{"a":1,"a":1}`:                             `the member "a" is there twice`,
		`{"arm":1,"\u0061rm":2}`:                    `the member "arm" is there twice`,
		`{"arm":1,"Arm":2}`:                         `the member "Arm" is there twice`,
		`{"mask":1,"maſK":2}`:                       `is there twice`,
		`{"x":[[{"y":{"":1,"":2}}]]}`:               `the member "" is there twice`,
		`{` + many + `}`:                            "",
		`{` + many + `,"K1":0}`:                     `the member "K1" is there twice`,
		`{"x":{` + many + `,"K1":0}}`:               "",
		`{"x":{` + many + `,"k70":0}}`:              `the member "k70" is there twice`,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth):             "",
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1):         "more than 64 levels deep",
		`{"a":` + strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1001): "more than 64 levels deep",
	} {
		got := ""
		if err := strict([]byte(document)); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.60s: %q, want %q", document, got, want)
		}
	}
}

// TestDoubledMembers: a repeated member is damage in every file, even if the record has no chain.
func TestDoubledMembers(t *testing.T) {
	for file, change := range map[string][2]string{
		TrialsFile:      {`"round":2`, `"round":2,"round":3`},
		NotesFile:       {`"kind":"remark"`, `"kind":"finished","kind":"remark"`},
		PlanFile:        {`"rounds": 6`, `"rounds": 6, "Rounds": 3`},
		EnvironmentFile: {`"model": "Example 9000"`, `"model": "Example 9000", "model": "Example 1"`},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			j := create(t)
			record(t, j, 1)
			record(t, j, 2)
			must(t, errors.Join(j.Note("a remark"), j.Close()))
			edit := func(name string, change func(string) string) {
				path := filepath.Join(j.Dir(), name)
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				write(t, path, []byte(change(string(content))))
			}
			older(t, j.Dir())
			edit(file, func(text string) string {
				if !strings.Contains(text, change[0]) {
					t.Fatalf("no %s in %s", change[0], text)
				}
				return strings.Replace(text, change[0], change[1], 1)
			})
			_, err := Open(j.Dir())
			var damage *DamageError
			if !errors.As(err, &damage) || damage.Dir != j.Dir() || !strings.Contains(damage.What, "is there twice") {
				t.Errorf("got %v, want damage", err)
			}
		})
	}
}
