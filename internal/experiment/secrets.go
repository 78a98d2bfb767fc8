package experiment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment/secret"
	"tare/internal/experiment/strictyaml"
)

// search finds secrets in every text that a run keeps: the experiment file, and the files that the file names.
type search struct {
	*loader
	allow []string
	seen  map[position]bool // positions of the secrets reported so far; an alias repeats an earlier position
	found []string          // the secrets, which messages must not show
}

type position struct{ line, column int }

// secrets reports the secrets in the file, except the secrets that the file allows by name.
func (l *loader) secrets(allow []string) {
	s := search{loader: l, allow: allow, seen: map[position]bool{}}
	if l.file.Root != nil {
		s.node(l.file.Root, "", secret.Argument)
	}
	s.comments()
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		s.named(name, string(l.files[name]))
	}
	if l.file.Root == nil { // the file is no YAML; messages may show any part of its text
		for _, f := range secret.Find(l.file.Text(), secret.Code) {
			s.found = append(s.found, l.file.Text()[f.Start:f.End])
		}
	}
	l.file.Conceal(s.found)
}

// fieldKinds maps the names of fields to the kinds of text that they hold. The text of any other field has the kind
// Argument.
var fieldKinds = map[string]secret.Kind{"description": secret.Prose, "shell": secret.Code, "patch": secret.Code, "inline": secret.Code}

func (s *search) node(n *strictyaml.Node, path string, kind secret.Kind) {
	switch {
	case n.Form == strictyaml.List:
		s.list(n, path, kind)
	case n.Form == strictyaml.Map:
		s.variable(n, path)
		for _, e := range n.Entries {
			at := strictyaml.Join(path, e.Key.Value)
			s.refuse(e.Key, at, secret.Find(e.Key.Value, secret.Argument))
			within := kind
			if k, is := fieldKinds[e.Key.Value]; is {
				within = k
			}
			if e.Value.Scalar() {
				s.refuse(e.Value, at, secret.Value(e.Key.Value, e.Value.Value, codeIf(e.Value.Value, within)))
				continue
			}
			s.node(e.Value, at, within)
		}
	case n.Scalar():
		s.refuse(n, path, secret.Find(n.Value, codeIf(n.Value, kind)))
	}
}

// codeIf returns the kind of a text. An Argument of several words may be lines of a program, so codeIf returns Code for
// it.
func codeIf(text string, kind secret.Kind) secret.Kind {
	if kind == secret.Argument && strings.ContainsAny(strings.TrimSpace(text), " \n") {
		return secret.Code
	}
	return kind
}

// list searches a list, which may be a program with its arguments.
func (s *search) list(n *strictyaml.Node, path string, kind secret.Kind) {
	args := make([]string, len(n.Items))
	for i, item := range n.Items {
		if item.Scalar() {
			args[i] = item.Value
		}
	}
	beside := secret.Arguments(args)
	for i, item := range n.Items {
		at := strictyaml.Index(path, i)
		if f, is := beside[i]; is {
			s.refuse(item, at, []secret.Finding{f})
			continue
		}
		s.node(item, at, kind)
	}
}

// variable searches a map that holds the name and the value of an environment variable, in the form of Kubernetes.
func (s *search) variable(n *strictyaml.Node, path string) {
	name, value := n.Get("name"), n.Get("value")
	if name != nil && value != nil && name.Scalar() && value.Scalar() {
		s.refuse(value, strictyaml.Join(path, "value"), secret.Value(name.Value, value.Value, secret.Argument))
	}
}

// refuse reports the secrets that were found in a node's text as problems. It also records them, so that no message
// shows them.
func (s *search) refuse(n *strictyaml.Node, path string, found []secret.Finding) {
	for _, f := range found {
		if slices.Contains(s.allow, f.Name) || f.End > len(n.Value) {
			continue
		}
		value := n.Value[f.Start:f.End]
		s.found = append(s.found, value)
		line, column := s.file.Place(n, value, f.Start)
		s.report(line, column, path, f.Name, n.Value)
	}
}

// report reports a secret, but only once for each position in the file.
func (s *search) report(line, column int, path, name, text string) {
	if at := (position{line, column}); !s.seen[at] {
		s.seen[at] = true
		s.file.Report(&strictyaml.Node{Line: line, Column: column}, path, refusal(name), s.wayOut(name, path, text))
	}
}

func refusal(name string) string {
	return name + " looks like a secret, which would be kept in the run"
}

// notOfVariable matches characters that the name of a finding may have, but the name of an environment variable may
// not.
var notOfVariable = regexp.MustCompile(`[^A-Z0-9]+`)

func (s *search) wayOut(name, path, text string) string {
	variable := strings.Trim(notOfVariable.ReplaceAllString(strings.ToUpper(name), "_"), "_")
	switch {
	case strings.Contains(name, "://"):
		variable = "PASSWORD"
	case strings.EqualFold(name, "authorization") || name == "bearer token" || name == "basic authorization":
		variable = "TOKEN"
	}
	out := fmt.Sprintf("write $%s in its place to take it from the environment of tare, or $(file:/PATH)", variable)
	switch kind, is := fieldKinds[path[strings.LastIndexByte(path, '.')+1:]]; {
	case path == "" || is && kind == secret.Prose:
		out = "take it out"
	case is || strings.ContainsAny(text, "\n") || strings.Contains(name, " -") && strings.Contains(text, " "): // the text is for a shell
		out = fmt.Sprintf("take it out; a program of the workload gets it by env: {%s: $%s}, and its text says $%s", variable, variable, variable)
	}
	return out + "; if it is none, say so with allow: [" + strconv.Quote(name) + "]"
}

var comment = regexp.MustCompile(`(?:^|\s)#(.*)$`)

func (s *search) comments() {
	for i, line := range strings.Split(s.file.Text(), "\n") {
		m := comment.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		text := line[m[2]:]
		for _, f := range secret.Find(text, secret.Prose) {
			if !slices.Contains(s.allow, f.Name) {
				s.found = append(s.found, text[f.Start:f.End])
				s.report(i+1, len([]rune(line[:m[2]+f.Start]))+1, "", f.Name, text)
			}
		}
	}
}

func (s *search) named(name, text string) {
	for _, f := range secret.Find(text, secret.Code) {
		if slices.Contains(s.allow, f.Name) {
			continue
		}
		s.found = append(s.found, text[f.Start:f.End])
		path := s.file.PathOf(name)
		s.file.ReportAt(path, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(text[:f.Start], "\n"), refusal(f.Name)),
			"the run keeps the file; take it out, or if it is none, say so with allow: ["+strconv.Quote(f.Name)+"]")
	}
}
