package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Read reads a file into a tree. If the text is not valid YAML, the Root of the result is nil, and its Problems say
// why.
func Read(name string, data []byte) *File {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	f := &File{name: name, lines: []string{""}}
	if len(data) > maxBytes {
		f.report(1, 1, "", fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), maxBytes), "")
		return f
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)) // the lexer counts \r\n after a comment as two lines
	f.lines = strings.Split(text, "\n")
	if !f.readable(data) {
		return f
	}
	if body := f.parse(text); body != nil {
		t := tree{file: f, anchors: map[string]*Node{}}
		f.Root = t.node(body, 0)
		if t.refused {
			f.Root = nil
		}
	}
	return f
}

// readable returns false and reports a problem if the text is not UTF-8 or has control characters.
func (f *File) readable(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		f.lines = []string{""}
		f.report(1, 1, "", "the file is UTF-16", "save it as UTF-8")
		return false
	}
	for i, line := range f.lines {
		column := 0
		for rest := line; rest != ""; {
			r, size := utf8.DecodeRuneInString(rest)
			column++
			if r == utf8.RuneError && size == 1 {
				// Positions count characters, so the invalid bytes of the line are replaced.
				f.lines[i] = strings.ToValidUTF8(line, "\uFFFD")
				f.report(i+1, column, "", fmt.Sprintf("byte %#02x is not UTF-8 text", rest[0]), "save the file as UTF-8")
				return false
			}
			if r < ' ' && r != '\t' || r == 0x7f || r == 0xfeff {
				f.report(i+1, column, "", fmt.Sprintf("control character %U is not allowed", r), "")
				return false
			}
			rest = rest[size:]
		}
	}
	return true
}

// parse returns the only document of the file, or reports why there is none.
func (f *File) parse(text string) (body ast.Node) {
	defer func() {
		// On some malformed input, the parser panics.
		if fault := recover(); fault != nil {
			f.report(1, 1, "", "this is not YAML that can be read", "")
			body = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if !f.bounded(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		f.syntaxError(err)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil && doc.Start != nil && len(file.Docs) > 1 {
			f.report(doc.Start.Position.Line, doc.Start.Position.Column, "", "the document that begins here is empty; a file holds one", "take the --- out")
			return nil
		}
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			at := doc.Body.GetToken().Position
			if doc.Start != nil {
				at = doc.Start.Position
			}
			f.report(at.Line, at.Column, "", "a second document begins here; a file holds one", "put it into a file of its own")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		f.report(1, 1, "", "the file is empty", "")
	}
	return body
}

// bounded checks the tokens before the recursive parser reads them. It refuses deep nesting, tags, complex keys, and a
// missing value in a list.
func (f *File) bounded(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		at := tokens[maxTokens].Position
		f.report(at.Line, at.Column, "", fmt.Sprintf("the file is too long: more than %d words and signs up to here", maxTokens), "")
		return false
	}
	flow, comma := 0, false
	for _, t := range tokens {
		refuse := ""
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			if flow++; flow > maxDepth {
				refuse = fmt.Sprintf("brackets nest deeper than %d", maxDepth)
			}
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingValueType:
			if flow == 0 && t.Position.Column > maxIndent {
				refuse = fmt.Sprintf("nothing may begin beyond column %d", maxIndent)
			}
		case token.CollectEntryType:
			if comma {
				refuse = "a value is missing between two commas"
			}
		case token.TagType:
			refuse = fmt.Sprintf("tags such as %s are not used here", shorten(t.Value))
		case token.MappingKeyType:
			refuse = "keys written with ? are not used here"
		}
		if refuse != "" {
			f.report(t.Position.Line, t.Position.Column, "", refuse, "")
			return false
		}
		comma = t.Type == token.CollectEntryType || comma && t.Type == token.CommentType
	}
	return true
}

// syntaxWords has plain texts for the parser's errors, with hints.
var syntaxWords = []struct{ theirs, ours, hint string }{
	{"found character '\t'", "a tab cannot indent", "use spaces"},
	{"',' or ']' must be specified", "the list before this has no closing ]", "write ] or ,"},
	{"',' or '}' must be specified", "the map before this has no closing }", "write } or ,"},
	{"could not find end character of", "the quote that opens here is not closed", "close it on the same line"},
	{"mapping value is not allowed in this context", "a second key: value cannot begin here",
		"check the indentation, or put a value that contains a colon in quotes"},
	{"is a reserved character", "a value cannot begin with this character", "put the value in quotes"},
	{"unexpected key name", "a key needs a colon and a space behind it", "write key: value"},
	{"block sequence entries are not allowed", "a list cannot begin on the line of its key",
		"begin each - on a line of its own, or write [a, b]"},
	{"value is not allowed in this context", "this does not belong to what stands above it", "check the indentation"},
	{"could not find flow map content", "a map in braces needs a key here", "remove the extra comma"},
	{"sequence end token ']' not found", "the list that opens here is not closed", "write ]"},
	{"could not find flow mapping end token", "the map that opens here is not closed", "write }"},
	{"corresponding to '}'", "there is no { that this closes", "remove it, or put the value in quotes"},
	{"corresponding to ']'", "there is no [ that this closes", "remove it, or put the value in quotes"},
	{"non-map value is specified", "expected key: value here", "a colon needs a space behind it"},
	{"tab character", "a tab cannot indent", "use spaces"},
	{"undefined anchor value", "the anchor has no value", ""},
	{"found an invalid key for this map", "a key must be plain text", ""},
}

func (f *File) syntaxError(err error) {
	var at yaml.Error
	if !errors.As(err, &at) {
		f.report(1, 1, "", "not valid YAML: "+firstLine(err.Error()), "")
		return
	}
	line, column := 1, 1
	if t := at.GetToken(); t != nil && t.Position != nil {
		line, column = t.Position.Line, t.Position.Column
	}
	message, hint := "not valid YAML: "+firstLine(at.GetMessage()), ""
	for _, w := range syntaxWords {
		if strings.Contains(at.GetMessage(), w.theirs) {
			message, hint = w.ours, w.hint
			break
		}
	}
	f.report(line, column, "", message, hint)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return shorten(line)
}
