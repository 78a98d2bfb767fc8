package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one error in a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // number of the line, from 1
	Column  int    `json:"column"` // number of the character in the line, from 1
	Path    string `json:"path"`   // "arms[1].layers[0].wireguard.implementation"; "" for the whole file
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // suggested correction
	Source  string `json:"source"`         // the line of the file
}

// Problems are all errors in a file. Error prints each as file:line:column, the line with a caret, and the hint.
type Problems []Problem

// Error prints every problem.
func (p *Problems) Error() string {
	all := make([]string, len(*p))
	for i, problem := range *p {
		all[i] = problem.String()
	}
	return strings.Join(all, "\n")
}

// String prints the problem on several lines, without a newline at the end. Control characters are replaced, so that
// none acts on the terminal.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", printable(p.File), p.Line, p.Column, printable(p.Message))
	if strings.TrimSpace(p.Source) != "" {
		line, caret := excerpt(p.Source, p.Column)
		fmt.Fprintf(&b, "\n    %s\n    %s", line, caret)
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\n    %s", printable(p.Hint))
	}
	return b.String()
}

// Lengths of the excerpt of a long line, in characters.
const (
	excerptWidth  = 100
	excerptBefore = 60
)

// excerpt returns the part of a line around a column, and a line with a caret below that column.
func excerpt(source string, column int) (line, caret string) {
	runes := []rune(printable(source))
	at := min(max(column-1, 0), len(runes))
	prefix, suffix := "", ""
	if from := at - excerptBefore; len(runes) > excerptWidth && from > 0 {
		runes, at, prefix = runes[from:], at-from, "…"
	}
	if len(runes) > excerptWidth {
		runes, suffix = runes[:excerptWidth], "…"
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r // a tab below a tab: the caret stands below its character at any tab width
		}
		return ' '
	}, prefix+string(runes[:at]))
	return prefix + string(runes) + suffix, pad + "^"
}

// printable replaces each control character by one other character, since it could act on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Text returns the file, with lines separated by newlines.
func (f *File) Text() string { return strings.Join(f.lines, "\n") }

// Place returns the position in the file of a part of a node's text. start is the part's first byte in the text. If the
// part is not found, the node's position is returned, and problems there show no source.
func (f *File) Place(n *Node, part string, start int) (line, column int) {
	first, _, _ := strings.Cut(part, "\n")
	from := n.Line - 1
	if strings.Contains(n.Value, "\n") {
		from += strings.Count(n.Value[:min(start, len(n.Value))], "\n") // earlier lines cannot have the part: a block begins below its key
	}
	for i := max(from, 0); i < len(f.lines) && i <= from+2; i++ {
		source, before := f.lines[i], 0
		if i == n.Line-1 {
			before = len(string([]rune(source)[:min(n.Column-1, utf8.RuneCountInString(source))]))
		}
		if at := strings.Index(source[before:], first); at >= 0 && first != "" {
			return i + 1, utf8.RuneCountInString(source[:before+at]) + 1
		}
	}
	if f.hidden == nil {
		f.hidden = map[int]bool{}
	}
	for i := range mostLines {
		f.hidden[n.Line+i] = true
	}
	return n.Line, n.Column
}

const mostLines = 20 // the number of lines that a text in quotes may take

// PathOf returns the path of the first value that is equal to a text; "" if there is none.
func (f *File) PathOf(text string) string {
	if f.Root == nil {
		return ""
	}
	path, _ := pathOf(f.Root, "", text)
	return path
}

func pathOf(n *Node, at, text string) (path string, found bool) {
	if n.Scalar() && n.Value == text {
		return at, true
	}
	for i, item := range n.Items {
		if path, found := pathOf(item, Index(at, i), text); found {
			return path, true
		}
	}
	for _, e := range n.Entries {
		if path, found := pathOf(e.Value, Join(at, e.Key.Value), text); found {
			return path, true
		}
	}
	return "", false
}

// leastWord and leastPart are the least lengths in bytes of texts that Conceal replaces: of a secret, and of its
// beginning (a message may cut it off).
const (
	leastPart = 8
	leastWord = 3
)

// Conceal replaces texts of the file by *** in its problems.
func (f *File) Conceal(texts []string) {
	var parts []string
	for _, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			parts = append(parts, line)
			if quoted := strings.Trim(strconv.Quote(line), `"`); quoted != line {
				parts = append(parts, quoted)
			}
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for i := range f.problems {
		p := &f.problems[i]
		if f.hidden[p.Line] {
			p.Source = ""
		}
		for _, part := range parts {
			p.Source = strings.ReplaceAll(p.Source, part, strings.Repeat("*", utf8.RuneCountInString(part)))
			if len(part) < leastWord {
				continue
			}
			p.Message, p.Hint, p.Path = without(p.Message, part), without(p.Hint, part), without(p.Path, part)
		}
	}
}

// without puts *** in place of a text in a message. If the message holds only a beginning of the text, without replaces
// this beginning.
func without(message, text string) string {
	message = strings.ReplaceAll(message, text, "***")
	for n := len(text) - 1; n >= leastPart && strings.Contains(message, text[:leastPart]); n-- {
		message = strings.ReplaceAll(message, text[:n], "***")
	}
	return message
}
