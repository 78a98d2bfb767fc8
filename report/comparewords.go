package report

import (
	"fmt"
	"strings"

	"tare/analysis"
	comparing "tare/compare"
	"tare/experiment"
	doc "tare/report/document"
	"tare/wording"
)

// changeName is the arm, or both where they differ.
func changeName(c comparing.Change) string {
	switch {
	case c.Direct:
		return c.To.Arm + " against " + c.From.Arm
	case c.From.Arm == c.To.Arm:
		return c.To.Arm
	}
	return c.From.Arm + " → " + c.To.Arm
}

// changeNote says a change in a sentence.
func changeNote(c comparing.Change) string {
	return fmt.Sprintf("Run %d: %s.", c.To.Run, plain(wording.Told(&c.Comparison)))
}

// ownOverhead writes the overhead of an arm as its run gives it.
func ownOverhead(o comparing.Overhead, m experiment.Metric) string {
	if !o.Known {
		return wording.Missing
	}
	return wording.Estimate(analysis.Comparison{Metric: m, Overhead: o.Overhead, PointOnly: o.PointOnly, Rounds: 1})
}

// comparedRun is a run in a line: "wireguard, 2 January 2026, 12 rounds".
func comparedRun(r comparing.Run) string {
	parts := []string{plain(r.Experiment)}
	if !r.Start.IsZero() {
		parts = append(parts, r.Start.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if r.Paired {
		parts = append(parts, wording.Count(r.Rounds, "round", "rounds"))
	}
	parts = append(parts, wording.Count(r.Trials, "valid trial", "valid trials"))
	if !r.Finished {
		parts = append(parts, "NOT FINISHED")
	}
	if !r.Valid {
		parts = append(parts, "INVALID")
	}
	return strings.Join(parts, ", ")
}

// comparedReference names the reference.
func comparedReference(r *comparing.Result) string {
	return fmt.Sprintf("%s of run %d", plain(r.Reference.Arm), r.Reference.Run)
}

// apartText says which runs have what others have not.
func apartText(a comparing.Apart) string {
	numbers := make([]string, len(a.Runs))
	for i, n := range a.Runs {
		numbers[i] = fmt.Sprint(n)
	}
	text := fmt.Sprintf("%s %s: only in run %s", plain(a.What), plain(a.Name), strings.Join(numbers, ", "))
	if why := wording.Apart(a); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// mostSame is how many things are named of a group in which nothing differs,
// where there is little room.
const mostSame = 12

// sameByGroup names what is the same, group by group: the first most of each; 0
// for all.
func sameByGroup(r *comparing.Result, most int) []doc.Fact {
	names := map[comparing.Group][]string{}
	var order []comparing.Group
	for _, p := range r.Same {
		if names[p.Group] == nil {
			order = append(order, p.Group)
		}
		names[p.Group] = append(names[p.Group], plain(p.Path))
	}
	var list []doc.Fact
	for _, g := range order {
		shown, more := names[g], ""
		if extra := len(shown) - most; most > 0 && extra > 1 {
			shown, more = shown[:most], fmt.Sprintf(" and %d more", extra)
		}
		list = append(list, doc.Fact{Key: plain(string(g)), Value: strings.Join(shown, ", ") + more})
	}
	return list
}

// comparedValues are a property's values by run, a dash where there is none. Of
// the processor's flags, which are many, those that came and went.
func comparedValues(p comparing.Property) []string {
	list := wording.PropertyValues(p)
	for i, v := range list {
		if list[i] = plain(v); list[i] == "" {
			list[i] = wording.Missing
		}
	}
	return list
}

// changeAnswer says a change with where it stands.
func changeAnswer(c comparing.Change) string {
	return fmt.Sprintf("%s on %s in %s, run %d: %s.", plain(changeName(c)), plain(c.Metric.Name), plain(c.Cell), c.To.Run,
		plain(wording.Told(&c.Comparison)))
}
