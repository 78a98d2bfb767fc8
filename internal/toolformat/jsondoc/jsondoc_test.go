package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// documents decodes all documents of a text.
func documents(r io.Reader) (docs []string, err error) {
	all := New(r)
	err = all.Each(func(d *json.Decoder) error {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return Explain(err)
		}
		docs = append(docs, string(raw))
		return nil
	})
	if err != nil && err.Error() == "the file is empty" {
		return []string{"blank"}, nil
	}
	return docs, err
}

func TestDocuments(t *testing.T) {
	long := strings.Repeat("x", 3*chunk)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"blank"}},
		{"white space", " \r\n\t\n", []string{"blank"}},
		{"text only", "fio: failed\n[global]\n[  5] local\n{not json\n", nil},
		{"one", `{"a": 1}`, []string{`{"a": 1}`}},
		{"an empty one", "{ }\n[ ]\n", []string{"{ }", "[ ]"}},
		{"indented", "  {\n\n      \"a\": 1\n}\n", []string{"{\n\n      \"a\": 1\n}"}},
		{"a list", "PVC created x\n[\n  {\"a\": 1}\n]\n", []string{"[\n  {\"a\": 1}\n]"}},
		{"a byte order mark", "\ufeff{\"a\": 1}", []string{`{"a": 1}`}},
		{"text around", "note: {\"b\": 2}\n{\"a\": 1}\nfio: done {\"c\": 3}\n", []string{`{"a": 1}`}},
		{"several", "{\"a\": 1}\n{\"a\": 2}\n\nwarning\n {\"a\": 3}\n", []string{`{"a": 1}`, `{"a": 2}`, `{"a": 3}`}},
		{"right behind", `{"a": 1}{"a": 2}`, []string{`{"a": 1}`, `{"a": 2}`}},
		{"a long line", long + "\n{\"a\": 1}\n" + long + "\n{\"a\": 2}", []string{`{"a": 1}`, `{"a": 2}`}},
		{"a long document", `{"a": "` + long + "\"}\n{\"a\": 2}", []string{`{"a": "` + long + `"}`, `{"a": 2}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.text), "in bytes": iotest.OneByteReader(strings.NewReader(c.text)),
				"with the end": iotest.DataErrReader(strings.NewReader(c.text)),
			} {
				got, err := documents(r)
				if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") {
					t.Errorf("%s: the documents are %.200q (%v), want %.200q", how, got, err, c.want)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		r    io.Reader
		want string
	}{
		{"no end", strings.NewReader("x\n{\"a\": "), "the JSON document has no end: the file is truncated"},
		{"a brace at the end", strings.NewReader("x\n{"), "the JSON document has no end: the file is truncated"},
		{"not valid", strings.NewReader(`{"a" 1}`), "not valid JSON: invalid character '1' after object key"},
		{"broken at once", iotest.ErrReader(broken), "broken"},
		{"broken after text", io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(broken)), "broken"},
		{"broken within", io.MultiReader(strings.NewReader(`{"a": `), iotest.ErrReader(broken)), "broken"},
		{"never anything", never{}, "multiple Read calls return no data or error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if docs, err := documents(c.r); err == nil || err.Error() != c.want {
				t.Errorf("the documents are %q and the error is %v, want %s", docs, err, c.want)
			}
		})
	}
}

type never struct{}

func (never) Read([]byte) (int, error) { return 0, nil }

func TestExplain(t *testing.T) {
	var into struct {
		A struct {
			B float64
			C []string
			D string
			E bool
		}
	}
	for text, want := range map[string]string{
		`{"A": {"B": "x"}}`:   `member "A.B" is text where a number is expected`,
		`{"A": {"B": 1e999}}`: `member "A.B" is a number 1e999 where a number is expected`,
		`{"A": {"C": 1}}`:     `member "A.C" is a number where a list is expected`,
		`{"A": {"D": {}}}`:    `member "A.D" is an object where text is expected`,
		`{"A": {"E": []}}`:    `member "A.E" is a list where true or false is expected`,
		`{"A": true}`:         `member "A" is true or false where an object is expected`,
		`[]`:                  `the JSON is a list where an object is expected`,
	} {
		if got := Explain(json.Unmarshal([]byte(text), &into)); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	if got := Explain(nil); got != nil {
		t.Error(got)
	}
}

// The time to read a stream of events grows only with its length.
func BenchmarkEvents(b *testing.B) {
	text := strings.Repeat(`{"event":"interval","data":{"sum":{"bytes":12345678,"seconds":1.000123}}}`+"\n", 1<<14)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if docs, err := documents(strings.NewReader(text)); err != nil || len(docs) != 1<<14 {
			b.Fatal(len(docs), err)
		}
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add("note\n{\"a\": 1}\n{\"b\": [2]}")
	f.Add("[\n{}]\n\ufeff{\n\n}")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := documents(strings.NewReader(text))
		again, errAgain := documents(iotest.OneByteReader(strings.NewReader(text)))
		if strings.Join(once, "|") != strings.Join(again, "|") || (err == nil) != (errAgain == nil) {
			t.Errorf("read at once, the documents are %q (%v), and byte by byte %q (%v)", once, err, again, errAgain)
		}
	})
}
