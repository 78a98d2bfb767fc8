package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// maxQuoted is the largest number of characters that a sentence quotes from a line of a program's output.
const maxQuoted = 160

// amounts maps the marks of changed amounts of output to words.
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

// minLoss is the smallest share of lost packets or segments that a sentence mentions.
const minLoss = 0.001

// bound words the finding that a resource other than the measured one was used up.
func bound(f analysis.Bound) string {
	r, says := f.Resource, "the results show what that allows, not what the "+f.Tests+" could do"
	if f.Tests == experiment.TestsNetwork && r.Name == testbed.ResourceWire {
		says = "it limits the bandwidth, and further costs of a layer show in CPU time alone"
	}
	text := "bound by " + ResourceName(r.Name)
	if r.Name == testbed.ResourceWire {
		text += fmt.Sprintf(" (%s, %s used)", Value(r.Of, "bit/s"), Share(r.Used))
	} else if r.Of > 0 {
		text += fmt.Sprintf(" (%s of %s)", Share(r.Used), Number(r.Of, 6))
	}
	if f.Arms != nil {
		text += " in " + strings.Join(f.Arms, ", ")
	}
	if share := float64(r.Dropped) / float64(r.Packets); share >= minLoss {
		text += ", " + Share(share) + " of its packets dropped"
	}
	if share := float64(r.Retransmitted) / float64(r.Segments); share >= minLoss {
		text += ", " + Share(share) + " of TCP segments sent again"
	}
	if r.Timeouts > 0 {
		text += ", " + Count(int(r.Timeouts), "TCP timeout", "TCP timeouts")
	}
	return text + ": " + says
}

// ResourceName names a resource that programs share.
func ResourceName(name string) string {
	switch name {
	case testbed.ResourceMachine:
		return "the machine's processors, which all programs share"
	case testbed.ResourceClient, testbed.ResourceServer:
		return "the processors of the " + name + "'s machine"
	}
	return "the " + name
}
