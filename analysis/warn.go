package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/machine"
	"tare/stats"
)

// orderLevel is the p under which an effect of the order within rounds is
// reported.
const orderLevel = 0.01

// diagnose sets the diagnostics of one comparison and warns of what they say.
func (w wording) diagnose(c *Comparison, h *hypothesis) {
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	n := len(h.Contrasts)
	c.Lag1 = contrast.Finite(stats.Lag1(h.Contrasts))
	if p, err := stats.OrderEffect(h.Contrasts, h.Moved); err == nil && !math.IsNaN(p) {
		c.OrderP = p
	}
	if autocorrelated(c.Lag1, n) {
		if c.Lag1 > 0 {
			warn("neighbouring rounds resemble each other (lag-1 autocorrelation %.2f): the interval may be too narrow", c.Lag1)
		} else {
			warn("neighbouring rounds alternate (lag-1 autocorrelation %s): something may switch between two states", strings.Replace(fmt.Sprintf("%.2f", c.Lag1), "-", "−", 1))
		}
	}
	if c.OrderP < orderLevel {
		warn("it matters whether the arm runs before or after the baseline (order effect, %s): look for what one trial leaves to the next", probability(c.OrderP))
	}
	if !c.EstimatorsAgree {
		warn("%s", disagreement(h))
	}
	if h.Main.OK && h.Method == contrast.MethodT {
		warn("%s too few for the exact interval (%d at this confidence): the t interval shown assumes normal noise", agreed(counted(n, "pair")), least(w.Alpha))
	}
	if goal := math.Log1p(float64(w.plan.Precision)); goal > 0 && h.Metric.Headline && h.Main.OK && h.Method != contrast.MethodT {
		if half := (h.Main.At.Hi - h.Main.At.Lo) / 2; half > goal*(1+1e-9) {
			warn("the precision asked for, ±%s, is not reached: the interval is ±%s wide", percent(float64(w.plan.Precision)), percent(math.Expm1(half)))
		}
	}
	if n > 1 && h.SD == 0 {
		warn("all pairs have the same %s: the metric may be too coarse to show noise", contrastName(h.Metric))
	}
}

// disagreement says what the second estimator would say.
func disagreement(h *hypothesis) string {
	second := "paired t"
	switch {
	case !h.Paired:
		second = "Welch's t"
	case h.Method == contrast.MethodBoth:
		second = "Stein's t"
	}
	return fmt.Sprintf("the two estimators disagree: by %s alone it would be %q", second, h.byT)
}

// warnings gathers what a reader must know of the run as a whole and of the
// series in it.
func warnings(t *table, run *Run, env *machine.Environment) []Warning {
	var list []Warning
	warn := func(w Warning, format string, args ...any) {
		w.Text = fmt.Sprintf(format, args...)
		list = append(list, w)
	}
	plan := t.plan
	if !run.Finished {
		warn(Warning{}, "the run is not finished: %d of %d planned trials are done, and to stop at a verdict that comes early makes false claims several times as likely", run.Trials.Done, run.Trials.Planned)
	}
	if t.stray > 0 {
		warn(Warning{}, "%s left out: of no cell or arm of the plan", agreed(counted(t.stray, "trial")))
	}
	if t.double > 0 && plan.Import != nil {
		warn(Warning{}, "%s left out: a later one of the same arm and round counts", agreed(counted(t.double, "valid trial")))
	}
	if role(plan, experiment.Control) < 0 && plan.Import == nil {
		warn(Warning{}, "there is no control arm: nothing shows what this machine makes up by itself")
	}
	list = append(list, roundWarnings(t, run)...)
	if unlimited(plan) {
		warn(Warning{}, "the link has no rate limit: on one machine this compares memory copies with cryptography, not networks")
	}
	for _, c := range run.Controls {
		if c.Verdict != NotResolved && c.PAdjusted <= 1-float64(plan.Confidence) && run.Valid && c.Metric.Headline {
			warn(Warning{Cell: c.Cell, Metric: c.Metric.Name, Arm: c.Arm},
				"the control differs from the baseline by more than chance (%s): claims on this metric must exceed that", signed(&c))
		}
	}
	for c, cell := range plan.Cells {
		if rounds := t.interrupted(c); len(rounds) > 0 {
			warn(Warning{Cell: cell.ID}, "%s interrupted by a resume: trials compared with each other there are of different sessions", namedRounds(rounds))
		}
		for i, m := range cell.Metrics {
			w := Warning{Cell: cell.ID, Metric: m.Name}
			if bad, valid := t.unusable(c, m); bad > 0 {
				warn(w, "%d of %d valid trials have no usable value and are left out", bad, valid)
			}
			if changes := run.Cells[c].Metrics[i].Changes; len(changes) > 0 {
				w.Arm = plan.Arms[role(plan, experiment.Baseline)].Name
				warn(w, "the baseline's level changes at round %s", joined(changes))
			}
		}
	}
	if !plan.Paired() {
		list = append(list, seriesWarnings(plan, run)...)
	}
	list = append(list, omissions(plan, run)...)
	list = append(list, t.switching()...)
	list = append(list, caveats(t.plan, run)...)
	if env != nil {
		for _, note := range env.Remarks() {
			warn(Warning{}, "%s", note)
		}
	}
	return list
}

// caveats are those of the checks, each arm's once.
func caveats(plan *experiment.Plan, run *Run) []Warning {
	var list []Warning
	for _, arm := range plan.Arms {
		for _, p := range run.Proofs {
			w := Warning{Arm: arm.Name, Text: p.Caveat}
			if p.Caveat != "" && p.Arm == arm.Name && !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
	}
	return list
}

// roundWarnings tells whether the number of rounds can carry any claim, and
// whether it reaches the precision asked for.
func roundWarnings(t *table, run *Run) []Warning {
	var list []Warning
	total, capped := totalRounds(t)
	fewest := FewestRounds(t.plan)
	if !t.plan.Paired() {
		return sizeWarnings(t, run)
	}
	if t.plan.Precision == 0 && total < fewest && run.Family > 0 {
		list = append(list, Warning{Text: fmt.Sprintf("%s too few to claim anything of %s: at least %d are needed", agreed(counted(total, "round")), counted(run.Family, "headline comparison"), fewest)})
	}
	if capped {
		list = append(list, Warning{Text: fmt.Sprintf("a precision of ±%s would take more than the %d rounds allowed: some intervals are wider than asked for", percent(float64(t.plan.Precision)), total)})
	}
	return list
}

// sizeWarnings tells whether no sample of a headline metric is large enough for
// a claim.
func sizeWarnings(t *table, run *Run) []Warning {
	most, able := 0, false
	alpha := (1 - float64(t.plan.Confidence)) / float64(max(run.Family, 1))
	for _, c := range run.Comparisons {
		if c.Metric.Headline {
			most = max(most, c.Rounds)
			able = able || stats.RankSumLeast(c.Baseline.N, c.Treated.N) <= alpha*(1+1e-9)
		}
	}
	if able || run.Family == 0 || most == 0 {
		return nil
	}
	return []Warning{{Text: fmt.Sprintf("%s too few to claim anything of %s: at least %d of each arm are needed", agreed("at most "+counted(most, "value")+" per arm"), counted(run.Family, "headline comparison"), leastValues(alpha))}}
}

// interrupted lists the rounds whose valid trials in a cell are of more than one
// session.
func (t *table) interrupted(c int) []int {
	var rounds []int
	if t.plan.Import != nil {
		return nil // sessions are of Tare's own runs
	}
	for i, r := range t.rounds {
		session := 0
		for _, arm := range t.slots[c] {
			v := arm[i].valid
			if v == nil {
				continue
			}
			if session != 0 && v.Session != session {
				rounds = append(rounds, r)
				break
			}
			session = v.Session
		}
	}
	return rounds
}

func namedRounds(rounds []int) string {
	if len(rounds) == 1 {
		return fmt.Sprintf("round %d was", rounds[0])
	}
	return "rounds " + joined(rounds) + " were"
}

func joined(rounds []int) string {
	var parts []string
	for _, r := range rounds {
		parts = append(parts, fmt.Sprint(r))
	}
	return strings.Join(parts, ", ")
}

// unlimited says whether some cell ran over a link without a rate limit. The
// testbed's parameters are a struct in a fresh plan and a map in one that was
// read back, so they are looked at as JSON.
func unlimited(plan *experiment.Plan) bool {
	return plan.Import == nil && slices.ContainsFunc(plan.Cells, func(c experiment.Cell) bool {
		text, err := json.Marshal(c.Testbed)
		if err != nil {
			return false
		}
		var testbed struct {
			Link  struct{ Rate any }
			Local struct{ Link struct{ Rate any } }
		}
		if json.Unmarshal(text, &testbed) != nil {
			return false
		}
		return testbed.Link.Rate == "unlimited" || testbed.Local.Link.Rate == "unlimited"
	})
}
