package analysis

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
	"tare/internal/run/machine"
	"tare/internal/stats"
)

// orderLevel is the p-value up to which effects of the order within rounds are reported, or removed.
const orderLevel = 0.01

func (x explainer) diagnose(c *Comparison, h *hypothesis) {
	warn := func(f Finding) { c.Warnings = append(c.Warnings, f) }
	if h.Paired {
		units, _, _ := h.Units()
		c.Lag1 = contrast.Finite(stats.Lag1(units))
		if p, err := stats.OrderEffect(h.Contrasts, h.Moved); err == nil && !math.IsNaN(p) {
			c.OrderP = p
		}
		if autocorrelated(c.Lag1, h.Size()) {
			warn(Autocorrelation{Lag1: c.Lag1})
		}
		if x.table != nil {
			if p := x.table.orderEffects(h.cell, h.Metric); p != nil && h.PositionEffects != nil {
				warn(PositionEffectsRemoved{*p})
			}
		}
		if c.OrderP < orderLevel && h.PositionEffects == nil {
			warn(OrderEffect{P: c.OrderP})
		}
	}
	if !c.EstimatorsAgree {
		warn(disagreement(h))
	}
	if f, weak := h.weak(x.Rules); weak && (c.Verdict == Costs || c.Verdict == Gains) && !c.Control {
		warn(f)
	}
	if claim := c.Verdict == Costs || c.Verdict == Gains; claim && c.Mean != nil && c.Mean.Point*c.Overhead.Point < 0 {
		warn(MeanDiffers{Metric: c.Metric, Mean: *c.Mean})
	}
	switch {
	case !h.Main.OK:
	case h.Method == contrast.MethodT:
		warn(NormalPairs{Pairs: h.Size(), Fewest: contrast.Fewest(true, 1-x.AtLook())})
	case h.Method == contrast.MethodWelch:
		warn(NormalSamples{Baseline: len(h.Baseline), Treated: len(h.Treated)})
	case h.Paired && h.Metric.Headline:
		goal, half := math.Log1p(float64(x.plan.Precision)), (h.Main.At.Hi-h.Main.At.Lo)/2
		if goal > 0 && !h.unplanned && half > goal*(1+1e-9) {
			warn(Imprecise{Asked: float64(x.plan.Precision), Reached: contrast.Finite(math.Expm1(half))})
		}
	}
	if h.Size() > 1 && h.SD == 0 {
		warn(NoVariation{Paired: h.Paired, Scale: h.Metric.Scale})
	}
	if !h.Paired && h.Size() >= spreadFewest {
		compareSpreads(c, warn)
	}
}

// weak reports whether a headline claim may be luck: most runs would miss an effect of the size that its p-value (the
// smaller of ranks and t) suggests.
func (h *hypothesis) weak(r contrast.Rules) (WeakClaim, bool) {
	if !h.Metric.Headline || h.Main.P <= 0 {
		return WeakClaim{}, false
	}
	level := r.Alpha * min(1, h.Main.P/h.adjusted) // significance level that Holm's correction leaves for this claim
	p := h.Main.P
	if h.T.OK {
		p = min(p, h.T.P)
	}
	power, factor := stats.Exaggeration(p, level)
	return WeakClaim{Power: power, Factor: factor}, power < 0.5
}

func disagreement(h *hypothesis) Disagreement {
	second := "paired t"
	switch {
	case !h.Paired:
		second = "Welch's t"
	case h.Method == contrast.MethodBoth:
		second = "Stein's t"
	}
	return Disagreement{Estimator: second, Verdict: h.byT}
}

func warnings(t *table, run *Run, env *machine.Environment) []Warning {
	list := append(bounds(run), run.Behaviours...)
	warn := func(f Finding) { list = append(list, Warning{Finding: f}) }
	plan := t.plan
	if plan.Busy != "" {
		warn(Busy{plan.Busy})
	}
	if !run.Finished {
		warn(Unfinished{Done: run.Trials.Done, Planned: run.Trials.Planned})
	}
	if len(plan.Looks) > 0 {
		warn(Extended{Looks: plan.Looks, Rounds: plan.Total(), Confidence: float64(plan.Judged())})
	}
	if t.stray > 0 {
		warn(StrayTrials{t.stray})
	}
	if t.double > 0 && plan.Import != nil {
		warn(ReplacedTrials{t.double})
	}
	if role(plan, experiment.Control) < 0 && plan.Import == nil {
		warn(Uncontrolled{})
	}
	for _, f := range roundFindings(t, run) {
		warn(f)
	}
	if t.setUps.Once() && run.Rounds > 1 {
		warn(OneSetUp{SetUps: t.setUps.Count, Block: t.onlyBlock()})
	}
	if unlimited(plan) {
		warn(UnlimitedLink{})
	}
	for _, c := range run.Controls {
		if c.Verdict != NotResolved && c.PAdjusted <= 1-float64(plan.Judged()) && run.Valid && c.Metric.Headline {
			list = append(list, Warning{Cell: c.Cell, Metric: c.Metric.Name, Arm: c.Arm,
				Finding: ControlDiffers{Metric: c.Metric, Overhead: c.Overhead, PointOnly: c.PointOnly}})
		}
	}
	for c, cell := range plan.Cells {
		if rounds := t.interrupted(c); len(rounds) > 0 {
			list = append(list, Warning{Cell: cell.ID, Finding: Interrupted{rounds}})
		}
		for i, m := range cell.Metrics {
			// A metric without any usable value, such as a quantile of too few requests, gives a warning only as a
			// headline.
			if bad, valid := t.unusable(c, m); bad > 0 && (bad < valid || m.Headline) {
				list = append(list, Warning{Cell: cell.ID, Metric: m.Name, Finding: UnusableValues{Unusable: bad, Valid: valid}})
			}
			list = append(list, overCap(cell.ID, m, run.Cells[c].Metrics[i].Arms)...)
			if changes := run.Cells[c].Metrics[i].Changes; len(changes) > 0 {
				baseline := plan.ArmWith(experiment.Baseline)
				list = append(list, Warning{Cell: cell.ID, Metric: m.Name, Arm: baseline, Finding: LevelChanges{changes}})
			}
		}
	}
	if !plan.Paired() {
		list = append(list, seriesWarnings(plan, run)...)
	}
	if plan.Import == nil {
		list = append(list, moreRepeats(t)...)
	}
	list = append(list, unexercised(t, run)...)
	list = append(list, startUps(t, run)...)
	list = append(list, omissions(plan, run)...)
	list = append(list, t.switching()...)
	list = append(list, sliced(plan)...)
	if plan.InTurn() {
		warn(InTurn{})
	}
	list = append(list, caveats(t.plan, run)...)
	if env != nil {
		for _, on := range env.Clusters {
			for _, name := range slices.Sorted(maps.Keys(on.StandIns)) {
				if w := (Warning{Finding: StandIn{Component: name, Says: on.StandIns[name]}}); !slices.Contains(list, w) {
					list = append(list, w)
				}
			}
		}
		for _, note := range env.Remarks() {
			warn(Remark{From: FromMachine, Text: note})
		}
	}
	return list
}

// overCap warns of arms whose median exceeds the hardware's limit in the experiment file: by a cache or a burst
// allowance, for instance.
func overCap(cell string, m experiment.Metric, arms []ArmSeries) (list []Warning) {
	for _, a := range arms {
		if v := a.Summary.Median; m.Cap > 0 && a.Summary.N > 0 && v > m.Cap {
			list = append(list, Warning{Cell: cell, Metric: m.Name, Arm: a.Arm, Finding: OverCap{Unit: m.Unit, Cap: m.Cap, Burst: m.Burst, Value: v}})
		}
	}
	return list
}

// unexercised warns of each cost or gain of an arm with a layer that had nothing to do. Such a layer cannot be the
// cause.
func unexercised(t *table, run *Run) (list []Warning) {
	for _, c := range run.Comparisons {
		if c.Verdict != Costs && c.Verdict != Gains {
			continue
		}
		for _, kind := range idle(t.slots[t.cells[c.Cell]][t.arms[c.Arm]]) {
			list = append(list, Warning{Cell: c.Cell, Metric: c.Metric.Name, Arm: c.Arm, Exploratory: !c.Metric.Headline, Finding: Unexercised{kind}})
		}
	}
	return list
}

// idle lists the kinds of layers that report in every trial that they had nothing to do.
func idle(slots []slot) (kinds []string) {
	trials, said := 0, map[string]int{}
	for v := range valid(slots) {
		for _, c := range v.Checks {
			if !c.Unexercised {
				continue
			}
			if said[c.Layer]++; said[c.Layer] == 1 {
				kinds = append(kinds, c.Layer)
			}
		}
		trials++
	}
	return slices.DeleteFunc(kinds, func(kind string) bool { return said[kind] < trials })
}

func caveats(plan *experiment.Plan, run *Run) (list []Warning) {
	for _, cell := range plan.Cells {
		if cell.Remark != "" {
			list = append(list, Warning{Cell: cell.ID, Finding: Remark{From: FromWorkload, Text: cell.Remark}})
		}
	}
	for _, arm := range plan.Arms {
		told := map[string]bool{"": true}
		for _, p := range run.Proofs {
			if p.Arm == arm.Name && !told[p.Caveat] {
				told[p.Caveat] = true
				list = append(list, Warning{Arm: arm.Name, Finding: Remark{From: FromLayer, Text: p.Caveat}})
			}
		}
	}
	return list
}

// switching warns of layers that were switched between trials. It counts each arm's trials after a switch: nearly all
// in the layer's own arm.
func (t *table) switching() []Warning {
	arms, turned := make([]SwitchedArm, len(t.plan.Arms)), false
	for a, arm := range t.plan.Arms {
		arms[a].Arm = arm.Name
		for c := range t.slots {
			for v := range valid(t.slots[c][a]) {
				arms[a].Valid++
				if v.Switched {
					arms[a].After++
					turned = true
				}
			}
		}
	}
	if !turned {
		return nil
	}
	return []Warning{{Finding: Switching{arms}}}
}

// sliced returns findings on the number of slices per trial: one if all cells have an equal number, otherwise one for
// each cell with slices.
func sliced(plan *experiment.Plan) (list []Warning) {
	same := true
	for _, c := range plan.Cells {
		same = same && c.Slices == plan.Cells[0].Slices
		if c.Slices > 0 {
			list = append(list, Warning{Cell: c.ID, Finding: Sliced{c.Slices}})
		}
	}
	if same && len(list) > 0 {
		return []Warning{{Finding: Sliced{plan.Cells[0].Slices}}}
	}
	return list
}

// roundFindings returns findings if the run has too few rounds for any claim, or for the requested precision.
func roundFindings(t *table, run *Run) []Finding {
	if !t.plan.Paired() {
		return sizeFindings(t, run)
	}
	var list []Finding
	total, capped := totalRounds(t)
	if fewest := FewestRounds(t.plan); t.plan.Precision == 0 && total < fewest && run.Family > 0 {
		list = append(list, FewRounds{Rounds: total, Family: run.Family, Fewest: fewest})
	}
	if capped {
		list = append(list, CappedPrecision{Precision: float64(t.plan.Precision), Rounds: total})
	}
	return list
}

// sizeFindings returns a finding if all comparisons of headline metrics have too few values for a claim.
func sizeFindings(t *table, run *Run) []Finding {
	most, able := 0, false
	alpha := (1 - float64(t.plan.Judged())) / float64(max(run.Family, 1))
	for _, c := range run.Comparisons {
		if c.Metric.Headline {
			most = max(most, c.Rounds)
			able = able || stats.RankSumLeast(c.Baseline.N, c.Treated.N) <= alpha*(1+1e-9)
		}
	}
	if able || run.Family == 0 || most == 0 {
		return nil
	}
	return []Finding{FewValues{Most: most, Family: run.Family, Fewest: contrast.Fewest(false, alpha)}}
}

// interrupted lists the rounds in which the valid trials of a cell belong to more than one session.
func (t *table) interrupted(c int) (rounds []int) {
	if t.plan.Import != nil {
		return nil // an import does not run its trials in sessions
	}
	for i, r := range t.rounds {
		sessions := map[int]bool{}
		for _, arm := range t.slots[c] {
			if v := arm[i].valid; v != nil {
				sessions[v.Session] = true
			}
		}
		if len(sessions) > 1 {
			rounds = append(rounds, r)
		}
	}
	return rounds
}

// unlimited reports whether a cell uses a link without a rate limit. It searches JSON text: a new plan holds structs, a
// plan from a file holds maps.
func unlimited(plan *experiment.Plan) bool {
	return plan.Import == nil && slices.ContainsFunc(plan.Cells, func(c experiment.Cell) bool {
		if c.Tests == experiment.TestsServer { // a cell that tests the server does not compare networks of the arms
			return false
		}
		text, _ := json.Marshal(c.Testbed)
		return strings.Contains(strings.ToLower(string(text)), `"rate":"unlimited"`)
	})
}
