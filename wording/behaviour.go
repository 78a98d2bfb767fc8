package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/safetext"
)

// maxQuoted is the largest number of characters that a sentence quotes from a line of a program's output.
const maxQuoted = 160

// amounts words the marks for a changed amount of output or answers.
var amounts = map[string]string{analysis.FarLess: "far less", analysis.FarMore: "far more", analysis.OtherLines: "another number of lines"}

// behaviourText states in a clause how a program behaves differently in an arm than in the baseline.
func behaviourText(f analysis.OtherBehaviour) string {
	return fmt.Sprintf("the program does not do the same as in the baseline: %s in %d of %s (baseline and control: %d of %d)",
		markText(f), f.Count, Count(f.Of, "trial", "trials"), f.Reference, f.Among)
}

// markText names the behaviour that was seen, such as an exit status or a line on stderr.
func markText(f analysis.OtherBehaviour) string {
	what := safetext.Head(f.Mark, maxQuoted)
	switch f.Aspect {
	case experiment.Stderr:
		what = `"` + what + `" on stderr`
	case experiment.Exit:
		what = "exit status " + what
	case experiment.Output, experiment.Answers:
		if strings.HasPrefix(what, "sha256:") {
			what = "other bytes"
		}
		what = cmp.Or(amounts[what], what) + map[experiment.Aspect]string{experiment.Output: " on stdout", experiment.Answers: " in answers"}[f.Aspect]
	}
	if f.More > 0 {
		what += fmt.Sprintf(" (and %d more of the kind)", f.More)
	}
	return what
}

// behaviourFinding is behaviourText with its consequence for the verdicts.
func behaviourFinding(f analysis.OtherBehaviour) string {
	text := behaviourText(f)
	if f.Raw != "" {
		text += ", see " + safetext.Line(f.Raw)
	}
	meant := fmt.Sprintf("allow: %s in the arm declares it as intended", f.Aspect)
	switch {
	case f.Withholds:
		return text + "; a program that does not do its work is fast, so gains and equivalence are withheld; " + meant
	case f.OtherProgram:
		return text + "; the arm runs another program, so its verdicts stand; " + meant
	}
	return text + "; so few trials may differ by chance, so the verdicts stand; " + meant
}
