package importer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tare/importer"
)

func TestSkipToJSON(t *testing.T) {
	for _, test := range []struct {
		name, text, want, err string
	}{
		{name: "alone", text: `{"jobs": 1}`, want: `{"jobs": 1}`},
		{name: "array", text: `[{"jobs": 1}, 2]`, want: `[{"jobs": 1}, 2]`},
		{name: "byte order mark", text: "\ufeff" + `{"jobs": 1}`, want: `{"jobs": 1}`},
		{name: "indented", text: "\n \t{\"jobs\": 1}\n", want: `{"jobs": 1}`},
		{name: "warnings", text: "fio: job {x} will take [long]\n{\"jobs\": 1}\n", want: `{"jobs": 1}`},
		{name: "bracket at the start of a line", text: "[WARN] low disk\n{not json}\n{\"jobs\": 1}\n", want: `{"jobs": 1}`},
		{name: "bracket left open", text: "[\n{\"jobs\": 1}\n", want: `{"jobs": 1}`},
		{name: "logs in JSON", text: "{\"level\": \"info\"}\n{\"level\": \"warn\"}\n{\"jobs\": 1}\n", want: `{"jobs": 1}`},
		{name: "logs on the same line", text: `{"level": "info"} {"jobs": 1}`, want: `{"jobs": 1}`},
		{name: "text follows", text: "{\"jobs\": 1}\nbye {\n", want: `{"jobs": 1}`},
		{name: "inside another", text: "{\"a\":\n{\"jobs\": 1}\n}", err: "the JSON in line 1 is not what this format reads"},
		{name: "another tool's", text: "x\n{\"metrics\": {}}", err: "the JSON in line 2 is not what this format reads"},
		{name: "truncated", text: "log\n{\"jobs\": [1, 2", err: "begins in line 2 has no end: the file is truncated"},
		{name: "truncated behind logs", text: "{\"level\": \"info\"}\n{\"jobs\": [\n{\"a\": 1},\n{\"b\"", err: "begins in line 2 has no end"},
		{name: "empty", text: "", err: "no JSON document"},
		{name: "text", text: "connection refused\n", err: "no JSON document"},
		{name: "NUL bytes", text: strings.Repeat("\x00", 1000), err: "no JSON document"},
		{name: "empty array", text: "[]", err: "the JSON in line 1"},
		{name: "array of numbers", text: "[1]", err: "the JSON in line 1"},
		{name: "quadratic", text: strings.Repeat("[\n", 200_000), err: "no JSON document that can be told"},
		{name: "quadratic with objects", text: strings.Repeat("{\"a\":\n", 50_000), err: "no JSON document that can be told"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := importer.SkipToJSON([]byte(test.text), importer.HasMembers("jobs"))
			checkError(t, err, test.err)
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestReadJSON(t *testing.T) {
	type document struct {
		Jobs  int `json:"jobs"`
		Inner struct {
			Rate float64 `json:"rate"`
		} `json:"inner"`
	}
	for _, test := range []struct {
		name, text, err string
		want            int
	}{
		{name: "read", text: `{"jobs": 3}`, want: 3},
		{name: "empty", err: "the file is empty"},
		{name: "wrong type", text: `{"jobs": "three"}`, err: `member "jobs" holds string where int is expected`},
		{name: "wrong type inside", text: `{"jobs": 1, "inner": {"rate": []}}`, err: `member "inner.rate" holds array where float64 is expected`},
		{name: "out of range", text: `{"jobs": 1, "inner": {"rate": 1e999}}`, err: "1e999"},
		{name: "too large", text: strings.Repeat(" ", importer.Limit+1), err: "the file is larger than 64 MB, the most that is read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d document
			err := importer.ReadJSON(strings.NewReader(test.text), &d, "jobs")
			checkError(t, err, test.err)
			if err == nil && d.Jobs != test.want {
				t.Errorf("%d jobs, want %d", d.Jobs, test.want)
			}
		})
	}
}

// FuzzSkipToJSON checks that whatever is found is JSON and was accepted.
func FuzzSkipToJSON(f *testing.F) {
	for _, text := range []string{`{"jobs": 1}`, "[WARN]\n{\"jobs\": 1}", "{\"a\": 1}\n[{\"jobs\": {}}]", "{\"jobs\": [1,", "[[[[", "\ufeff\n{"} {
		f.Add([]byte(text))
	}
	accept := importer.HasMembers("jobs")
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := importer.SkipToJSON(data, accept)
		if err == nil && (!json.Valid(doc) || !accept(doc)) {
			t.Errorf("%q is taken from %q", doc, data)
		}
	})
}

// checkError checks an error's text; "" wants none.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error %q, want %q in it", err, want)
	}
}
