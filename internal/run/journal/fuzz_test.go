package journal

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// fuzzFile reads a run in which one file has arbitrary bytes. Reading always ends, and a second reading has the same
// result.
func fuzzFile(f *testing.F, name string, seeds ...string) {
	j := create(f)
	record(f, j, 1)
	if err := j.SetRounds(9, "the pilot asks for 9"); err != nil {
		f.Fatal(err)
	}
	dir := j.Dir()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	body, _ := unseal(content)
	f.Add(append(body, '}'))
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		one, err := Open(dir)
		other, again := Open(dir)
		if (err == nil) != (again == nil) || !reflect.DeepEqual(one, other) {
			t.Errorf("read as %+v, %v, and then as %+v, %v", one, err, other, again)
		}
		if err == nil && (one.notesEnd > int64(len(data)) && name == NotesFile || one.session() < 0) {
			t.Errorf("%d bytes of notes in %d", one.notesEnd, len(data))
		}
	})
}

func FuzzNotes(f *testing.F) {
	fuzzFile(f, NotesFile, `{"schema":"tare.note/v1","kind":"session","session":-1}`,
		`{"schema":"tare.note/v1","kind":"finished","trials":-1,"files":{"../x":"","/etc/passwd":"0"}}`)
}

func FuzzPlan(f *testing.F) {
	fuzzFile(f, PlanFile, `{"schema":"tare.plan/v1"}`, `{"schema":"tare.plan/v1","cells":[{"expected":1e99}],"arms":null}`)
}
