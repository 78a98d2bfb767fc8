package table

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment/strictyaml"
	"tare/internal/importer"
	"tare/internal/importer/importertest"
	"tare/internal/test/golden"
)

// example returns the format of a mapping in examples/import.
func example(t testing.TB, name string) importer.Format {
	t.Helper()
	file := filepath.Join("..", "..", "..", "examples", "import", name+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return format(t, string(text))
}

// format returns the format of a mapping.
func format(t testing.TB, mapping string) importer.Format {
	t.Helper()
	f, err := Format.Mapped("map.yaml", []byte(mapping))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Every mapping in examples/import reads the files that it is made for.
func TestExamples(t *testing.T) {
	maps, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "import", "*.yaml"))
	if err != nil || len(maps) == 0 {
		t.Fatalf("%d mappings, error %v", len(maps), err)
	}
	for _, file := range maps {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			fixtures, err := filepath.Glob(filepath.Join("testdata", name+".*"))
			if err != nil {
				t.Fatal(err)
			}
			read := 0
			for _, fixture := range fixtures {
				if strings.HasSuffix(fixture, ".golden") {
					continue
				}
				read++
				trials, err := importertest.Read(example(t, name), fixture, importertest.Fixture(t, filepath.Base(fixture)))
				var got bytes.Buffer
				if err != nil {
					t.Fatal(err)
				}
				importertest.Print(&got, trials)
				golden.Check(t, fixture+".golden", got.Bytes())
			}
			if read != 1 {
				t.Errorf("%d fixtures", read)
			}
		})
	}
}

const plain = `
apiVersion: tare/v1alpha1
kind: Table
metrics:
  - {field: ms, name: latency, unit: s, times: 1e-3, better: lower}
  - {field: lost, name: lost, better: lower, scale: difference}
`

// The same values in the three forms give the same trials.
func TestForms(t *testing.T) {
	f := format(t, plain)
	for _, text := range []string{
		"ms,lost\n12.5,0\n", "ms;lost\r\n12.5;0\r\n", "ms\tlost\n12.5\t0\n", "\ufefflost,other,ms\n0,x,12.5\n",
		"# a comment\nexport ms='12.5'\nlost=0\n", `{"ms": 12.5, "lost": 0}`, `[{"ms": "12.5", "lost": 0}]`,
	} {
		trials, err := importertest.Read(f, "f", text)
		if err != nil || len(trials) != 1 || len(trials[0].Values) != 2 || trials[0].Cell != "results" {
			t.Errorf("%q: %+v, error %v", text, trials, err)
			continue
		}
		values := map[string]float64{}
		for _, v := range trials[0].Values {
			values[v.Metric.Name] = v.Value
		}
		if values["latency"] != 0.0125 || values["lost"] != 0 {
			t.Errorf("%q: %v", text, values)
		}
	}
}

// Rows may be elements of a list in the document, or documents one after the other.
func TestRows(t *testing.T) {
	f := format(t, "rows: all.runs\n"+strings.TrimPrefix(plain, "\n")+"arm: who\nround: n\n")
	trials, err := importertest.Read(f, "f", `{"all": {"runs": [{"ms": 1, "who": "a", "n": 1}, {"ms": 2, "who": "b", "n": 1}]}} {"all": {"runs": {"ms": 3, "who": "a", "n": 2}}}`)
	if err != nil || len(trials) != 3 {
		t.Fatalf("%+v, error %v", trials, err)
	}
	if last := trials[2]; last.Arm != "a" || last.Round != 2 || last.Values[0].Value != 0.003 {
		t.Errorf("%+v", last)
	}
}

func TestRefused(t *testing.T) {
	f := format(t, strings.TrimPrefix(plain, "\n")+"arm: who\nround: n\nstart: at\nparse: {who: '^(?P<first>.)'}\nlevels: {qps: q}\n")
	const header = "ms,who,n,at,q\n"
	importertest.Refused(t, f, [][3]string{
		{"empty", " \n", "the file is empty"},
		{"no text", "\x00", "the file holds NUL bytes"},
		{"no rows", header, "the file has no rows"},
		{"a column twice", "a,a\n1,2\n", `line 1: the column a is there twice`},
		{"ragged", header + "1,2\n", "wrong number of fields"},
		{"UTF-16", "\xff\xfem\x00", "the file is in UTF-16"},
		{"a quote", header + "1,a\"b,1,0,1\n", "line 2, column 4: a quote inside a field that is not quoted"},
		{"blank lines before", "\n\n" + header + "fast,a,1,0,1\n", `line 4, column 1: ms: latency: "fast" is not a number`},
		{"a key twice", "a=1\na=2\n", "line 2: a is there twice"},
		{"no assignment", "a=1\nhello\n", `line 2 is "hello", not KEY=VALUE`},
		{"truncated", `{"ms": 1`, "the JSON document has no end"},
		{"no field", "ms,n\n1,1\n", "line 2: there is no field who: there are ms, n"},
		{"no match", "ms,who,n\n1,,1\n", `line 2, column 3: who: "" does not match the expression under parse`},
		{"no match behind one", "ms,who,n,at,q\n1,a,1,0,1\n1,,2,0,1\n", `line 3, column 3: who: "" does not match the expression under parse`},
		{"no round", header + "1,a,x,0,1\n", `line 2, column 5: n: "x" is not a number of a round`},
		{"no start", header + "1,a,1,soon,1\n", `line 2, column 7: at: "soon" is neither a time`},
		{"no level", header + "1,a,1,0,\n", "line 2, column 9: q: the level of qps is missing"},
		{"no number", header + "fast,a,1,0,1\n", `line 2, column 1: ms: latency: "fast" is not a number`},
		{"no metric", "us,who,n,at,q\n1,a,1,0,1\n", "no field is one of the metrics: there are us, who, n, at, q, first"},
	})
	importertest.Refused(t, format(t, "arm: first\nparse: {who: '^(?P<first>.)'}\n"+plain), [][3]string{
		{"an arm that one row does not tell", "ms,who\n1,a\n1,\n", `line 3, column 3: who: "" does not match the expression under parse`},
	})
	importertest.Refused(t, format(t, "rows: runs\n"+plain), [][3]string{{"no list", `{"run": []}`, "there is no runs, where the rows are to be: there are run"}})
}

// Numbers are read as in the long CSV: a comma may be the decimal point if semicolons separate fields, and a
// possible thousands separator is an error. Rows of one arm, cell and round are one trial, with one value of
// each metric.
func TestLikeLong(t *testing.T) {
	f := format(t, plain+"round: n\n")
	for text, want := range map[string]string{
		"ms;lost;n\n12,5;0;1\n":                 "1 0.0125 0",
		"ms;lost;n\n990;0;1\n1.021;0;2\n":       `error: line 3, column 1: ms: "1.021" may be a thousand times as much`,
		"ms,lost,n\n\"1,021\",0,1\n":            `error: line 2, column 1: ms: latency: "1,021" is not a number: write it without thousands separators`,
		"ms,lost,n\n1,0,1\n2,0,1\n":             "error: line 3, column 1: ms: latency has a value for this arm, cell and round in line 2 already",
		"ms,lost,n\n1,0,\n":                     "error: line 2, column 5: n: the number of the round is missing",
		`{"ms": 1, "n": 3} {"lost": 2, "n": 3}`: "3 0.001 2",
		`{"ms": 1, "n": 3} {"ms": 2, "n": 3}`:   "error: row 2: ms: latency has a value for this arm, cell and round in row 1 already",
	} {
		trials, err := importertest.Read(f, "f", text)
		got := fmt.Sprintf("error: %v", err)
		if err == nil {
			got = ""
		}
		for _, trial := range trials {
			got += fmt.Sprint(trial.Round)
			for _, v := range trial.Values {
				got += fmt.Sprint(" ", v.Value)
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A missing value of a headline makes its trial invalid.
func TestMissing(t *testing.T) {
	for _, text := range []string{"", "-", "null", "NaN", "n/a"} {
		trials, err := importertest.Read(format(t, plain), "f", "ms,lost\n"+text+",1\n")
		if err != nil || len(trials) != 1 || trials[0].Broken != "there is no value of latency" || len(trials[0].Values) != 1 {
			t.Errorf("%q: %+v, error %v", text, trials, err)
		}
	}
}

func TestMappings(t *testing.T) {
	for _, c := range [][2]string{
		{"", "the file is empty"},
		{"apiVersion: tare/v1alpha1\nkind: Experiment\nmetrics: []\n", "kind"},
		{"apiVersion: tare/v1alpha1\nkind: Table\n", "metrics is missing"},
		{strings.Replace(plain, "field: ms", "field: '(ms'", 1), "missing closing )"},
		{strings.Replace(plain, "field: ms", "field: '(?P<arm>ms)'", 1), `the expression has the group "arm"`},
		{strings.Replace(plain, "better: lower}", "better: fast}", 1), "better"},
		{strings.Replace(plain, "scale: difference", "scale: difference, headline: true", 1), "a metric on the scale difference cannot be a headline"},
		{plain + "parse: {who: 'x'}\n", "the expression has no named group"},
		{plain + "parse: {who: '('}\n", "missing closing )"},
		{strings.Replace(plain, "times: 1e-3", "times: 0", 1), "times"},
		{plain + "colour: red\n", "colour"},
	} {
		_, err := Format.Mapped("map.yaml", []byte(c[0]))
		var problems *strictyaml.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s\nthe error is %v, want %q", c[0], err, c[1])
		}
	}
}

// FuzzRead reads any file with any mapping.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"infrabuilder.results", "istio-perf.csv", "constellation.json", "k8s-netperf-loss.csv"} {
		file := filepath.Join("..", "..", "..", "examples", "import", strings.TrimSuffix(name, filepath.Ext(name))+".yaml")
		mapping, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(mapping), importertest.Fixture(f, name))
	}
	f.Add(plain, "ms,lost\n1,2\n")
	f.Fuzz(func(t *testing.T, mapping, text string) {
		format, err := Format.Mapped("map.yaml", []byte(mapping))
		if err != nil {
			return
		}
		if trials, err := importertest.Read(format, "f", text); err == nil {
			importertest.Check(t, trials)
		}
	})
}

func TestLarge(t *testing.T) {
	f := format(t, plain)
	importertest.Large(t, f, "ms,lost\n", "", "1,2\n")
	importertest.Large(t, f, "ms=1\n", "", "k=1\n")
	importertest.Large(t, f, "[", "1]", "1,")
	importertest.Large(t, f, "", "", `{"a":`)
}

func BenchmarkRead(b *testing.B) {
	importertest.Benchmark(b, example(b, "istio-perf"), "istio-perf.csv")
}
