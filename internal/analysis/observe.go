package analysis

import (
	"maps"
	"slices"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// Observation lists the weaknesses of data that come from no experiment.
type Observation struct {
	Baseline string     `json:"baseline,omitempty"` // name of the arm that the other arms are compared with
	Arms     []Schedule `json:"arms"`               // for each other arm, when it ran relative to the baseline; empty: the run has no other arm
	// Differs names facts in the imported files that differ between the baseline and some other arm, such as a kernel
	// version.
	Differs []string `json:"differs,omitempty"`
}

// Schedule tells when an arm's trials ran, relative to the baseline's trials.
type Schedule struct {
	Arm   string `json:"arm"`   // name of the arm
	Times Times  `json:"times"` // class of the position in time
}

// Times says when the trials of two arms ran relative to each other.
type Times string

// The classes of Times, in the order in which output lists them.
const (
	TimesUnknown     Times = "unknown"     // a file of one of the two arms has no start time
	TimesApart       Times = "apart"       // one arm began when the other had ended
	TimesOverlap     Times = "overlap"     // the arms ran partly at the same time, but one of them mostly earlier
	TimesBlocks      Times = "blocks"      // the arms took turns over the same time, but each turn had many trials
	TimesInterleaved Times = "interleaved" // trials of both arms alternated over the same time, but not in random order
)

// betweenLeast and betweenMost limit the share of trial combinations in which the arm's trial started after the
// baseline's. In between, the arms ran over one period.
const betweenLeast, betweenMost = 0.25, 0.75

// observation returns the weaknesses of an imported run; nil for a run that Tare carried out.
func observation(plan *experiment.Plan, trials []journal.Trial) *Observation {
	if plan.Import == nil {
		return nil
	}
	o := &Observation{Differs: differing(plan)}
	if o.Baseline = plan.ArmWith(experiment.Baseline); o.Baseline == "" {
		return o
	}
	starts := map[string][]int64{}
	blank := map[string]bool{}
	for i := range trials {
		arm := trials[i].Arm
		if trials[i].Start.IsZero() {
			blank[arm] = blank[arm] || trials[i].Valid() // an invalid trial without a start does not count: its file may have been unreadable
			continue
		}
		starts[arm] = append(starts[arm], trials[i].Start.UnixNano())
	}
	for _, s := range starts {
		slices.Sort(s)
	}
	for _, arm := range plan.Arms {
		if arm.Name == o.Baseline {
			continue
		}
		times := TimesUnknown
		if !blank[o.Baseline] && !blank[arm.Name] {
			times = between(starts[o.Baseline], starts[arm.Name])
		}
		o.Arms = append(o.Arms, Schedule{Arm: arm.Name, Times: times})
	}
	return o
}

func between(base, arm []int64) Times {
	if len(base) == 0 || len(arm) == 0 {
		return TimesUnknown
	}
	if base[len(base)-1] < arm[0] || arm[len(arm)-1] < base[0] {
		return TimesApart
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
		return TimesOverlap
	}
	m, n := float64(len(base)), float64(len(arm))
	if mixed := 1 + 2*m*n/(m+n); float64(turns(base, arm)) < mixed/2 {
		return TimesBlocks
	}
	return TimesInterleaved
}

// turns counts the periods in which only one arm starts trials: 1 + 2mn/(m+n) on average for m and n starts in random
// order (Wald and Wolfowitz).
func turns(base, arm []int64) int {
	count, last := 0, -1
	for len(base) > 0 || len(arm) > 0 {
		next := 0
		if len(base) == 0 || len(arm) > 0 && (arm[0] < base[0] || arm[0] == base[0] && last == 0) {
			next, arm = 1, arm[1:]
		} else {
			base = base[1:]
		}
		if next != last {
			count, last = count+1, next
		}
	}
	return count
}

// differing returns the names of facts that differ between an arm's files and the baseline's. A fact that one side
// lacks does not count.
func differing(plan *experiment.Plan) []string {
	baseline := plan.ArmWith(experiment.Baseline)
	facts := map[string]map[string][]string{}
	for _, a := range plan.Import.Arms {
		facts[a.Name] = a.Facts
	}
	unlike := map[string]bool{}
	for _, arm := range plan.Arms {
		for name, values := range facts[arm.Name] {
			if ours := facts[baseline][name]; len(ours) > 0 && len(values) > 0 && !sameSet(ours, values) {
				unlike[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(unlike))
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}
