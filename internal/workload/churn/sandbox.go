package churn

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
)

// Bounds on templates. Ordinary objects are far smaller. The bounds keep a template from using up memory or time.
const (
	mostTemplate = 256 << 10 // bytes of a template
	mostRendered = 512 << 10 // bytes of a rendered object; etcd accepts 1.5 MiB
	mostText     = 16 << 10  // bytes of text that one function call in a template may return
)

// parseTemplate parses a template. Its language is text/template without loops and without templates that call each
// other, so that rendering takes time in proportion to the template's length.
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

// plainNodes returns an error if the nodes contain a loop or a call of another template. A list may be nil.
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

// functions adds arithmetic to the language, and replaces functions that could make ever longer text.
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

// short calls join, unless the texts among args have more than mostText bytes together.
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

// directive matches a formatting directive whose width and precision are constants below 1000.
var directive = regexp.MustCompile(`%[-+ 0#]{0,5}[0-9]{0,3}(\.[0-9]{0,3})?[a-zA-Z%]`)

func printf(format string, args ...any) (string, error) {
	if rest := directive.ReplaceAllString(format, ""); strings.Contains(rest, "%") {
		return "", fmt.Errorf("printf %.40q: directives such as %%s, %%d and %%05d are possible", format)
	}
	return short(append([]any{format}, args...), func() string { return fmt.Sprintf(format, args...) })
}

// limited is a writer that fails when a template writes too much.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > mostRendered {
		return 0, fmt.Errorf("the object has more than %d bytes", mostRendered)
	}
	return l.Builder.Write(p)
}
