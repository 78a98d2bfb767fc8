package document_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/tex"
	"tare/internal/report/text"
	"tare/internal/test/golden"
	"tare/internal/text/safetext"
)

// writers are the ways to show a document.
var writers = map[string]func(io.Writer, *document.Document) error{
	"everything.txt": func(w io.Writer, d *document.Document) error { return text.Write(w, d, text.Options{Width: 72}) },
	"narrow.txt": func(w io.Writer, d *document.Document) error {
		return text.Write(w, d, text.Options{Width: 40})
	},
	"everything.md":   markdown.Write,
	"everything.html": html.Write,
	"everything.tex":  tex.Write,
}

// everything is a document with blocks of every kind. Each of its strings goes
// through say.
func everything(say func(string) string) *document.Document {
	words := func(s string) document.Text { return document.Words(say(s)) }
	only := func(in document.Forms, s string) document.Only {
		return document.Only{In: in, Blocks: []document.Block{document.Paragraph{Text: words(s)}}}
	}
	picture := func() string { return "<svg></svg>" }
	columns := []document.Column{{Title: say("metric"), Kind: document.Name, In: document.Markdown}, {Title: say("arm"), Kind: document.Name},
		{Title: say("verdict")}, {Title: say("overhead"), Right: true}, {Title: say("interval"), Right: true, Tight: true},
		{Title: say("why"), Kind: document.Prose}, {Kind: document.Drawing}}
	row := func(arm string, style document.Style, verdict, why string) document.Row {
		return document.Row{Cells: []document.Cell{document.C(say("latency")), document.C(say(arm)), document.Of(document.In(style, say(verdict))),
			document.C(say("+7.1 %")), document.C(say("[+6.2, +8.0]")), document.C(say(why)),
			{Draw: func(width int) string { return "├" + strings.Repeat("─", width-2) + "┤" }}}}
	}
	noted := row("plain", document.Equal, "equivalent", "")
	noted.Notes, noted.Muted = []string{say("with the 2 trials that had failed operations, not resolved")}, true
	d := &document.Document{Title: say("everything"), Style: document.Failed, About: say("of every kind"), Lede: say("What can a document say?"), Footer: say("Made by a test.")}
	return d.Add(
		document.Facts{Look: document.Glance, List: []document.Fact{{Key: say("Rounds"), Value: say("12")}, {Key: say("State"), Value: say("complete")}}},
		document.Section{ID: "summary", Title: say("Summary"), Short: say("In short"), NoTitle: document.Terminal | document.Markdown, Blocks: []document.Block{
			document.Alert{Title: say("This run gives no verdicts."), Style: document.Invalid, Items: []document.Text{words("the control differs")}},
			document.Answers{List: []document.Answer{{Verdict: document.In(document.Cost, say("costs")), Text: words("wireguard costs 7.1 % on latency."), Causes: []string{say("together with: kernel is 6.8")}}}},
			only(document.Terminal, "for terminals"), only(document.Markdown, "for Markdown"), only(document.Page, "for pages, see --all"),
		}},
		document.Section{ID: "results", Title: say("Results"), Note: say("in two cells"), Blocks: []document.Block{
			document.Paragraph{Text: document.Text{{Words: say("Strong"), Style: document.Strong}, {Words: say(", muted"), Style: document.Muted},
				{Words: " "}, {Words: say("obs."), Style: document.Badge}, {Words: " "}, {Words: say("its files"), Link: "./raw/"},
				{Words: ", "}, {Words: say("what to do"), Link: "https://example.org/a?b=c"}, {Words: ", "}, {Words: say("nothing"), Link: "javascript:alert(1)"}, {Words: ", "}, {Words: say("above"), Link: "#summary"}}},
			document.Table{Split: true, NoTitles: true, Key: say("Plot: ├┤ interval."), Columns: columns, Groups: []document.Group{
				{Title: words("pod-to-pod"), Notes: []string{say("a closed loop")}, Parts: []document.Part{{Title: words("latency, lower is better"), Notes: []string{say("restates throughput")},
					Axis: func(width int) string { return "0" + strings.Repeat(" ", width-2) + "9" },
					Rows: []document.Row{row("wireguard", document.Cost, "costs", ""), row("mtls", document.Open, "not resolved", "differences of 4 % are found with 80 % chance"), noted}}}},
				{Title: words("pod-to-service"), Parts: []document.Part{{Title: words("latency"), Rows: []document.Row{row("a-layer-with-a-very-long-name[rules=16,kind=file]", document.Gain, "gains", "")}}}},
			}},
			document.Section{Title: say("Compared"), Fold: document.Page, Open: true, Blocks: []document.Block{
				document.Simple([]document.Column{{Title: say("arm"), Kind: document.Name}, {Title: say("run 1"), Right: true}, {Title: say("run 2"), Right: true}},
					[]document.Row{{Cells: []document.Cell{document.C(say("wireguard")), document.Of(words("+7.0 %"), document.In(document.Muted, say("(compared with)"))),
						document.Of(words("+9.6 %"), words("+3.3 % [+1.6, +4.7]"), document.In(document.Cost, say("costs")))}}})}},
		}},
		document.Section{ID: "series", Title: say("Series"), Flush: true, Blocks: []document.Block{
			document.Section{ID: "a-1", Title: say("time, layered"), Value: say("+10.1 % over 19 runs"), Note: say("plus is a cost"), Fold: document.Page | document.Markdown, Blocks: []document.Block{
				document.Figure{Wide: picture, Narrow: picture, Plot: func(width int) []string { return []string{strings.Repeat("▁▇", width/4)} }},
				document.Pair{Left: picture, Right: picture}}}}},
		document.Section{Title: say("Lists"), Blocks: []document.Block{
			document.List{Items: document.Each([]string{say("one"), say("two"), say("three")}), Most: 2},
			document.List{Items: document.Each([]string{say("first"), say("second")}), Numbered: true},
			document.Facts{List: []document.Fact{{Key: say("Kernel"), Value: say("6.8.0")}, {Key: say("Processor"), Value: say("one that has a long name and does not fit into a line of a terminal")}}},
			document.Facts{Look: document.Terms, List: []document.Fact{{Key: say("Arm"), Value: say("A set of layers.")}}},
			document.Code{Text: say("tare run x.yaml\n\ttare show")}}},
		document.Section{Blocks: []document.Block{document.Paragraph{Text: words("Set apart.")}}})
}

func TestEverything(t *testing.T) {
	for name, write := range writers {
		var b bytes.Buffer
		if err := write(&b, everything(func(s string) string { return s })); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if _, body, ok := strings.Cut(got, "</head>\n"); ok {
			got = body
		}
		golden.Check(t, filepath.Join("testdata", name), got)
	}
}

// hostile is what terminals, HTML and Markdown act on, and what none can show.
const hostile = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\x1b]0;pwn\x07\x1b[31m|`rm`\n# h\r\n<!-- \"q\" 'q' &amp; ]]> \u202eevil\x00\xff [l](javascript:alert(3)) **b** ```"

// No string of a document is markup, wherever it stands, and none changes the
// shape of what it stands in.
func TestHostileStringsStayText(t *testing.T) {
	for name, write := range writers {
		var b, clean bytes.Buffer
		if err := errors.Join(write(&b, everything(func(s string) string { return s + hostile })), write(&clean, everything(func(s string) string { return s }))); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if safe := safetext.Lines(got); safe != got {
			t.Errorf("%s is not safe: %q, not %q", name, got, safe)
		}
		switch filepath.Ext(name) {
		case ".html":
			if strings.Contains(got, "<script") || strings.Contains(got, "<img") || !strings.Contains(got, "&lt;script&gt;alert(1)") {
				t.Errorf("the page holds markup of the document, or not its text:\n%s", got)
			}
			if a, b := strings.Count(got, "<"), strings.Count(clean.String(), "<"); a != b {
				t.Errorf("the page has %d tags, and without hostile strings %d", a, b)
			}
		case ".md":
			prose, _, _ := strings.Cut(got, "````")
			if strings.Contains(strings.NewReplacer("<details>", "", "<summary>", "", "](<", "").Replace(prose), "<s") || strings.Contains(got, "](<javascript") {
				t.Errorf("Markdown holds markup of the document:\n%s", got)
			}
			if a, b := strings.Count(strings.ReplaceAll(got, `\|`, ""), "\n|"), strings.Count(clean.String(), "\n|"); a != b {
				t.Errorf("Markdown has %d rows, and without hostile strings %d", a, b)
			}
		case ".tex":
			commands := regexp.MustCompile(`\\(begin|end|caption|noindent|textbf|\\|toprule|midrule)|(^|[^\\])[&$#^~]`)
			text := strings.NewReplacer(`$-$`, "", `\textbackslash{}`, "").Replace
			if a, b := len(commands.FindAllString(text(got), -1)), len(commands.FindAllString(text(clean.String()), -1)); a != b {
				t.Errorf("LaTeX has %d commands, and without hostile strings %d", a, b)
			}
		}
	}
}

func TestTextFitsTheWidth(t *testing.T) {
	for _, say := range []func(string) string{func(s string) string { return s }, func(s string) string { return s + " of a longer kind, 日本語" }} {
		for width := 40; width < 200; width += 7 {
			var b bytes.Buffer
			if err := text.Write(&b, everything(say), text.Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if line = strings.TrimSuffix(line, "\n"); columns.Width(line) > width && !strings.HasPrefix(strings.TrimSpace(line), "tare ") {
					t.Errorf("width %d: %d columns: %q", width, columns.Width(line), line)
				}
			}
		}
	}
}

// full is a disk without any room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorsAreReported(t *testing.T) {
	for name, write := range writers {
		if err := write(full{}, everything(func(s string) string { return s })); err == nil || !strings.HasSuffix(err.Error(), ": no space left on device") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
