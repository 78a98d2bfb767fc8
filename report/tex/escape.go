package tex

import (
	"strings"

	"tare/report/document"
	"tare/safetext"
)

// special escapes the characters that have a meaning in LaTeX, and those that its usual fonts have only
// in mathematics. It also escapes brackets and stars, which LaTeX would read as an option of the row
// before.
var special = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `_`, `\_`, `%`, `\%`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
	`"`, `''`, "`", `\textasciigrave{}`, `[`, `{[}`, `]`, `{]}`, `*`, `{*}`, `--`, `-{}-{}`,
	"−", "$-$", "±", `$\pm$`, "×", `$\times$`, "≈", `$\approx$`, "≤", `$\leq$`, "≥", `$\geq$`, "→", `$\to$`,
	"µ", `$\mu$`, "μ", `$\mu$`, "δ", `$\delta$`, "σ", `$\sigma$`, "–", "--", "…", `\dots{}`, "\u00a0", "~", "\u202f", `\,`,
)

// Escape makes any string inert as text on one line of LaTeX.
func Escape(s string) string { return special.Replace(safetext.Line(s)) }

// lines writes the lines of a cell as one line. It leaves out the signs of verdicts, since the words say
// the same.
func lines(c document.Cell) string {
	var parts []string
	for _, line := range c.Lines {
		if text := strings.TrimSpace(line.String()); text != "" {
			parts = append(parts, Escape(text))
		}
	}
	return strings.Join(parts, "; ")
}
