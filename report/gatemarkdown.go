package report

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"tare/gate"
	"tare/wording"
)

// GateMarkdown writes a gate as a summary fit for a pull request: the outcome in
// one line, a table, and the reasons folded away. Link is where the report of the
// run is, as a URL or a relative path; empty for none.
func GateMarkdown(w io.Writer, r *gate.Result, link string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "### %s %s\n\n", gateMark(r.Outcome, false), md(upperFirst(GateLine(r))))
	fmt.Fprintf(b, "%s.", md(gateAbout(r)))
	if link != "" {
		fmt.Fprintf(b, " %s", mdLink("Report", link))
	}
	fmt.Fprint(b, "\n\n")
	if label := gateObservational(r); label != "" {
		fmt.Fprintf(b, "**%s**\n\n", md(upperFirst(label)))
	}
	gateMarkdownList(b, append(gateReasons(r), gateShared(r)...))
	gateMarkdownTable(b, r)
	gateMarkdownDetails(b, r)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

func gateMarkdownTable(b *bufio.Writer, r *gate.Result) {
	fmt.Fprintf(b, "| | arm | metric | cell | limit | overhead | %s interval |\n|---|---|---|---|--:|--:|--:|\n", md(wording.Share(r.Confidence)))
	for _, c := range r.Cases {
		point, interval := gateOverhead(c)
		fmt.Fprintf(b, "| %s %s | %s | %s | %s | %s | %s | %s |\n", gateMark(c.Outcome, false), c.Outcome, md(c.Arm), md(gateWhat(c)), md(c.Cell),
			md(c.Budget.String()), md(point), md(interval))
	}
	fmt.Fprintln(b)
}

func gateMarkdownDetails(b *bufio.Writer, r *gate.Result) {
	fmt.Fprint(b, "<details><summary>Why</summary>\n\n")
	var list []string
	shared := gateShared(r)
	for _, c := range r.Cases {
		if c.Outcome != gate.Unresolved || !slices.Contains(shared, gateWhy(r, c)) {
			list = append(list, gateSentence(r, c))
		}
	}
	gateMarkdownList(b, list)
	if warnings := gateWarnings(r); len(warnings) > 0 {
		fmt.Fprint(b, "Before trusting these numbers:\n\n")
		gateMarkdownList(b, warnings)
	}
	fmt.Fprintf(b, "%s\n\n</details>\n", md(gateLegend(r)))
}

// gateMarkdownList writes texts as a list, if there are any.
func gateMarkdownList(b *bufio.Writer, list []string) {
	for _, text := range list {
		fmt.Fprintf(b, "- %s\n", md(text))
	}
	if len(list) > 0 {
		fmt.Fprintln(b)
	}
}

// gateLegend says how the numbers are to be read.
func gateLegend(r *gate.Result) string {
	return fmt.Sprintf("Plus is a cost. A case passes when its interval ends within the limit, and fails when the overhead is shown to be over it; the chance of any false failure is at most %s.",
		wording.Share(r.Level))
}

// mdLink is a link to a page of the web or a file below this one; anything else
// is written out as text.
func mdLink(text, to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" || u.Scheme == "" && u.Host != "" {
		return md(text + ": " + to)
	}
	safe := strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C", "\n", "", "\r", "").Replace(u.String())
	return "[" + md(text) + "](<" + safe + ">)"
}
