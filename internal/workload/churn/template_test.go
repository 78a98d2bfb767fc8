package churn

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
)

func TestTemplates(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	for _, c := range []struct{ name, text, want string }{
		{"all values", head + "data: {a: '{{.Index}} {{.Name}} {{.Namespace}} {{.Objects}} {{.Revision}}'}", `"a":"1 churn-1-1 tare 2 1"`},
		{"arithmetic", head + "data: {a: '{{add .Index 2}} {{sub .Index 2}} {{mul .Index 5}} {{div 7 2}} {{mod 7 4}}'}", `"a":"3 -1 5 3 3"`},
		{"conditions", head + "data: {a: '{{if eq (mod .Index 2) 1}}odd{{else}}even{{end}}'}", `"a":"odd"`},
		{"formats", head + `data: {a: '{{printf "%05d|%s" .Index .Name}}'}`, `"a":"00001|churn-1-1"`},
		{"a separator before", "---\n# comment\n" + head, `"name":"churn-1-1"`},
		{"its own name", head + "metadata: {name: '{{.Name}}', namespace: '{{.Namespace}}'}", `"namespace":"tare"`},
		{"large numbers", head + "spec: {count: 9007199254740993}", `"count":9007199254740993`},
		{"what has it removed", head, `"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"deadline","uid":"u"}]`},
		{"labels stay", head + "metadata: {labels: {app: x}}", `"app":"x"`},
	} {
		s, err := Template{Inline: strictyaml.Document(c.text)}.compile()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		v := values{Index: 1, Name: "churn-1-1", Namespace: "tare", Objects: 2, Revision: 1}
		object, err := s.render(v)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, err := s.finish(object, v, armMarks)
		if err != nil || !strings.Contains(string(text), c.want) || !strings.Contains(string(text), `"tare/owner":"me"`) || !strings.Contains(string(text), `"tare/revision":"1"`) {
			t.Errorf("%s: %s (%v), want %s in it", c.name, text, err, c.want)
		}
	}
}

func TestTemplatesRefused(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " ", "the template gives no object"},
		{"no kind", "a: b", `apiVersion "" and kind "" do not name a kind of object`},
		{"a path for a version", "apiVersion: ../../v1\nkind: Pod", `apiVersion "../../v1" and kind "Pod" do not name`},
		{"a path for a kind", "apiVersion: v1\nkind: a/b", `kind "a/b" do not name`},
		{"a list", "[1, 2]", "not an object with apiVersion and kind"},
		{"List", "apiVersion: v1\nkind: List", "a List contains several objects; a template must give exactly one"},
		{"two documents", head + "---\n" + head, "there are several documents; a template must give exactly one object"},
		{"no YAML", head + "\t- [", "not YAML"},
		{"a namespace", "apiVersion: v1\nkind: Namespace", "a Namespace is not namespaced; churn makes objects in the arm's namespace only"},
		{"a role for all", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole", "a ClusterRole is not namespaced"},
		{"another name", head + "metadata: {name: mine}", `metadata.name is "mine"; write {{.Name}}, or leave it out`},
		{"another namespace", head + "metadata: {namespace: kube-system}", `metadata.namespace is "kube-system"; write {{.Namespace}}, or leave it out`},
		{"a name by the server", head + "metadata: {generateName: a-}", "metadata.generateName is not possible"},
		{"metadata is text", head + "metadata: text", "metadata is not a map"},
		{"labels are a list", head + "metadata: {labels: [a]}", "labels is not a map"},
		{"kinds in turn", "apiVersion: v1\nkind: '{{if eq .Index 0}}Pod{{else}}Service{{end}}'", "object 1 is a v1 Service, and the first one a v1 Pod"},
		{"unknown value", head + "data: {a: '{{.Secret}}'}", "there is no .Secret"},
		{"unknown function", head + "data: {a: '{{env \"HOME\"}}'}", `function "env" not defined`},
		{"unclosed", head + "data: {a: '{{.Index'}", "bad character"},
		{"division by zero", head + "data: {a: '{{div 1 .Index}}'}", "1 divided by 0"},
		{"a loop", head + "data: {a: '{{range 1000000000}}{{end}}'}", "line 3: range is not possible: a template has no loops"},
		{"a loop inside", head + "data: {a: '{{if true}}{{with .Name}}{{range 9}}{{end}}{{end}}{{end}}'}", "range is not possible"},
		{"calls", `{{define "a"}}{{template "a"}}{{end}}` + head + `{{template "a"}}`, "a template cannot define others"},
		{"itself", head + `{{template "object"}}`, "line 3: a template cannot call others"},
		{"wide formats", head + `data: {a: '{{printf "%1000000000d" 1}}'}`, "directives such as %s, %d and %05d are possible"},
		{"computed formats", head + `data: {a: '{{printf "%*d" 1000000 1}}'}`, "directives such as"},
		{"repeated arguments", head + `data: {a: '{{printf "%[1]s%[1]s" "x"}}'}`, "directives such as"},
		{"more and more", head + `{{$x := "` + strings.Repeat("x", 1000) + `"}}` + strings.Repeat("{{$x = print $x $x}}", 40) + "data: {a: b}", "more than 16384 bytes of text"},
		{"escapes", head + "data: {a: '{{html .Name}}'}", `function "html" not defined`},
		{"too long", head + strings.Repeat("#", mostTemplate), "the template has 262175 bytes, more than 262144"},
		{"too much", head + "data:\n" + strings.Repeat("  k{{.Index}}: {{printf \"%999d\" 1}}\n", 600), "the object has more than 524288 bytes"},
	} {
		s, err := Template{Inline: strictyaml.Document(c.text)}.compile()
		if err == nil {
			err = s.tryOut(false)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %s", c.name, err, c.want)
		}
	}
}

func TestTemplateFiles(t *testing.T) {
	c := &Config{Templates: []Template{{Inline: serviceTemplate}, {File: "pod.yaml"}, {File: "gone.yaml"}}}
	errs := c.readFiles(func(name string) ([]byte, error) {
		if name == "pod.yaml" {
			return []byte(podTemplate), nil
		}
		return nil, errors.New(name + " is not there")
	})
	want := []experiment.FieldError{{Field: "templates[2].file", Message: "gone.yaml is not there"}}
	if !slices.Equal(errs, want) {
		t.Errorf("problems %v, want %v", errs, want)
	}
	for i, want := range []string{"v1 Service", "v1 Pod"} {
		if s, err := c.Templates[i].compile(); err != nil || s.kind.String() != want {
			t.Errorf("template %d: %+v, %v", i, s, err)
		}
	}
	for _, c := range []struct {
		template Template
		want     string
	}{
		{Template{}, "there is neither inline nor file"},
		{Template{File: "pod.yaml", Inline: podTemplate}, "there are inline and file; give one of them"},
		{Template{File: "gone.yaml"}, "the template gives no object"},
	} {
		if _, err := c.template.compile(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %s", c.template, err, c.want)
		}
	}
}

// FuzzTemplate checks that every template that parses renders quickly and within the bounds.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{podTemplate, serviceTemplate, deploymentTemplate, "{{with $x := .Index}}{{end}}apiVersion: a/b\nkind: C",
		"apiVersion: v1\nkind: Pod\nmetadata: &a {labels: *a}", "{{printf \"%v\" .}}", "{{len .Name}}", "{{slice .Name 1 2}}", "{{.}}", "{{break}}", "{{block \"a\" .}}{{end}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		defer func() {
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		}()
		s, err := Template{Inline: strictyaml.Document(text)}.compile()
		if err != nil {
			return
		}
		v := values{Index: 3, Name: "churn-3-1", Namespace: "tare", Objects: 9, Revision: 2}
		object, err := s.render(v)
		if err != nil {
			return
		}
		body, err := s.finish(object, v, armMarks)
		if err != nil {
			return
		}
		if len(body) > 20*mostRendered {
			t.Errorf("%d bytes", len(body))
		}
		if !plainWord(s.kind.version) || !plainWord(s.kind.name) || s.kind.group != "" && !plainWord(s.kind.group) {
			t.Errorf("kind %q", s.kind)
		}
	})
}
