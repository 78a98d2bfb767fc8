package jsondoc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// result is the wanted document: one with jobs.
type result struct {
	Jobs  []int `json:"jobs"`
	Inner struct {
		Rate float64 `json:"rate"`
	} `json:"inner"`
}

const none = "no result of the tool"

func firstResult(text string) (*result, error) {
	return First(strings.NewReader(text), func(r *result) bool { return r.Jobs != nil }, none)
}

func second(at int) string {
	return fmt.Sprintf("a second document follows at byte %d: one file is one trial; split it", at)
}

func TestFirst(t *testing.T) {
	const cut = "the JSON document has no end: the file is truncated"
	for _, test := range []struct {
		name, text string
		want       int
		err        string
	}{
		{name: "alone", text: `{"jobs": [1]}`, want: 1},
		{name: "byte order mark", text: "\ufeff" + `{"jobs": [1]}`, want: 1},
		{name: "indented", text: "\n \t{\"jobs\": [1]}\n", want: 1},
		{name: "warnings", text: "fio: job {x} will take [long]\n{\"jobs\": [1]}\n", want: 1},
		{name: "bracket at the start of a line", text: "[WARN] low disk\n{not json}\n{\"jobs\": [1]}\n", want: 1},
		{name: "logs in JSON", text: "{\"level\": \"info\"}\n{\"level\": \"warn\"}\n{\"jobs\": [1]}\n", want: 1},
		{name: "logs on the same line", text: `{"level": "info"} {"jobs": [1]}`, want: 1},
		{name: "logs with a member of that name", text: "{\"jobs\": \"done\"}\n{\"jobs\": [1]}\n", want: 1},
		{name: "a list before", text: "[{\"jobs\": [2]}]\n{\"jobs\": [1]}\n", want: 1},
		{name: "text follows", text: "{\"jobs\": [1]}\nbye {\n", want: 1},
		{name: "a log follows", text: "{\"jobs\": [1]}\n{\"level\": \"info\"}\n{\"jobs\": \"done\"}\n", want: 1},
		{name: "what is cut off follows", text: "{\"jobs\": [1]}\n{\"jobs\": ", err: "after the result, at byte 15: " + cut},
		{name: "what is malformed follows", text: "{\"jobs\": [1]}\n{\"jobs\" 1}", err: "after the result, at byte 15: not valid JSON: invalid character '1' after object key"},
		{name: "two in a line", text: `{"jobs": [1]} {"jobs": [2]}`, err: second(15)},
		{name: "two lines", text: "{\"jobs\": [1]}\n{\"jobs\": [2]}", err: second(15)},
		{name: "two behind logs", text: "\ufefflog\n{\"a\": 1}\n{\"jobs\": [1]}\nlog\n {\"a\": 1}\n\n{\"jobs\": [2]}", err: second(46)},
		{name: "two far apart", text: "{\"jobs\": [1]}\n" + strings.Repeat("log\n", chunk) + "{\"jobs\": [2]}\n{\"jobs\": [3]}", err: second(15 + 4*chunk)},
		{name: "two of which one is long", text: "{\"jobs\": [1" + strings.Repeat(" ", 3*chunk) + "]}\n{\"jobs\": [2]}", err: second(15 + 3*chunk)},
		{name: "the second of the wrong kind", text: "{\"jobs\": [1]}\n{\"jobs\": [2], \"inner\": {\"rate\": []}}", err: second(15)},
		{name: "inside another", text: "{\"a\":\n{\"jobs\": [1]}\n}", err: none},
		{name: "another tool's", text: "x\n{\"metrics\": {}}", err: none},
		{name: "null", text: `{"jobs": null}`, err: none},
		{name: "truncated", text: "log\n{\"jobs\": [1, 2", err: cut},
		{name: "truncated behind logs", text: "{\"level\": \"info\"}\n{\"jobs\": [\n{\"a\": 1},\n{\"b\"", err: cut},
		{name: "a list left open", text: "[\n{\"jobs\": [1]}\n", err: cut},
		{name: "empty", err: "the file is empty"},
		{name: "blank", text: "\n \n", err: "the file is empty"},
		{name: "text", text: "connection refused\n", err: none},
		{name: "NUL bytes", text: strings.Repeat("\x00", 1000), err: none},
		{name: "an empty list", text: "[]", err: none + "; in the JSON that there is, the JSON is a list where an object is expected"},
		{name: "numbers", text: "[1]", err: none},
		{name: "brackets on each line", text: strings.Repeat("[\n", 200_000), err: cut},
		{name: "objects on each line", text: strings.Repeat("{\"a\":\n", 50_000), err: "not valid JSON: invalid character '{' exceeded max depth"},
		{name: "wrong kind", text: `{"jobs": "three"}`, err: none + `; in the JSON that there is, member "jobs" is text where a list is expected`},
		{name: "wrong kind inside", text: `{"jobs": [1], "inner": {"rate": []}}`, err: `member "inner.rate" is a list where a number is expected`},
		{name: "wrong kind before", text: `{"inner": {"rate": "x"}, "jobs": [1]}`, err: `member "inner.rate" is text where a number is expected`},
		{name: "out of range", text: `{"jobs": [1], "inner": {"rate": 1e999}}`, err: `member "inner.rate" is a number 1e999 where a number is expected`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := firstResult(test.text)
			switch {
			case test.err == "" && (err != nil || got.Jobs[0] != test.want):
				t.Errorf("%+v (%v), want jobs [%d]", got, err, test.want)
			case test.err != "" && fmt.Sprint(err) != test.err:
				t.Errorf("the error is %v, want %s", err, test.err)
			}
		})
	}
}

// FuzzFirst checks that the returned document is wanted, and that the result does not depend on the pieces in
// which a file is read.
func FuzzFirst(f *testing.F) {
	for _, text := range []string{`{"jobs": [1]}`, "[WARN]\n{\"jobs\": [1]}", "{\"a\": 1}\n[{\"jobs\": {}}]", "{\"jobs\": [1,", "{\"jobs\": [1]}\n{} {\"jobs\": [2]}", "[[[[", "\ufeff\n{"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := firstResult(text)
		if err == nil && once.Jobs == nil {
			t.Errorf("%+v is not wanted and is taken from %q", once, text)
		}
		again, errAgain := First(iotest.OneByteReader(strings.NewReader(text)), func(r *result) bool { return r.Jobs != nil }, none)
		if fmt.Sprint(err) != fmt.Sprint(errAgain) || err == nil && !slices.Equal(once.Jobs, again.Jobs) {
			t.Errorf("read at once, %q gives %v, and byte by byte %v", text, err, errAgain)
		}
	})
}
