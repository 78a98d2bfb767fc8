package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/experiment"
	"tare/journal"
)

// schedule is how the trials of an arm lie in time beside those of the baseline.
type schedule int

const (
	unknown  schedule = iota // some file of one of them does not tell its start
	apart                    // one began when the other was over
	partly                   // they overlap, but one is early and the other late
	blocks                   // they ran in the same stretch of time, but in few long turns
	together                 // they ran in the same stretch of time
)

// betweenLeast and betweenMost bound the chance that a trial of an arm started
// after one of the baseline, for arms that count as interleaved: a half if both
// are spread over the same time, 0 or 1 if one ran after the other.
const betweenLeast, betweenMost = 0.25, 0.75

// observational says why a run is no experiment, from what its trials tell; ""
// for a run of Tare's own.
func observational(plan *experiment.Plan, trials []journal.Trial) string {
	if plan.Import == nil {
		return ""
	}
	text := scheduled(plan, trials)
	if names := differing(plan); len(names) > 0 {
		const most = 6
		if more := len(names) - most; more > 1 {
			names = append(names[:most], fmt.Sprintf("%d more", more))
		}
		text += ", on systems or with settings that differ in " + strings.Join(names, ", ")
	}
	return text
}

// scheduled says how the arms were run.
func scheduled(plan *experiment.Plan, trials []journal.Trial) string {
	starts := map[string][]int64{}
	blank := map[string]bool{}
	for i := range trials {
		arm := trials[i].Arm
		if trials[i].Start.IsZero() {
			blank[arm] = blank[arm] || trials[i].Valid() // a broken file cannot tell
			continue
		}
		starts[arm] = append(starts[arm], trials[i].Start.UnixNano())
	}
	for _, s := range starts {
		slices.Sort(s)
	}
	base := role(plan, experiment.Baseline)
	if base < 0 {
		return "when the arms ran is not told"
	}
	names := map[schedule][]string{}
	for i, arm := range plan.Arms {
		if i != base {
			b := plan.Arms[base].Name
			s := unknown
			if !blank[b] && !blank[arm.Name] {
				s = between(starts[b], starts[arm.Name])
			}
			names[s] = append(names[s], arm.Name)
		}
	}
	if len(names) == 0 {
		return "one arm alone, with no baseline beside it"
	}
	if len(names) == 1 {
		for s := range names {
			return allAlike[s]
		}
	}
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(names)) {
		parts = append(parts, fmt.Sprintf(someOf[s], strings.Join(names[s], ", "), plan.Arms[base].Name))
	}
	return strings.Join(parts, "; ")
}

// allAlike and someOf word a schedule: of all arms, or of those named.
var (
	allAlike = map[schedule]string{
		unknown:  "when the arms ran is not told",
		apart:    "arms ran one after the other",
		partly:   "arms overlapped in time only in part",
		blocks:   "arms took turns in long blocks",
		together: "arms interleaved in time, in an order that was not drawn at random",
	}
	someOf = map[schedule]string{
		unknown:  "when %s ran is not told",
		apart:    "%s ran before or after %s",
		partly:   "%s overlapped with %s in time only in part",
		blocks:   "%s took turns with %s in long blocks",
		together: "%s interleaved in time with %s, in an order that was not drawn at random",
	}
)

// between compares the sorted starts of two arms.
func between(base, arm []int64) schedule {
	if len(base) == 0 || len(arm) == 0 {
		return unknown
	}
	if base[len(base)-1] < arm[0] || arm[len(arm)-1] < base[0] {
		return apart
	}
	later, below, upTo := 0.0, 0, 0
	for _, s := range arm {
		for below < len(base) && base[below] < s {
			below++
		}
		for upTo < len(base) && base[upTo] <= s {
			upTo++
		}
		later += float64(below+upTo) / 2
	}
	if share := later / float64(len(base)) / float64(len(arm)); share < betweenLeast || share > betweenMost {
		return partly
	}
	m, n := float64(len(base)), float64(len(arm))
	if mixed := 1 + 2*m*n/(m+n); float64(turns(base, arm)) < mixed/2 {
		return blocks
	}
	return together
}

// turns is the number of stretches without a change of arm in the order of time;
// of m and n starts in random order it is 1 + 2mn/(m+n) on average (Wald and
// Wolfowitz). Of starts at the same time, those of the arm that is not running
// come first.
func turns(base, arm []int64) int {
	count, last := 0, -1
	for len(base) > 0 || len(arm) > 0 {
		next := 0
		switch {
		case len(base) == 0:
			next = 1
		case len(arm) > 0 && (arm[0] < base[0] || arm[0] == base[0] && last == 0):
			next = 1
		}
		if next == 0 {
			base = base[1:]
		} else {
			arm = arm[1:]
		}
		if next != last {
			count, last = count+1, next
		}
	}
	return count
}

// differing names the facts that the files of some arm and those of the baseline
// both tell, and tell differently.
func differing(plan *experiment.Plan) []string {
	base := role(plan, experiment.Baseline)
	if base < 0 {
		return nil
	}
	facts := map[string]map[string][]string{}
	for _, a := range plan.Import.Arms {
		facts[a.Name] = a.Facts
	}
	of := facts[plan.Arms[base].Name]
	unlike := map[string]bool{}
	for i, arm := range plan.Arms {
		if i == base {
			continue
		}
		for name, values := range facts[arm.Name] {
			if ours := of[name]; len(ours) > 0 && len(values) > 0 && !sameSet(ours, values) {
				unlike[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(unlike))
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}
