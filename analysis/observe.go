package analysis

import (
	"maps"
	"slices"

	"tare/experiment"
	"tare/journal"
)

// Observation says why a run is no experiment.
type Observation struct {
	Baseline string     `json:"baseline,omitempty"` // name of the arm that the others are compared with
	Arms     []Schedule `json:"arms"`               // how each of the others ran beside it; none: it is alone
	// Differs are the facts that files of some arm and those of the baseline tell
	// differently.
	Differs []string `json:"differs,omitempty"`
}

// Schedule is how the trials of an arm lie in time beside those of the baseline.
type Schedule struct {
	Arm   string `json:"arm"`   // its name
	Times Times  `json:"times"` // a way in which trials lie in time
}

// Times is a way in which the trials of two arms lie in time.
type Times string

// The ways, in the order in which they are told.
const (
	TimesUnknown     Times = "unknown"     // some file of one of them does not tell its start
	TimesApart       Times = "apart"       // one began when the other was over
	TimesOverlap     Times = "overlap"     // they overlap, but one is early and the other late
	TimesBlocks      Times = "blocks"      // they ran in the same stretch of time, but in few long turns
	TimesInterleaved Times = "interleaved" // they ran in the same stretch of time, in no random order
)

// betweenLeast and betweenMost bound the chance that a trial of an arm started
// after one of the baseline, for arms that count as interleaved: a half if both
// are spread over the same time, 0 or 1 if one ran after the other.
const betweenLeast, betweenMost = 0.25, 0.75

// observation says why a run is no experiment, from what its trials tell; nil for
// a run of Tare's own.
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
			blank[arm] = blank[arm] || trials[i].Valid() // a broken file cannot tell
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

// between compares the sorted starts of two arms.
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

// turns is the number of stretches without a change of arm in the order of time;
// of m and n starts in random order it is 1 + 2mn/(m+n) on average (Wald and
// Wolfowitz). Of starts at the same time, those of the arm that is not running
// come first.
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

// differing names the facts that the files of some arm and those of the baseline
// both tell, and tell differently.
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
