package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestDocumentedOutput checks that the documentation shows the real output of commands: its lines occur in this
// form in a golden file, or in a script that compares them. It also checks that the figures of docs/figures are
// the output of the commands that they name.
func TestDocumentedOutput(t *testing.T) {
	var made []string
	for _, pattern := range []string{"testdata/script/*.txtar", "testdata/realtime/*.txtar", "../report/testdata/*.txt", "../report/export/testdata/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			made = append(made, "\n"+read(t, file))
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`^(sudo |make |tare |kubectl |for |cd |bin/cluster |# )`)
	samples := 0
	for _, page := range append(pages, "../../README.md") {
		language, text, inside := "", "", false
		for line := range strings.Lines(read(t, page)) {
			fence, is := strings.CutPrefix(line, "```")
			switch {
			case is && !inside:
				language, text, inside = strings.TrimSpace(fence), "", true
			case is:
				inside = false
				if language != "" || command.MatchString(text) {
					continue
				}
				samples++
				if !slices.ContainsFunc(made, func(m string) bool { return strings.Contains(m, "\n"+text) }) {
					t.Errorf("%s shows what no test has made:\n%s", page, text)
				}
			case inside:
				text += line
			}
		}
	}
	if samples < 7 {
		t.Errorf("%d samples of output; there were seven", samples)
	}
}

// TestRecommendedCommands checks every command that the product, its help and its documentation recommend: the command
// exists, has these flags and takes this number of arguments. Scripts run those that can run here (newcomer.txtar,
// examples.txtar). Many others need a cluster, root or an hour.
func TestRecommendedCommands(t *testing.T) {
	whole, sentences := 0, 0
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		inside := false
		for line := range strings.Lines(strings.ReplaceAll(read(t, page), "\\\n", " ")) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inside = !inside
			} else if inside {
				whole += judgeCommands(t, page, line)
			}
		}
	}
	for _, c := range commandsOf(Root(State{})) {
		for line := range strings.Lines(c.Example) {
			whole += judgeCommands(t, c.CommandPath()+" --help", line)
		}
		for line := range strings.Lines(c.Long + c.Short) {
			sentences += judgeWords(t, c.CommandPath()+" --help", line)
		}
	}
	err = filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file == "../test":
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				sentences += judgeWords(t, file, text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if whole < 150 || sentences < 100 {
		t.Errorf("%d commands and %d sentences", whole, sentences)
	}
}

func commandsOf(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, commandsOf(sub)...)
	}
	return all
}

var (
	typed  = regexp.MustCompile(`^(?:\$ |sudo |time |[A-Z_]+=\S+ |exec |- run: |run: |if )*(?:\./|bin/|[~/\w]*/bin/)?tare (.*)$`)
	named  = regexp.MustCompile(`\btare ([a-z]+)((?: (?:-o [a-z]+|--[a-z][a-z-]*|[A-Z][A-Z.…-]*|%s))*)`)
	ended  = regexp.MustCompile(` (#|\||>|2>|&&|\|\||;|&$).*$`)
	quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	// prose lists words that follow the name of the product without being a command.
	prose = []string{"is", "itself", "gate", "has", "does", "was", "in", "on", "of", "if", "and", "image", "for", "already", "left", "marker", "as", "storage", "authority", "with"}
)

// judgeCommands checks the commands of a line as a shell would run them, and returns their number.
func judgeCommands(t *testing.T, where, line string) int {
	t.Helper()
	m := typed.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return 0
	}
	text := ended.ReplaceAllString(quoted.ReplaceAllStringFunc(m[1], func(s string) string {
		return strings.NewReplacer(" ", "\x00", "|", "\x01", ">", "\x02", "#", "\x03", ";", "\x04", "&", "\x05").Replace(s[1 : len(s)-1])
	}), "")
	args := strings.Fields(regexp.MustCompile(`\S*\*\S*`).ReplaceAllString(text, "$0 $0")) // a shell expands a pattern to several names
	if slices.Contains(args, "--help") || slices.Contains(args, "--version") || slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, "…") || strings.HasPrefix(a, "<") }) {
		return 0
	}
	c, rest, err := Root(State{}).Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s recommends %q: %v", where, strings.TrimSpace(line), err)
	}
	return 1
}

// judgeWords checks the commands in a sentence as far as the sentence contains them: the command and its flags.
func judgeWords(t *testing.T, where, text string) (n int) {
	t.Helper()
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		c, _, err := Root(State{}).Find(m[1:2])
		if err != nil || c.Name() != m[1] {
			if !slices.Contains(prose, m[1]) {
				t.Errorf("%s speaks of tare %s, which is no command", where, m[1])
			}
			continue
		}
		n++
		for _, word := range strings.Fields(m[2]) {
			if flag, is := strings.CutPrefix(word, "--"); is && flag != "" && c.Flags().Lookup(flag) == nil && c.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s recommends %q: it has no flag %s", where, m[0], word)
			}
		}
	}
	return n
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
