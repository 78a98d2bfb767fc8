package tmpl_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"tare/internal/text/tmpl"
)

var data = map[string]any{"Name": "a-1", "Index": 7, "None": "", "Zero": 0, "Yes": true, "No": false, "Half": 0.5,
	"Below": map[string]any{"Name": "b"}}

// The standard library gives the same texts.
func TestAsTextTemplate(t *testing.T) {
	for _, text := range []string{
		"", "text", "{{.Name}} {{.Index}} {{.Yes}} {{.Half}} {{.Below.Name}}",
		"{{if .Yes}}a{{else}}b{{end}}{{if .No}}a{{else if .Zero}}b{{else}}c{{end}}{{if .None}}d{{end}}",
		"{{with .Name}}<{{.}} {{$.Index}}>{{end}}{{with .None}}x{{else}}none{{end}}{{with .Below}}{{.Name}}{{end}}",
		"{{$a := .Index}}{{if .Yes}}{{$a = 8}}{{$b := 9}}{{$b}}{{end}}{{$a}}", "{{with $x := .Name}}{{$x}}{{end}}",
		"a {{- /* comment */ -}} b",
		`{{and .Yes .Name}}{{or .None .Name}}{{not .No}}{{and .No .None}}{{or .No .Zero}}{{.Name | or .None}}`,
		`{{eq .Index 7}}{{eq .Name "x" "a-1"}}{{ne .Index 7}}{{lt 1 2}}{{le 2 2}}{{gt 1.5 0.5}}{{ge "a" "b"}}{{eq .Yes true}}`,
		`{{printf "%.1f" 2.0}}{{gt 1.5 1.0}}{{print 1e3 0x1e 'a' 0b11}}{{len .Name}}{{slice .Name 1}}{{slice .Name 0 1}}{{slice .Name}}`,
		`{{printf "%03d-%s" .Index .Name}}{{print 1 "a" 2 3}}{{println "x"}}{{.Name | printf "%q"}}{{(print .Name)}}`,
	} {
		want, got := new(strings.Builder), new(strings.Builder)
		if err := template.Must(template.New("object").Parse(text)).Execute(want, data); err != nil {
			t.Fatal(text, err)
		}
		parsed, err := tmpl.Parse("object", text)
		if err != nil {
			t.Fatal(text, err)
		}
		if err := parsed.Execute(got, data); err != nil || got.String() != want.String() {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Gone}}":                      "object:1:2: .Gone: there is no .Gone",
		"\n{{.Name.Gone}}":               "there is no .Gone",
		"{{.Name 3}}":                    ".Name is not a function",
		"{{eq .Index .Name}}":            "eq: 7 and a-1 cannot be compared",
		"\n{{if .Gone}}x\ny{{end}}":      "object:2:5: .Gone: there is no .Gone",
		"{{$x = 1}}":                     "$x has no value here",
		"{{len 3}}":                      "len: the argument is not one text",
		"{{slice .Name 2 1}}":            "slice: [a-1 2 1] is not a text and two indexes in it",
		"{{slice}}":                      "slice: 0 arguments",
		"{{print 18446744073709551615}}": "is not possible here",
		"{{not}}":                        "not: 0 arguments in place of one",
		"{{printf}}":                     "printf: no format",
		"{{printf 3}}":                   `printf: "3": directives such as`,
		"{{add 1}}":                      "add: 1 arguments in place of two",
		"{{add 1 .Name}}":                "add: 1 and a-1 are not two whole numbers",
		"{{div 1 .Zero}}":                "div: 1 divided by 0",
		"{{eq 1}}":                       "eq: fewer than two arguments",
		"{{lt 1}}":                       "lt: 1 arguments in place of two",
		"{{and}}":                        "and needs an argument",
		"{{(.Below).No}}":                "is not possible here",
	} {
		p, err := tmpl.Parse("object", text)
		if err != nil {
			t.Fatal(text, err)
		}
		if err := p.Execute(new(strings.Builder), data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"{{unknown 1}}": `object:1: function "unknown" not defined`,
		"\n{{if .Yes}}{{range .Name}}{{end}}{{end}}": "line 2: range is not possible: a template has no loops",
		`{{template "object"}}`:                      "line 1: a template cannot call others",
		`{{define "a"}}{{end}}`:                      "a template cannot define others",
	} {
		if _, err := tmpl.Parse("object", text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzExecute checks that no template makes an execution fail in another way than by an error.
func FuzzExecute(f *testing.F) {
	f.Add(`{{with $x := .Name | printf "%s"}}{{$x}}{{else}}{{.Index}}{{end}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := tmpl.Parse("object", text); err == nil {
			_ = p.Execute(new(strings.Builder), data)
		}
	})
}

// One import of text/template or html/template in the product would make tare 15 MB larger.
func TestNowhereElse(t *testing.T) {
	for _, root := range []string{"../../../internal", "../../../cmd"} {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			for _, i := range file.Imports {
				if i.Path.Value == `"text/template"` || i.Path.Value == `"html/template"` {
					t.Errorf("%s imports %s: use tmpl", path, i.Path.Value)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
