package tex

import (
	"strings"

	"tare/report/document"
	"tare/safetext"
)

// special are the characters that LaTeX acts on, those that its usual fonts have in mathematics only,
// and brackets and stars, which would belong to the end of the row before.
var special = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `_`, `\_`, `%`, `\%`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
	`"`, `''`, "`", `\textasciigrave{}`, `[`, `{[}`, `]`, `{]}`, `*`, `{*}`, `--`, `-{}-{}`,
	"−", "$-$", "±", `$\pm$`, "×", `$\times$`, "≈", `$\approx$`, "≤", `$\leq$`, "≥", `$\geq$`, "→", `$\to$`,
	"µ", `$\mu$`, "μ", `$\mu$`, "δ", `$\delta$`, "σ", `$\sigma$`, "–", "--", "…", `\dots{}`, "\u00a0", "~", "\u202f", `\,`,
)

// Escape makes any string inert as text on one line of LaTeX.
func Escape(s string) string { return special.Replace(safetext.Line(s)) }

// lines are those of a cell, as one. The sign of a verdict is left out: the words say it.
func lines(c document.Cell) string {
	var parts []string
	for _, line := range c.Lines {
		if text := strings.TrimSpace(line.String()); text != "" {
			parts = append(parts, Escape(text))
		}
	}
	return strings.Join(parts, "; ")
}
