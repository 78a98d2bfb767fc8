package analysis

import (
	"cmp"
	"maps"
	"slices"

	"tare/internal/run/journal"
	"tare/internal/testbed"
)

// QuotaVerdict says whether an observed component reached its limits of CPU and memory.
type QuotaVerdict string

// The verdicts, the gravest first. A component that reached several limits has the gravest verdict.
const (
	QuotaKilled    QuotaVerdict = "killed"    // the kernel killed a process for lack of memory
	QuotaThrottled QuotaVerdict = "throttled" // the limit of CPU stopped the component in some periods
	QuotaFull      QuotaVerdict = "full"      // memory, page cache included, came within 1 % of its limit
	QuotaWithin    QuotaVerdict = "within"    // no limit was reached
	QuotaNone      QuotaVerdict = "no limit"  // there is no limit of CPU or memory
)

// fullMemory is the share of the limit at which memory counts as full. The kernel reclaims page cache before a cgroup
// exceeds its limit, so the peak may stay just below.
const fullMemory = 0.99

// QuotaSummary says how near to its limits an observed component came in one arm: in the trials of a cell, valid or not,
// or before them.
type QuotaSummary struct {
	Component string `json:"component"` // name in the experiment's observe
	Arm       string `json:"arm"`       // name of the arm
	// Cell is the cell of the trials; "": the time from the containers' start to the arm's first trial.
	Cell   string        `json:"cell,omitempty"`
	Trials int           `json:"trials,omitempty"` // number of trials that have these figures
	Quota  testbed.Quota `json:"quota"`            // sums over the trials, and the largest peak
	// Throttled is the share of the periods of the CPU limit in which the limit stopped the component.
	Throttled float64      `json:"throttled"`
	Verdict   QuotaVerdict `json:"verdict"`
}

func (q *QuotaSummary) judge() {
	u := &q.Quota
	q.Throttled = u.InTrial().Share()
	switch {
	case u.Kills > 0 || q.Cell == "" && u.Killed:
		q.Verdict = QuotaKilled
	case u.Throttled > 0:
		q.Verdict = QuotaThrottled
	case u.Memory > 0 && float64(u.Peak) >= fullMemory*float64(u.Memory):
		q.Verdict = QuotaFull
	case u.CPU == 0 && u.Memory == 0:
		q.Verdict = QuotaNone
	default:
		q.Verdict = QuotaWithin
	}
}

// quotas judges every observed component in every arm: first the time before the arm's first trial, then the trials of
// each cell.
func quotas(trials []journal.Trial) (list []QuotaSummary) {
	for i := range trials {
		t := &trials[i]
		for _, name := range slices.Sorted(maps.Keys(t.Quotas)) {
			q := t.Quotas[name]
			start := func(s QuotaSummary) bool { return s.Component == name && s.Arm == t.Arm }
			if !slices.ContainsFunc(list, start) {
				before := q
				before.Kills = 0
				before.Periods, before.Throttled, before.Before = 0, 0, nil
				if q.Before != nil {
					before.Periods, before.Throttled = q.Before.Periods, q.Before.Throttled
				}
				list = append(list, QuotaSummary{Component: name, Arm: t.Arm, Quota: before})
			}
			q.Before = nil
			at := slices.IndexFunc(list, func(s QuotaSummary) bool { return start(s) && s.Cell == t.Cell })
			if at < 0 {
				list = append(list, QuotaSummary{Component: name, Arm: t.Arm, Cell: t.Cell, Trials: 1, Quota: q})
				continue
			}
			s := &list[at]
			s.Quota, s.Trials = *s.Quota.Then(&q), s.Trials+1
		}
	}
	for i := range list {
		list[i].judge()
	}
	slices.SortStableFunc(list, func(a, b QuotaSummary) int {
		return cmp.Or(cmp.Compare(a.Component, b.Component), cmp.Compare(min(len(a.Cell), 1), min(len(b.Cell), 1)))
	})
	return list
}
