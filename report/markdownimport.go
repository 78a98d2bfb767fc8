package report

import (
	"bufio"
	"fmt"
	"strings"

	"tare/wording"
)

// markdownSources writes what makes the run observational and where its trials
// are from.
func (s *sheet) markdownSources(b *bufio.Writer) {
	if o := s.observed(); o != "" {
		fmt.Fprintf(b, "**%s**\n\n", md(o))
	}
	for i, a := range s.sources() {
		if i == 0 {
			fmt.Fprintf(b, "| arm | trials from |\n|---|---|\n")
		}
		fmt.Fprintf(b, "| %s | %s |\n", md(a.Key), md(a.Value))
		if i == len(s.plan.Import.Arms)-1 {
			fmt.Fprintln(b)
		}
	}
}

// markdownFacts writes what the files tell of their machines, by arm.
func (s *sheet) markdownFacts(b *bufio.Writer) {
	facts := s.armFacts()
	if len(facts) == 0 {
		return
	}
	fmt.Fprintf(b, "## Machines and versions\n\n| fact |")
	for _, a := range s.plan.Import.Arms {
		fmt.Fprintf(b, " %s |", md(a.Name))
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(s.plan.Import.Arms)))
	for _, f := range facts {
		name := md(f.Name)
		if f.Differs {
			name = "**" + name + "**"
		}
		fmt.Fprintf(b, "| %s |", name)
		for _, v := range f.Values {
			fmt.Fprintf(b, " %s |", md(v))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
}

// mostMarkdownFiles is how many invalid files Markdown lists.
const mostMarkdownFiles = 50

// markdownFiles lists the imported files that gave no data.
func (s *sheet) markdownFiles(b *bufio.Writer) {
	if !s.imported() {
		return
	}
	files := s.invalidFiles()
	for i, f := range files {
		if i == mostMarkdownFiles {
			fmt.Fprintf(b, "- %s more\n", wording.Count(len(files)-i, "file", "files"))
			break
		}
		fmt.Fprintf(b, "- %s\n", md(f.text()))
	}
	if len(files) > 0 {
		fmt.Fprintln(b)
	}
}
