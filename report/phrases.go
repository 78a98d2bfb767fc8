package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tare/experiment"
	"tare/report/columns"
	"tare/safetext"
	"tare/wording"
)

// plain makes one line of safe text from any string. The result still has to be
// escaped for its format.
func plain(s string) string { return safetext.Line(s) }

// brief is plain for texts that may be of any length, such as what a tool wrote:
// the middle of a very long one is left out.
func brief(s string) string { return columns.Shorten(plain(s), 600, " … ") }

func plainAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = brief(s)
	}
	return out
}

// when is a text that is not always said.
func when(ok bool, text string) string {
	if !ok {
		return ""
	}
	return text
}

// nonEmpty are the texts that are not empty.
func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
}

// join joins the texts that are not empty.
func join(separator string, texts ...string) string {
	return strings.Join(nonEmpty(texts...), separator)
}

// enumerate joins names with commas and "and"; beyond limit it counts them.
func enumerate(names []string, limit int, noun string) string {
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n == 1:
		return names[0]
	case n > limit:
		return fmt.Sprintf("%d %s", n, noun)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// firstFew joins the first texts of a list, and counts the others.
func firstFew(list []string, most int, separator, more string) string {
	if extra := len(list) - most; extra > 0 {
		return strings.Join(list[:most], separator) + fmt.Sprintf("%s%d more", more, extra)
	}
	return strings.Join(list, separator)
}

// number writes how many there are, without a noun.
func number(n int) string { return wording.Number(float64(n), 9) }

// sentence gives text a capital and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return upperFirst(text) + "."
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

const beforeTrusting = "Before trusting these numbers"

// exploratoryTitle heads what was not the question of a run, with how it is to be
// taken.
const (
	exploratoryTitle = "Exploratory metrics"
	exploratoryNote  = "not corrected for their number: hints, not findings"
)

// observedMark stands behind the claims of what is no experiment, observedNote
// below them.
const (
	observedMark = "(obs.)"
	observedNote = observedMark + ": observational, no experiment; see above."
)

// ifNormalMark stands behind claims that rest on normal noise, ifNormalNote below them.
const (
	ifNormalMark = "if normal"
	ifNormalNote = "if normal: a claim that holds if noise is normal, which so few values cannot show."
)

// better says which direction of a metric is better, where that is known.
func better(m experiment.Metric) string {
	return when(m.Better != "", plain(string(m.Better))+" is better")
}

// notShown says how many exploratory metrics are left out.
func notShown(n int) string {
	return wording.Count(n, "exploratory metric is", "exploratory metrics are") + " not shown (--all shows them)"
}

// generatedOn is when a page was made; "" if that is not known.
func generatedOn(t time.Time) string { return when(!t.IsZero(), " on "+minuteOf(t)) }

// minuteOf is a time for reading; "" if it is not known.
func minuteOf(t time.Time) string {
	return when(!t.IsZero(), t.UTC().Format("2 January 2006, 15:04 UTC"))
}
