package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tare/analysis"
)

// Markdown writes the run as GitHub-flavoured Markdown: the summary, a table of
// results for each cell, warnings, proofs and invalid trials by rule. Strings of
// the run are escaped, so that they are neither markup nor HTML.
func Markdown(w io.Writer, r *analysis.Run) error {
	b := bufio.NewWriter(w)
	s := arrange(r)
	name := plain(s.plan.Name)
	if name == "" {
		name = "Run"
	}
	fmt.Fprintf(b, "# %s\n\n", md(name))
	if d := plain(s.plan.Description); d != "" {
		fmt.Fprintf(b, "%s\n\n", md(d))
	}
	if !r.Valid {
		fmt.Fprintf(b, "**This run gives no verdicts.**\n\n")
		for _, reason := range r.Reasons {
			fmt.Fprintf(b, "- %s\n", md(brief(reason)))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintf(b, "%s %s\n\n", md(s.asked()), md(s.done()))
	s.markdownSources(b)
	for _, a := range s.answers() {
		fmt.Fprintf(b, "- %s\n", md(a.Text))
	}
	fmt.Fprintln(b)
	for _, text := range append([]string{s.controlSentence()}, s.limits()...) {
		if text != "" {
			fmt.Fprintf(b, "%s\n\n", md(text))
		}
	}
	s.markdownWarnings(b)
	s.markdownResults(b, true)
	s.markdownResults(b, false)
	s.markdownScaling(b)
	s.markdownEvidence(b)
	fmt.Fprintf(b, "%s\n", md(s.legend(false)))
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

func (s *sheet) markdownWarnings(b *bufio.Writer) {
	list := s.warnings(true)
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "**Before trusting these numbers**\n\n")
	for _, w := range list {
		fmt.Fprintf(b, "- %s\n", md(w))
	}
	fmt.Fprintln(b)
}

// markdownResults writes a table for each cell.
func (s *sheet) markdownResults(b *bufio.Writer, headline bool) {
	title := "Results"
	if !headline {
		title = "Exploratory metrics"
	}
	for i, block := range s.pageBlocks(headline) {
		if i == 0 {
			fmt.Fprintf(b, "## %s\n\n", title)
		}
		fmt.Fprintf(b, "### %s\n\n", md(block.ID))
		if block.Loop != "" {
			fmt.Fprintf(b, "%s\n\n", md(block.Loop))
		}
		fmt.Fprintf(b, "| metric | arm | verdict | overhead | interval | %s | arm | smallest visible | %s |\n", md(s.baseline), strings.ToLower(s.sizeHead()))
		fmt.Fprintf(b, "|---|---|---|--:|--:|--:|--:|--:|--:|\n")
		for _, g := range block.Groups {
			for _, row := range g.Rows {
				verdict := row.Verdict.Word
				if row.Verdict.Observed {
					verdict += " " + observedMark
				}
				if row.Control {
					verdict = "*noise floor*"
				}
				if g.Restates != "" {
					verdict += ", restates " + md(g.Restates)
				}
				if row.Aside != "" {
					verdict += "; " + md(row.Aside)
				}
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", md(g.Metric), md(row.Arm), verdict, md(row.Point),
					md(row.Interval), md(g.Baseline), md(row.Median), md(row.MDE), row.Rounds)
			}
		}
		fmt.Fprintln(b)
	}
}

// markdownEvidence writes the proofs and the invalid trials.
func (s *sheet) markdownEvidence(b *bufio.Writer) {
	if len(s.run.Proofs) > 0 {
		fmt.Fprintf(b, "## Proof of treatment\n\n| arm | layer | check | expected | observed | made | passed | failed |\n|---|---|---|---|---|---|--:|--:|\n")
		for _, p := range s.proofs() {
			made := "in every trial"
			if p.Once {
				made = "once"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d | %d |\n", md(p.Arm), md(p.Layer), md(p.Name), md(brief(p.Expected)),
				md(brief(p.Example)), made, p.Passed, p.Failed)
		}
		fmt.Fprintln(b)
	}
	s.markdownFacts(b)
	s.markdownClusters(b)
	if len(s.run.Trials.ByRule) > 0 {
		fmt.Fprintf(b, "## Invalid trials\n\n| rule | trials |\n|---|--:|\n")
		for _, rule := range rules(s.run.Trials.ByRule) {
			fmt.Fprintf(b, "| %s | %d |\n", md(rule), s.run.Trials.ByRule[rule])
		}
		fmt.Fprintln(b)
	}
	s.markdownFiles(b)
}

// special are the characters that Markdown or HTML could act on anywhere in a
// line, written as themselves.
var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`,
	"!", `\!`, "$", `\$`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

// md makes any string inert as one line of Markdown, in a table as well.
func md(s string) string { return special.Replace(plain(s)) }
