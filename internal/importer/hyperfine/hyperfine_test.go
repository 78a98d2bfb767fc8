package hyperfine

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func TestAppended(t *testing.T) { importertest.Appended(t, Format, "two.json") }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format,
		`{"results":[{"command":"a","times":[1e300,-1,0]},{"command":"a","times":[1]},{"command":"a (2)","times":[1]}]}`,
		`{"results":[{"command":"","times":[1],"parameters":{"":""}},{"command":"","times":[1],"parameters":{"":""}}]}`,
	)
}

func BenchmarkRead(b *testing.B) { importertest.Benchmark(b, Format, "two.json") }

func TestArms(t *testing.T) {
	for _, c := range []struct {
		name, results string
		want          []string // ARM/CELL of each trial
	}{
		{"one command", `{"command":"a","times":[1]}`, []string{"/a"}},
		{"one run each", `{"command":"a","times":[1]},{"command":"b","times":[1]}`, []string{"a/command", "b/command"}},
		{"told apart by parameters", `{"command":"nap","times":[1],"parameters":{"d":"1"}},{"command":"nap","times":[1],"parameters":{"d":"2"}}`,
			[]string{"nap [d=1]/command", "nap [d=2]/command"}},
		{"the same twice", `{"command":"a","times":[1]},{"command":"a","times":[1]}`, []string{"a/command", "a (2)/command"}},
		{"no name", `{"times":[1]}`, []string{"/command"}},
		{"several lines", `{"command":"a \\\n\t b\u202e\u001b","times":[1]}`, []string{`/a \ b\u202e`}},
		{"long", `{"command":"` + strings.Repeat("é", 60) + `","times":[1]}`, []string{"/" + strings.Repeat("é", 50) + "…~b4a72df5"}},
	} {
		trials, err := importertest.Read(Format, "f", `{"results":[`+c.results+`]}`)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, trial := range trials {
			got = append(got, trial.Arm+"/"+trial.Cell)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// If each arm is one file, the commands are compared.
func TestAlone(t *testing.T) {
	for alone, want := range map[bool]string{true: "command", false: "zip -9"} {
		text := strings.NewReader(`{"results":[{"command":"zip -9","times":[1]}]}`)
		trials, err := Format.Read(importer.File{Name: "f", Reader: text, Alone: alone})
		if err != nil || len(trials) != 1 {
			t.Fatalf("%d trials, error %v", len(trials), err)
		}
		if trial := trials[0]; trial.Cell != want || trial.Arm != "" || trial.Facts["command"] != "zip -9" {
			t.Errorf("alone %v: cell %q of arm %q with %v, want cell %q", alone, trial.Cell, trial.Arm, trial.Facts, want)
		}
	}
}

func TestRefused(t *testing.T) {
	importertest.Refused(t, Format, [][3]string{
		{"empty", "", "the file is empty"},
		{"other JSON", `{"jobs":[]}`, "no result of hyperfine: it writes one with --export-json"},
		{"no results", `{"results":[]}`, "no results: did hyperfine run to its end?"},
		{"no times", `{"results":[{"command":"a","mean":1}]}`, `results[0] ("a"): it has no times`},
		{"exit codes missing", `{"results":[{"command":"a","times":[1,2],"exit_codes":[0]}]}`, "2 times and 1 exit codes"},
		{"memory missing", `{"results":[{"command":"a","times":[1,2],"memory_usage_byte":[0]}]}`, "2 times and 1 values of memory_usage_byte"},
		{"text for a time", `{"results":[{"command":"a","times":["1"]}]}`, `member "results.times" is text where a number is expected`},
		{"infinite", `{"results":[{"command":"a","times":[1e999]}]}`, "1e999"},
		{"hostile command", `{"results":[{"command":"\u001b[2J"}]}`, `results[0] ("\x1b[2J"): it has no times`},
		{"nesting", `{"results":` + strings.Repeat("[", 100_000), "JSON"},
	})
	importertest.Truncated(t, Format, "two.json", 700, "truncated")
}

func TestLarge(t *testing.T) {
	importertest.Large(t, Format, `{"results":[`, `{"times":[1]}]}`, `{"command":"a","times":[1]},`, `{"command":"a","parameters":{"a":"b"},"times":[1]},`)
	importertest.Large(t, Format, `{"results":[{"times":[`, `1]}]}`, "1,")
	importertest.Large(t, Format, "", "", "{", "[", `{"results":`)
}
