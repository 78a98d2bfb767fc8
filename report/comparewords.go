package report

import (
	"cmp"
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

// runNote says what a comparison of a run shows.
func runNote(run int, c *analysis.Comparison) string {
	return fmt.Sprintf("Run %d: %s.", run, plain(wording.Told(c)))
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
	return plain(r.Experiment) + ", " + join(", ", when(!r.Start.IsZero(), r.Start.UTC().Format("2006-01-02 15:04 UTC")),
		when(r.Paired, wording.Count(r.Rounds, "round", "rounds")), wording.Count(r.Trials, "valid trial", "valid trials"),
		when(!r.Finished, "NOT FINISHED"), when(!r.Valid, "INVALID"))
}

// apartText says which runs have what others have not.
func apartText(a comparing.Apart) string {
	why := wording.Apart(a)
	return fmt.Sprintf("%s %s: only in run %s", plain(a.What), plain(a.Name), places(a.Runs)) + when(why != "", " ("+why+")")
}

// mostSame is how many things are named of a group in which nothing differs,
// where there is little room.
const mostSame = 12

// sameByGroup names what is the same, group by group: the first most of each; 0
// for all.
func sameByGroup(r *comparing.Result, most int) []doc.Fact {
	type group struct {
		comparing.Group
		names []string
	}
	var groups []group
	for _, p := range r.Same {
		g := found(&groups, func(g group) bool { return g.Group == p.Group }, group{Group: p.Group})
		g.names = append(g.names, plain(p.Path))
	}
	var list []doc.Fact
	for _, g := range groups {
		value := strings.Join(g.names, ", ")
		if most > 0 && len(g.names) > most+1 {
			value = firstFew(g.names, most, ", ", " and ")
		}
		list = append(list, doc.Fact{Key: plain(string(g.Group)), Value: value})
	}
	return list
}

// comparedValues are a property's values by run, a dash where there is none. Of
// the processor's flags, which are many, those that came and went.
func comparedValues(p comparing.Property) []string {
	list := wording.PropertyValues(p)
	for i, v := range list {
		list[i] = cmp.Or(plain(v), wording.Missing)
	}
	return list
}

// changeAnswer says a change with where it stands.
func changeAnswer(c comparing.Change) string {
	return fmt.Sprintf("%s on %s in %s, run %d: %s.", plain(changeName(c)), plain(c.Metric.Name), plain(c.Cell), c.To.Run,
		plain(wording.Told(&c.Comparison)))
}
