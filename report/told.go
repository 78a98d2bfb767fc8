package report

import (
	"strings"

	"tare/analysis"
	"tare/wording"
)

// The text of a comparison stands alone in JSON and CSV, and says all of itself.
// Where people read it, much of that stands beside it already: here it is taken
// apart.

// why says why a comparison is not resolved: what its text says beyond the
// estimate, which stands beside it already.
func why(c analysis.Comparison) string {
	text := strings.TrimPrefix(strings.TrimPrefix(verdictText(c), "not resolved"), ": ")
	if _, rest, ok := strings.Cut(text, "] "); ok {
		text = rest
	} else if _, rest, ok := strings.Cut(text, "], "); ok {
		text = strings.TrimPrefix(rest, "but ")
	}
	if inner, ok := strings.CutPrefix(text, "("); ok {
		text = strings.TrimSuffix(inner, ")")
	}
	if text == "" || strings.HasSuffix(text, "]") {
		return unseen(c)
	}
	return text
}

// verdictText is a comparison's text without what it says of its kind, which
// stands beside the verdict in many places.
func verdictText(c analysis.Comparison) string {
	text := brief(c.Text)
	for _, head := range []string{"observational: ", "exploratory: ", "restates " + brief(c.Restates) + ": "} {
		text = strings.TrimPrefix(text, head)
	}
	return text
}

// told is a comparison's text where nothing stands beside it: of what kind the
// claim is before it, what it restates behind it.
func told(c analysis.Comparison) string {
	var kinds []string
	if observed(c) {
		kinds = append(kinds, "observational")
	}
	if !c.Metric.Headline {
		kinds = append(kinds, "exploratory")
	}
	text := strings.TrimSuffix(verdictText(c), ".")
	if kinds != nil {
		text = strings.Join(kinds, ", ") + ": " + text
	}
	if c.Restates != "" {
		text += "; restates " + plain(c.Restates)
	}
	return text
}

// unseen says what a comparison could not see and what it would take.
func unseen(c analysis.Comparison) string {
	rounds, round := "rounds", "round"
	if !c.Paired {
		rounds, round = "values per arm", "value per arm"
	}
	if c.MDE <= 0 || !wording.Finite(c.MDE) {
		return "the " + rounds + " are too few to say what could be seen"
	}
	text := "differences under " + wording.Size(c.Metric, c.MDE) + " cannot be seen here"
	if c.Needed > 0 {
		text += "; about " + wording.Count(c.Needed, round, rounds) + " would"
	}
	return text
}
