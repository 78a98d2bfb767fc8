package analysis

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// changeLevel is the significance level of changepoints: 1 in 100 series shows a false one. changeSegment is the fewest
// rounds between two changepoints.
const (
	changeLevel   = 0.01
	changeSegment = 5
)

func cells(t *table, start time.Time) []CellSummary {
	base := role(t.plan, experiment.Baseline)
	list := make([]CellSummary, 0, len(t.plan.Cells))
	for c, cell := range t.plan.Cells {
		s := CellSummary{Loop: t.loops[c], ID: cell.ID, Kind: cell.Kind, Levels: cell.Levels, Testbed: cell.Testbed, Metrics: make([]MetricSeries, 0, len(cell.Metrics)), Parts: t.parts(c), Resources: t.resources(c)}
		for _, m := range cell.Metrics {
			ms := MetricSeries{Metric: m, Arms: make([]ArmSeries, 0, len(t.plan.Arms))}
			for a := range t.plan.Arms {
				arm := t.series(c, a, m, start)
				// the blocks of an import differ anyway, so a changepoint between them tells nothing
				if a == base && t.plan.Paired() && t.blockOf == nil {
					for _, at := range stats.Changepoints(arm.Values, changeLevel, changeSegment, t.plan.Seed) {
						ms.Changes = append(ms.Changes, arm.Rounds[at])
					}
				}
				ms.Arms = append(ms.Arms, arm)
			}
			s.Metrics = append(s.Metrics, ms)
		}
		list = append(list, s)
	}
	return list
}

// series returns the valid values of a metric in one arm, in the order of rounds or, for independent samples, in the
// order measured.
func (t *table) series(c, a int, m experiment.Metric, start time.Time) ArmSeries {
	n, timed := len(t.slots[c][a]), true
	s := ArmSeries{Arm: t.plan.Arms[a].Name, Rounds: make([]int, 0, n), Seconds: make([]float64, 0, n), Values: make([]float64, 0, n)}
	for i, slot := range t.slots[c][a] {
		if v, ok := value(slot.valid, m); ok {
			s.Rounds = append(s.Rounds, t.at[c][i])
			s.Seconds = append(s.Seconds, slot.valid.Start.Sub(start).Seconds())
			s.Values = append(s.Values, v)
			timed = timed && (t.plan.Import == nil || !slot.valid.Start.IsZero())
		}
	}
	if !timed {
		s.Seconds = s.Seconds[:0]
	}
	s.Summary = summarize(s.Values, float64(t.plan.Confidence))
	return s
}

// summarize computes the summary of values. The quartiles are of Hyndman and Fan's type 7.
func summarize(values []float64, confidence float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	q := func(p float64) float64 { return contrast.Finite(stats.Quantile(sorted, p)) }
	s := Summary{
		N:   len(sorted),
		Min: sorted[0], Q1: q(0.25), Median: q(0.5), Q3: q(0.75), Max: sorted[len(sorted)-1],
		SD: contrast.Deviation(sorted),
	}
	for i, v := range sorted {
		s.Mean += v/float64(i+1) - s.Mean/float64(i+1)
	}
	s.Mean = contrast.Finite(s.Mean)
	if i, _, err := stats.MedianInterval(sorted, confidence); err == nil {
		s.MedianLo, s.MedianHi = contrast.Finite(i.Lo), contrast.Finite(i.Hi)
	}
	return s
}

func sessions(trials []journal.Trial, start time.Time) []Session {
	byNumber := map[int]Session{}
	for i := range trials {
		t := &trials[i]
		from := t.Start.Sub(start).Seconds()
		to := from + t.Wall.Seconds()
		if s, known := byNumber[t.Session]; known {
			from, to = min(s.From, from), max(s.To, to)
		}
		byNumber[t.Session] = Session{Number: t.Session, From: from, To: to}
	}
	return slices.SortedFunc(maps.Values(byNumber), func(a, b Session) int { return a.Number - b.Number })
}

func harness(trials []journal.Trial) Harness {
	var cpu, around, wall, prepared float64
	for i := range trials {
		t := &trials[i]
		cpu += t.Harness.CPU.Seconds()
		around += max(t.Harness.Around.Seconds(), 0)
		wall += t.Wall.Seconds()
		prepared += t.Prepared.Seconds()
	}
	var h Harness
	if wall > 0 {
		h.CPUShare = cpu / wall
	}
	if all := prepared + wall + around; all > 0 {
		h.WallShare = around / all
	}
	return h
}

// proofs counts passed and failed checks over all trials, valid or not. A check at set-up counts once per session.
// Another caveat gives another summary.
func proofs(plan *experiment.Plan, trials []journal.Trial) []ProofSummary {
	type outcome struct {
		ProofSummary
		session  int
		observed string
		ok       bool
	}
	at, counted := map[ProofSummary]int{}, map[outcome]bool{}
	var list []ProofSummary
	for i := range trials {
		t := &trials[i]
		for _, c := range t.Checks {
			check := ProofSummary{Arm: t.Arm, Layer: c.Layer, Name: c.Name, Expected: c.Expected, Caveat: c.Caveat, Once: c.Once}
			k, known := at[check]
			if !known {
				k = len(list)
				at[check] = k
				list = append(list, check)
				list[k].Example = c.Observed
			}
			o := outcome{check, t.Session, c.Observed, c.OK}
			if c.Once && counted[o] {
				continue
			}
			counted[o] = true
			if c.OK {
				list[k].Passed++
			} else {
				list[k].Failed++
			}
		}
	}
	order := func(name string) int {
		return slices.IndexFunc(plan.Arms, func(a experiment.PlannedArm) bool { return a.Name == name })
	}
	slices.SortStableFunc(list, func(a, b ProofSummary) int { return order(a.Arm) - order(b.Arm) })
	return list
}

// unusable returns two numbers of valid trials in a cell: the trials without a usable value of the metric, and all
// valid trials.
func (t *table) unusable(c int, m experiment.Metric) (bad, all int) {
	for _, arm := range t.slots[c] {
		for trial := range valid(arm) {
			all++
			if _, ok := value(trial, m); !ok {
				bad++
			}
		}
	}
	return bad, all
}

// autocorrelated reports whether the autocorrelation r at lag 1 is larger than in 99 of 100 independent series; false
// below ten values.
func autocorrelated(r float64, n int) bool {
	return n >= 10 && math.Abs(r+1/float64(n)) > 2.58/math.Sqrt(float64(n))
}

// PartSummary is the CPU time and memory of one part of an arm in a cell: the client, the server, or a layer's process,
// such as a proxy.
type PartSummary struct {
	Arm  string `json:"arm"`  // name of the arm
	Part string `json:"part"` // what used the CPU time, such as "client", "server" or "mtls:client-proxy"
	// CPUs is CPU time divided by wall clock: 0.25 is a quarter of one processor.
	CPUs    Summary `json:"cpus"`
	PerWork Summary `json:"perWork,omitzero"` // CPU time per unit of work; N is 0 if the amount of work is unknown
	Unit    string  `json:"unit,omitempty"`   // unit of PerWork: "s/request"
	Memory  Summary `json:"memory,omitzero"`  // largest resident memory, in bytes
}

// layerSum is the name of the sum over all parts that belong to layers. The name of such a part has the form KIND:PART.
const layerSum = "layer"

// parts returns the CPU time and memory of each part of each arm in a cell; nil if no layer has processes of its own in
// the cell.
func (t *table) parts(c int) []PartSummary {
	cell := t.plan.Cells[c]
	sum, unit := "", ""
	for _, m := range cell.Metrics {
		if strings.HasSuffix(m.Name, "-cpu-"+layerSum) {
			sum, unit = m.Name, m.Unit
		}
	}
	var list []PartSummary
	layers := false
	for a, arm := range t.plan.Arms {
		var trials []*journal.Trial
		names := map[string]bool{}
		for v := range valid(t.slots[c][a]) {
			if v.Wall <= 0 {
				continue
			}
			trials = append(trials, v)
			for name, used := range v.Used {
				if name != layerSum && !used.Unavailable {
					names[name] = true
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			layers = layers || strings.Contains(name, ":")
			one := PartSummary{Arm: arm.Name, Part: name}
			var cpus, work, memory []float64
			for _, trial := range trials {
				used, ok := trial.Used[name]
				if !ok {
					continue
				}
				cpus = append(cpus, used.CPU().Seconds()/trial.Wall.Seconds())
				if used.MaxRSS > 0 {
					memory = append(memory, float64(used.MaxRSS))
				}
				if each, ok := perWork(trial, sum, name); ok {
					work, one.Unit = append(work, each), unit
				}
			}
			confidence := float64(t.plan.Confidence)
			one.CPUs, one.PerWork, one.Memory = summarize(cpus, confidence), summarize(work, confidence), summarize(memory, confidence)
			list = append(list, one)
		}
	}
	if !layers {
		return nil
	}
	return list
}

// perWork returns a part's CPU time per unit of work: from its own metric, or as its share of the metric sum, which is
// for all layers together.
func perWork(t *journal.Trial, sum, part string) (float64, bool) {
	if own := strings.TrimSuffix(sum, layerSum) + part; t.Values[own] > 0 {
		return t.Values[own], true
	}
	all := t.Used[layerSum].CPU().Seconds()
	return t.Used[part].CPU().Seconds() * t.Values[sum] / all, sum != "" && all > 0
}
