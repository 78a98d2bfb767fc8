package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/safetext"
)

// quoted is how many characters of a line that a program printed a sentence shows.
const quoted = 160

// howMuch says how much was printed or answered.
var howMuch = map[string]string{analysis.FarLess: "far less", analysis.FarMore: "far more", analysis.OtherLines: "another number of lines"}

// otherwise says in a clause what programs do otherwise in an arm than in the baseline.
func otherwise(f analysis.OtherBehaviour) string {
	return fmt.Sprintf("the program does not do the same as in the baseline: %s in %d of %s (baseline and control: %d of %d)",
		sighting(f), f.Count, Count(f.Of, "trial", "trials"), f.Reference, f.Among)
}

// sighting names what was seen.
func sighting(f analysis.OtherBehaviour) string {
	what := safetext.Head(f.Mark, quoted)
	switch f.Aspect {
	case experiment.Stderr:
		what = `"` + what + `" on stderr`
	case experiment.Exit:
		what = "exit status " + what
	case experiment.Output, experiment.Answers:
		if strings.HasPrefix(what, "sha256:") {
			what = "other bytes"
		}
		what = cmp.Or(howMuch[what], what) + map[experiment.Aspect]string{experiment.Output: " on stdout", experiment.Answers: " in answers"}[f.Aspect]
	}
	if f.More > 0 {
		what += fmt.Sprintf(" (and %d more of the kind)", f.More)
	}
	return what
}

// behaviourFinding is the same with what follows from it.
func behaviourFinding(f analysis.OtherBehaviour) string {
	text := otherwise(f)
	if f.Raw != "" {
		text += ", see " + safetext.Line(f.Raw)
	}
	meant := fmt.Sprintf("allow: %s in the arm says that it is meant", f.Aspect)
	switch {
	case f.Withholds:
		return text + "; what does not do its work is fast, so gains and equivalence are withheld; " + meant
	case f.OtherProgram:
		return text + "; the arm runs another program, so its verdicts stand; " + meant
	}
	return text + "; so few trials may do that by chance, so the verdicts stand; " + meant
}
