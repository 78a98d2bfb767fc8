// Package tmpl executes templates in the language of text/template. The data is a map of numbers (int, float64),
// strings, booleans and maps. Templates have no loops and do not call each other, so that an execution always ends.
//
// This package uses only the parser of text/template. That package itself finds methods by their names. The linker
// would then keep all exported methods of all types: 15 MB of tare, and 3 ms of its start.
package tmpl

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template/parse"
)

// Template is a parsed template.
type Template struct{ tree *parse.Tree }

// Parse parses a template. Besides if, with and variables, it can call and, or, not, eq, ne, lt, le, gt, ge, len and
// slice of a text, print, println, printf, and add, sub, mul, div, mod of two whole numbers. Functions that make text
// take a bounded amount.
func Parse(name, text string) (*Template, error) {
	known := map[string]any{"and": true, "or": true}
	for f := range functions {
		known[f] = true
	}
	trees, err := parse.Parse(name, text, "", "", known)
	switch {
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	case len(trees) > 1 || trees[name] == nil:
		return nil, errors.New("a template cannot define others")
	}
	return &Template{trees[name]}, possible(trees[name].Root)
}

// possible returns an error if nodes of a template contain a loop or a call of another template. A nil list contains
// nothing.
func possible(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		var err error
		switch n := n.(type) {
		case *parse.IfNode:
			err = cmp.Or(possible(n.List), possible(n.ElseList))
		case *parse.WithNode:
			err = cmp.Or(possible(n.List), possible(n.ElseList))
		case *parse.RangeNode:
			err = fmt.Errorf("line %d: range is not possible: a template has no loops", n.Line)
		case *parse.TemplateNode:
			err = fmt.Errorf("line %d: a template cannot call others", n.Line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Execute fills a template with data and writes the text. If it fails, a part of the text may have been written.
func (t *Template) Execute(w io.Writer, data map[string]any) error {
	s := &state{w: w, variables: []variable{{"$", data}}}
	err := s.list(data, t.tree.Root)
	if s.failed != nil {
		where, what := t.tree.ErrorContext(s.failed)
		err = fmt.Errorf("%s: %.60s: %w", where, what, err)
	}
	return err
}

type variable struct {
	name  string
	value any
}

type state struct {
	w         io.Writer
	variables []variable
	failed    parse.Node // the innermost pipeline that failed; nil if none has failed
}

func (s *state) list(dot any, list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	defer func(n int) { s.variables = s.variables[:n] }(len(s.variables))
	for _, n := range list.Nodes {
		if err := s.node(dot, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) node(dot any, n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		_, err := s.w.Write(n.Text)
		return err
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		v, err := s.pipe(dot, n.Pipe)
		if err == nil && len(n.Pipe.Decl) == 0 {
			_, err = fmt.Fprint(s.w, v)
		}
		return err
	case *parse.IfNode:
		return s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return s.branch(dot, &n.BranchNode, true)
	}
	return fmt.Errorf("%s is not possible", n)
}

// branch executes an if or with: the first list for a true condition, otherwise the second. For a with, the first
// list's dot is the condition's value.
func (s *state) branch(dot any, n *parse.BranchNode, with bool) error {
	defer func(n int) { s.variables = s.variables[:n] }(len(s.variables))
	v, err := s.pipe(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case !truth(v):
		return s.list(dot, n.ElseList)
	case with:
		dot = v
	}
	return s.list(dot, n.List)
}

// truth reports whether a value counts as true. False values are "", 0, false and nil.
func truth(v any) bool { return v != nil && v != 0 && v != 0.0 && v != "" && v != false }

// pipe returns the value of a pipeline, and sets the variable that the pipeline declares.
func (s *state) pipe(dot any, n *parse.PipeNode) (v any, err error) {
	defer func() {
		if err != nil && s.failed == nil {
			s.failed = n
		}
	}()
	for i, c := range n.Cmds {
		var last []any
		if i > 0 {
			last = []any{v}
		}
		if v, err = s.command(dot, c, last); err != nil {
			return nil, err
		}
	}
	for _, d := range n.Decl {
		if !n.IsAssign {
			s.variables = append(s.variables, variable{d.Ident[0], v})
			continue
		}
		old := s.variable(d.Ident[0])
		if old == nil {
			return nil, fmt.Errorf("%s has no value here", d.Ident[0])
		}
		old.value = v
	}
	return v, nil
}

// variable returns the innermost variable with the given name; nil if there is none.
func (s *state) variable(name string) *variable {
	for i := len(s.variables) - 1; i >= 0; i-- {
		if s.variables[i].name == name {
			return &s.variables[i]
		}
	}
	return nil
}

// command returns the value of one command of a pipeline, such as len in {{.NAME | len}}. last holds the value of the
// command before it, if any.
func (s *state) command(dot any, c *parse.CommandNode, last []any) (any, error) {
	name, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(c.Args) > 1 || len(last) > 0 {
			return nil, fmt.Errorf("%s is not a function", c.Args[0])
		}
		return s.value(dot, c.Args[0])
	}
	var args []any
	for _, n := range c.Args[1:] {
		v, err := s.value(dot, n)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if name.Ident == "and" && !truth(v) || name.Ident == "or" && truth(v) {
			return v, nil // once the result is known, "and" and "or" do not evaluate further arguments
		}
	}
	args = append(args, last...)
	if name.Ident == "and" || name.Ident == "or" {
		if len(args) == 0 {
			return nil, fmt.Errorf("%s needs an argument", name.Ident)
		}
		return args[len(args)-1], nil
	}
	v, err := functions[name.Ident](args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name.Ident, err)
	}
	return v, nil
}

func (s *state) value(dot any, n parse.Node) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		v := s.variable(n.Ident[0])
		if v == nil {
			return nil, fmt.Errorf("%s has no value here", n.Ident[0])
		}
		return fields(v.value, n.Ident[1:])
	case *parse.PipeNode:
		return s.pipe(dot, n)
	case *parse.IdentifierNode:
		return s.command(dot, &parse.CommandNode{Args: []parse.Node{n}}, nil)
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		return number(n)
	}
	return nil, fmt.Errorf("%s is not possible here", n)
}

// number returns the value of a constant as text/template does: a constant such as 2.0 or 1e3 is no whole number.
func number(n *parse.NumberNode) (any, error) {
	hex := strings.HasPrefix(n.Text, "0x") || strings.HasPrefix(n.Text, "0X")
	switch {
	case n.IsFloat && n.Text[0] != '\'' && !hex && strings.ContainsAny(n.Text, ".eEpP"):
		return n.Float64, nil
	case n.IsInt:
		return int(n.Int64), nil
	}
	return nil, fmt.Errorf("%s is not possible here", n)
}

// fields follows a list of keys through nested maps, and returns the value at its end.
func fields(v any, keys []string) (any, error) {
	for _, key := range keys {
		entries, _ := v.(map[string]any)
		entry, ok := entries[key]
		if !ok {
			return nil, fmt.Errorf("there is no .%s", key)
		}
		v = entry
	}
	return v, nil
}

// functions holds the functions that templates can call. It lacks "and" and "or", since the method command evaluates
// these two.
var functions = map[string]func(args ...any) (any, error){
	"eq":      equal,
	"ne":      ordered(func(c int) bool { return c != 0 }),
	"lt":      ordered(func(c int) bool { return c < 0 }),
	"le":      ordered(func(c int) bool { return c <= 0 }),
	"gt":      ordered(func(c int) bool { return c > 0 }),
	"ge":      ordered(func(c int) bool { return c >= 0 }),
	"add":     whole(func(a, b int) int { return a + b }),
	"sub":     whole(func(a, b int) int { return a - b }),
	"mul":     whole(func(a, b int) int { return a * b }),
	"div":     divided(whole(func(a, b int) int { return a / b })),
	"mod":     divided(whole(func(a, b int) int { return a % b })),
	"len":     length,
	"slice":   slice,
	"print":   func(args ...any) (any, error) { return short(args, func() string { return fmt.Sprint(args...) }) },
	"println": func(args ...any) (any, error) { return short(args, func() string { return fmt.Sprintln(args...) }) },
	"printf":  printf,
	"not": func(args ...any) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("%d arguments in place of one", len(args))
		}
		return !truth(args[0]), nil
	},
}

func length(args ...any) (any, error) {
	if len(args) == 1 {
		if text, ok := args[0].(string); ok {
			return len(text), nil
		}
	}
	return nil, errors.New("the argument is not one text")
}

// slice returns the part of a text from the first index to before the second one. Without the second index, the part
// ends where the text ends.
func slice(args ...any) (any, error) {
	if len(args) == 0 || len(args) > 3 {
		return nil, fmt.Errorf("%d arguments in place of a text and two indexes", len(args))
	}
	text, ok := args[0].(string)
	from, to := 0, len(text)
	for i, index := range []*int{&from, &to}[:len(args)-1] {
		n, whole := args[i+1].(int)
		*index, ok = n, ok && whole
	}
	if !ok || from < 0 || from > to || to > len(text) {
		return nil, fmt.Errorf("%v is not a text and two indexes in it", args)
	}
	return text[from:to], nil
}

// whole makes f callable from templates. The template's arguments must be two whole numbers; anything else is an error.
func whole(f func(a, b int) int) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("%d arguments in place of two", len(args))
		}
		a, ok1 := args[0].(int)
		b, ok2 := args[1].(int)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("%v and %v are not two whole numbers", args[0], args[1])
		}
		return f(a, b), nil
	}
}

// divided returns f with a check: a divisor of 0, the second argument, is an error.
func divided(f func(...any) (any, error)) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if len(args) == 2 && args[1] == 0 {
			return nil, fmt.Errorf("%v divided by 0", args[0])
		}
		return f(args...)
	}
}

// mostText is the largest number of bytes of text in a function's arguments. Without it, a template could use up memory
// by repeated calls.
const mostText = 16 << 10

// short returns the text that join makes of args, or an error if the texts in args have more than mostText bytes
// together.
func short(args []any, join func() string) (any, error) {
	n := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			n += len(s)
		}
	}
	if n > mostText {
		return nil, fmt.Errorf("more than %d bytes of text", mostText)
	}
	return join(), nil
}

// directive matches a formatting directive such as %05d. Its width and precision are numbers below 1000 in the format
// itself.
var directive = regexp.MustCompile(`%[-+ 0#]{0,5}[0-9]{0,3}(\.[0-9]{0,3})?[a-zA-Z%]`)

func printf(args ...any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("no format")
	}
	format, ok := args[0].(string)
	if !ok || strings.Contains(directive.ReplaceAllString(format, ""), "%") {
		return nil, fmt.Errorf("%.40q: directives such as %%s, %%d and %%05d are possible", fmt.Sprint(args[0]))
	}
	return short(args, func() string { return fmt.Sprintf(format, args[1:]...) })
}

// equal reports whether the first argument is equal to at least one of the other arguments.
func equal(args ...any) (any, error) {
	if len(args) < 2 {
		return nil, errors.New("fewer than two arguments")
	}
	for _, a := range args[1:] {
		c, err := compared(args[0], a)
		if err != nil || c == 0 {
			return c == 0, err
		}
	}
	return false, nil
}

// ordered returns a function for templates that compares two arguments. holds turns the comparison (-1: less, 0: equal,
// 1: greater) into true or false.
func ordered(holds func(int) bool) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("%d arguments in place of two", len(args))
		}
		c, err := compared(args[0], args[1])
		return holds(c), err
	}
}

// compared returns -1 if a is less than b, 0 if they are equal, and +1 if a is greater. Two booleans that differ give
// +1 in either order.
func compared(a, b any) (int, error) {
	switch a := a.(type) {
	case int:
		if b, ok := b.(int); ok {
			return cmp.Compare(a, b), nil
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b), nil
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), nil
		}
	case bool:
		if b, ok := b.(bool); ok && a == b {
			return 0, nil
		} else if ok {
			return 1, nil
		}
	}
	return 1, fmt.Errorf("%v and %v cannot be compared", a, b)
}
