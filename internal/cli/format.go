package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/report/markdown"
	"tare/internal/report/tex"
	"tare/internal/report/text"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// formats lists the values of -o for commands that show a run.
var formats = []string{"table", "json", "yaml", "markdown", "tex", "csv"}

// addFormat adds the flag -o with its allowed values. The first value is the default.
func addFormat(c *cobra.Command, out *string, allowed ...string) {
	all := strings.Join(allowed, ", ")
	c.Flags().StringVarP(out, "output", "o", allowed[0], "output format: "+all)
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(allowed, *out) {
			return usage(fmt.Errorf("-o %s: not one of %s", *out, all))
		}
		return nil
	}
}

// paged holds the flags -o and --to of a command that can write its result as a page.
type paged struct {
	out, to string
	page    string // name of the page's file if --to is not set
}

func (p *paged) add(c *cobra.Command) {
	c.Flags().StringVar(&p.to, "to", "", "file to write with -o html (default "+p.page+")")
	addFormat(c, &p.out, "table", "json", "yaml", "markdown", "tex", "csv", "html")
	known := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := known(c, args); err != nil {
			return err
		}
		if p.to != "" && p.out != "html" {
			return usage(fmt.Errorf("--to is for -o html; the output of -o %s goes to stdout", p.out))
		}
		return nil
	}
}

func (p *paged) file() string { return cmp.Or(p.to, p.page) }

// view prints a result in the format that -o selects. csv writes CSV. of makes the document for text, Markdown, TeX or
// a page. A page goes to a file.
func view[T any](s State, value T, p paged, csv func(io.Writer, T) error, of func(document.Forms) *document.Document) error {
	switch p.out {
	case "json", "yaml":
		return encode(s.Stdout, value, p.out)
	case "markdown":
		return markdown.Write(s.Stdout, of(document.Markdown))
	case "tex":
		return tex.Write(s.Stdout, of(document.Markdown))
	case "csv":
		return csv(s.Stdout, value)
	case "html":
		return s.page(p.file(), of(document.Page))
	}
	return text.Write(s.Stdout, of(document.Terminal), text.Options{Width: s.Width, Color: s.Color})
}

func show(s State, r *analysis.Run, out string, all bool) error {
	return view(s, r, paged{out: out}, report.CSV, func(document.Forms) *document.Document {
		return report.Run(r, report.RunOptions{All: all})
	})
}

// encode prints a value as JSON or YAML. If the value is a result of an analysis, encode adds its verdicts and reasons
// as text.
func encode(w io.Writer, v any, out string) error {
	data, err := json.MarshalIndent(wording.JSON(v), "", "  ")
	if err != nil {
		return err
	}
	data = append(safetext.JSON(data), '\n')
	if out == "yaml" {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		v, err := ordered(d)
		if err != nil {
			return err
		}
		data = []byte(yamlOf(v, ""))
	}
	_, err = w.Write(data)
	return err
}

// member is one member of a JSON object. An object is kept as a list of members, in their original order.
type member struct {
	key   string
	value any
}

func ordered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	opening, nested := token.(json.Delim)
	if err != nil || !nested {
		return token, err
	}
	object, list := []member{}, []any{}
	for d.More() {
		var key json.Token = ""
		if opening == '{' {
			if key, err = d.Token(); err != nil {
				return nil, err
			}
		}
		value, err := ordered(d)
		if err != nil {
			return nil, err
		}
		object, list = append(object, member{key.(string), value}), append(list, value)
	}
	if _, err = d.Token(); opening == '[' {
		return list, err
	}
	return object, err
}

const step = "  " // indentation of a nested value

// yamlOf returns a value as YAML with one meaning in YAML 1.1 and 1.2. indent is put before every line except the
// first.
func yamlOf(v any, indent string) string {
	var lines []string
	switch v := v.(type) {
	case []member:
		for _, m := range v {
			between, within := " ", indent
			switch value := m.value.(type) {
			case []member:
				if within += step; len(value) > 0 {
					between = "\n" + within
				}
			case []any:
				if len(value) > 0 {
					between = "\n" + within
				}
			}
			lines = append(lines, yamlKey(m.key)+":"+between+yamlOf(m.value, within))
		}
		return cmp.Or(strings.Join(lines, indent), "{}\n")
	case []any:
		for _, item := range v {
			lines = append(lines, "- "+yamlOf(item, indent+step))
		}
		return cmp.Or(strings.Join(lines, indent), "[]\n")
	case string:
		return yamlText(v, indent) + "\n"
	case json.Number:
		return yamlNumber(v.String()) + "\n"
	case bool:
		return strconv.FormatBool(v) + "\n"
	}
	return "null\n"
}

var (
	// bare matches strings that need no quotes in YAML. An exception are the words that notText matches: they need
	// quotes.
	bare = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9 _./()%+-]*$`)
	// notText matches words that a reader of YAML may take for a boolean or null instead of a text.
	notText = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)
)

func yamlKey(s string) string {
	if bare.MatchString(s) && !notText.MatchString(s) && !strings.HasSuffix(s, " ") {
		return s
	}
	return yamlQuoted(s)
}

// yamlQuoted quotes a string with escapes that are valid in YAML. It escapes invisible characters, and characters that
// act on a terminal.
func yamlQuoted(s string) string { return safetext.Name(strconv.Quote(s)) }

// yamlText returns a string as YAML. Several plain lines become a block of lines.
func yamlText(s, indent string) string {
	if !strings.Contains(s, "\n") {
		return yamlKey(s)
	}
	whole, ended := strings.CutSuffix(s, "\n")
	header := map[bool]string{true: "|", false: "|-"}[ended]
	lines := strings.Split(whole, "\n")
	for _, line := range lines {
		if line == "" || line != strings.TrimSpace(line) || !safetext.Printable(line) {
			return yamlQuoted(s)
		}
	}
	between := "\n" + indent + step
	return header + between + strings.Join(lines, between)
}

// yamlNumber returns a JSON number in a form that every YAML reader takes for a number, such as 1.0e+9. Integers beyond
// 64 bits get a point.
func yamlNumber(s string) string {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(s), "e")
	if !scientific {
		_, signed := strconv.ParseInt(s, 10, 64)
		_, unsigned := strconv.ParseUint(s, 10, 64)
		if signed == nil || unsigned == nil || strings.Contains(s, ".") {
			return s
		}
		return s + ".0"
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exponent[0] != '+' && exponent[0] != '-' {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}

// lines writes text and simple tables within the width of a terminal. It ignores write errors; the command reports them
// at its end.
type lines struct {
	w     io.Writer
	width int // columns of the terminal; 0: unknown, and no line is wrapped
}

func (s State) lines() lines { return lines{s.Stdout, s.Width} }

const least = 20 // smallest width of a wrapped column

// text writes a line of text. The further lines of a wrapped text are indented by two more columns.
func (l lines) text(indent, text string) { l.hanging(indent, indent+"  ", text) }

// hanging writes a text, wrapped if necessary. The string first is put before its first line, and the string indent
// before each further line.
func (l lines) hanging(first, indent, text string) {
	wrapped := []string{text}
	if room := l.width - max(columns.Width(first), columns.Width(indent)); l.width > 0 && columns.Width(text) > room {
		wrapped = columns.Wrap(text, max(room, least))
	}
	for _, line := range wrapped {
		fmt.Fprintln(l.w, strings.TrimRight(first+line, " "))
		first = indent
	}
}

// rows writes rows in columns. The last column is wrapped if necessary. If the terminal is too narrow, the last
// column is written on lines of its own.
func (l lines) rows(indent string, rows [][]string) {
	var widths []int
	widest := 0 // width of the last column
	for _, row := range rows {
		widest = max(widest, columns.Width(row[len(row)-1]))
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns.Width(cell))
		}
	}
	before := columns.Width(indent)
	for _, w := range widths {
		before += w + 2
	}
	for _, row := range rows {
		last := len(row) - 1
		if l.width > 0 && before+min(widest, least) > l.width {
			l.text(indent, strings.Join(row[:last], "  "))
			if row[last] != "" {
				l.hanging(indent+"    ", indent+"    ", row[last])
			}
			continue
		}
		head := indent
		for i, cell := range row[:last] {
			head += columns.Pad(cell, widths[i]+2)
		}
		l.hanging(head, strings.Repeat(" ", before), row[last])
	}
}
