package churn

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
)

// Bounds on templates. They are far above any object that a cluster takes for
// ordinary, and keep a template from using up memory or time.
const (
	mostTemplate = 256 << 10 // bytes of a template
	mostRendered = 512 << 10 // bytes of an object; etcd takes 1.5 MiB
	mostText     = 16 << 10  // bytes that a function of a template puts together
)

// parseTemplate reads a template. Its language is that of text/template without
// loops and without templates that call each other, so that rendering takes time
// in proportion to the template's length.
func parseTemplate(text string) (*template.Template, error) {
	if len(text) > mostTemplate {
		return nil, fmt.Errorf("the template has %d bytes, more than %d", len(text), mostTemplate)
	}
	t, err := template.New("object").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("template: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	if len(t.Templates()) > 1 {
		return nil, fmt.Errorf("a template cannot define others")
	}
	if t.Tree == nil || t.Root == nil {
		return nil, fmt.Errorf("the template is empty")
	}
	return t, plainNodes(t.Root)
}

// plainNodes refuses what can loop. A list may be nil.
func plainNodes(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		var err error
		switch n := n.(type) {
		case *parse.IfNode:
			err = cmp.Or(plainNodes(n.List), plainNodes(n.ElseList))
		case *parse.WithNode:
			err = cmp.Or(plainNodes(n.List), plainNodes(n.ElseList))
		case *parse.RangeNode:
			err = fmt.Errorf("line %d: range is not possible: a template is one object", n.Line)
		case *parse.TemplateNode:
			err = fmt.Errorf("line %d: a template cannot call others", n.Line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// functions add arithmetic to the language, and take from it what can put
// together more and more text.
var functions = template.FuncMap{
	"add":      func(a, b int) int { return a + b },
	"sub":      func(a, b int) int { return a - b },
	"mul":      func(a, b int) int { return a * b },
	"div":      func(a, b int) (int, error) { return divided(a, b, func() int { return a / b }) },
	"mod":      func(a, b int) (int, error) { return divided(a, b, func() int { return a % b }) },
	"print":    func(args ...any) (string, error) { return short(args, func() string { return fmt.Sprint(args...) }) },
	"println":  func(args ...any) (string, error) { return short(args, func() string { return fmt.Sprintln(args...) }) },
	"printf":   printf,
	"html":     absent("html"),
	"js":       absent("js"),
	"urlquery": absent("urlquery"),
	"call":     absent("call"),
}

func divided(a, b int, result func() int) (int, error) {
	if b == 0 {
		return 0, fmt.Errorf("%d divided by 0", a)
	}
	return result(), nil
}

func absent(name string) func(...any) (string, error) {
	return func(...any) (string, error) { return "", fmt.Errorf("%s is not available here", name) }
}

// short puts text together if its parts are short.
func short(args []any, join func() string) (string, error) {
	n := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			n += len(s)
		}
	}
	if n > mostText {
		return "", fmt.Errorf("more than %d bytes of text", mostText)
	}
	return join(), nil
}

// directive is a formatting directive without a width that is computed or wide.
var directive = regexp.MustCompile(`%[-+ 0#]{0,5}[0-9]{0,3}(\.[0-9]{0,3})?[a-zA-Z%]`)

func printf(format string, args ...any) (string, error) {
	if rest := directive.ReplaceAllString(format, ""); strings.Contains(rest, "%") {
		return "", fmt.Errorf("printf %.40q: directives such as %%s, %%d and %%05d are possible", format)
	}
	return short(append([]any{format}, args...), func() string { return fmt.Sprintf(format, args...) })
}

// limited is a writer that stops a template that writes too much.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > mostRendered {
		return 0, fmt.Errorf("the object has more than %d bytes", mostRendered)
	}
	return l.Builder.Write(p)
}
