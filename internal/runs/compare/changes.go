package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// changeQuestion asks how the overhead of one arm in one run differs from the overhead of an arm in another run, or
// of another arm in the same run.
type changeQuestion struct {
	shared
	from, to       int // indices of runs
	fromArm, toArm string
}

// changes compares overheads of treatments and matched arms between runs. Changes of the control, which has no layer,
// show the error.
func (c *comparison) changes(list []shared) {
	var asked, controls []changeQuestion
	for _, s := range list {
		for _, name := range c.names(armNames) {
			asked = append(asked, c.matched(s, match{Old: name, New: name})...)
		}
		for _, m := range c.options.Matches {
			asked = append(asked, c.matched(s, m)...)
		}
		controls = append(controls, c.floors(s, asked)...)
	}
	answers := analysis.Assess(c.plan(), c.questions(asked), c.questions(controls))
	c.result.Family.Changes = answers.Family
	failed := map[string]bool{} // keys of the two runs between which the control's overhead has changed: comparisons of these runs have no verdict
	for _, i := range answers.Failed {
		a := controls[i]
		failed[a.against()] = true
		c.warn(ChangedControl{From: a.from + 1, To: a.to + 1, Cell: a.cell, Metric: a.metric, Overhead: answers.Controls[i].Overhead})
	}
	for i, a := range asked {
		c.result.Changes = append(c.result.Changes, c.change(a, answers.Asked[i], failed[a.against()]))
	}
	for i, a := range controls {
		c.result.Floors = append(c.result.Floors, c.change(a, answers.Controls[i], false))
	}
}

// matched asks how a match's new arm differs from its old arm in each run. A run without the old arm is compared with
// the first run that has it.
func (c *comparison) matched(s shared, m match) []changeQuestion {
	has := func(i int, arm string) bool { return s.in(i) && treatment(c.in[i].Run.Plan, arm) }
	order := c.order()
	at := slices.IndexFunc(order, func(i int) bool { return has(i, m.Old) })
	if at < 0 {
		return nil
	}
	var list []changeQuestion
	for _, i := range order {
		from, itself := order[at], m.Old == m.New
		if has(i, m.Old) && !itself {
			from = i
		}
		if has(i, m.New) && (from != i || !itself) {
			list = append(list, changeQuestion{shared: s, from: from, to: i, fromArm: m.Old, toArm: m.New})
		}
	}
	return list
}

// floors asks, for every two runs whose overheads are compared, how much the control's overhead differs between these
// runs.
func (c *comparison) floors(s shared, asked []changeQuestion) []changeQuestion {
	var list []changeQuestion
	for _, a := range asked {
		if a.cell != s.cell || a.metric.Name != s.metric.Name || a.from == a.to {
			continue
		}
		from, to := c.in[a.from].Run.Plan.ArmWith(experiment.Control), c.in[a.to].Run.Plan.ArmWith(experiment.Control)
		same := func(b changeQuestion) bool { return b.from == a.from && b.to == a.to }
		if from != "" && to != "" && !slices.ContainsFunc(list, same) {
			list = append(list, changeQuestion{shared: s, from: a.from, to: a.to, fromArm: from, toArm: to})
		}
	}
	return list
}

func (c *comparison) questions(list []changeQuestion) []analysis.Question {
	questions := make([]analysis.Question, len(list))
	for i, a := range list {
		q := analysis.Question{Cell: a.cell, Arm: a.toArm, Against: a.against(), Versus: &analysis.Versus{},
			Restates: Restates(c.in, a.cell, a.metric.Name), Observational: a.from != a.to || c.in[a.from].Run.Observation != nil}
		if a.fromArm != a.toArm || a.from == a.to {
			q.Versus.Arm = a.fromArm
		}
		if a.from == a.to {
			q.Data = c.values[a.from].Between(a.cell, a.fromArm, a.toArm, a.metric)
		} else {
			q.Versus.Run = a.from + 1
			from, to := c.values[a.from].Data(a.cell, a.fromArm, a.metric), c.values[a.to].Data(a.cell, a.toArm, a.metric)
			q.Data = contrast.Changed(from, to).WithOccasions(c.between(a))
		}
		questions[i] = q
	}
	return questions
}

// against returns a key for the two runs that a question compares. The control's change between these runs has the same
// key.
func (a changeQuestion) against() string { return fmt.Sprintf("%d %d", a.from+1, a.to+1) }

// change converts an answer to a Change. With failed = true, the control has changed, so the Change has no
// verdict.
func (c *comparison) change(a changeQuestion, answer analysis.Comparison, failed bool) Change {
	answer.Metric = a.metric
	ch := Change{From: c.overhead(a, a.from, a.fromArm), To: c.overhead(a, a.to, a.toArm), Direct: a.from == a.to, Comparison: answer}
	if strings.HasPrefix(answer.Method, contrast.MethodWelchSum) {
		// overheads are no samples of values, which Baseline and Treated would describe
		ch.Baseline, ch.Treated = analysis.Summary{}, analysis.Summary{}
	}
	if a.from != a.to {
		ch.MDE, ch.Needed, ch.NeededRange = 0, 0, nil // MDE and Needed tell what more rounds would show; a change needs more occasions instead
	}
	switch withheld := c.withheld(&ch.Comparison, a.cell, a.from, a.to); {
	case withheld:
	case failed:
		ch.Withhold(analysis.ControlChanged{})
	case a.from != a.to:
		c.occasions(&ch.Comparison, a)
	}
	c.in[a.from].Run.WithholdGains(&ch.Comparison, a.fromArm)
	c.in[a.to].Run.WithholdGains(&ch.Comparison, a.toArm)
	return ch
}

// between returns the standard deviation of the old arm's overheads between unchanged runs, and the number of these
// runs; both 0: unknown.
func (c *comparison) between(a changeQuestion) (deviation float64, runs int) {
	if c.options.Occasions == nil {
		return 0, 0
	}
	return c.options.Occasions(a.cell, a.fromArm, a.metric.Name)
}

// occasions withholds a verdict if overheads deviate between occasions by an unknown amount. The deviation is the
// reason of unresolved results.
func (c *comparison) occasions(answer *analysis.Comparison, a changeQuestion) {
	deviation, runs := c.between(a)
	switch answer.Reason.(type) {
	case analysis.TooFewValues, analysis.NoSpread, analysis.SameClaim:
		return
	}
	if deviation == 0 || answer.Verdict == analysis.NotResolved {
		answer.Verdict, answer.Grade, answer.Reason = analysis.NotResolved, analysis.Measured, Occasions{contrast.Magnitude(deviation, a.metric), runs}
	}
}

// withheld withholds the verdict on two runs if one is unfinished or gives no verdicts, or if their work differed. It
// reports whether it did.
func (c *comparison) withheld(answer *analysis.Comparison, cell string, from, to int) bool {
	if invalid := c.runsWhere(func(r *analysis.Run) bool { return !r.Valid }, from, to); invalid != nil {
		answer.Withhold(analysis.InvalidRuns{Runs: invalid})
	} else if unlike := c.unlike(cell, from, to); unlike != nil {
		answer.Withhold(analysis.OtherSettings{Settings: unlike})
	} else if open := c.runsWhere(func(r *analysis.Run) bool { return !r.Finished }, from, to); open != nil {
		answer.Suspend(analysis.UnfinishedRuns{Runs: open})
	} else {
		return false
	}
	return true
}

// unlike returns the settings of a cell in which two imports differ. It leaves out each setting that one of the imports
// allows to differ.
func (c *comparison) unlike(cell string, from, to int) (list []analysis.UnlikeSetting) {
	a, b := c.in[from].Run.Plan, c.in[to].Run.Plan
	if a.Import == nil || b.Import == nil {
		return nil
	}
	for _, p := range Differing(Flatten(a.Cell(cell).Config), Flatten(b.Cell(cell).Config)) {
		if !slices.Contains(a.Import.Allowed, p.Path) && !slices.Contains(b.Import.Allowed, p.Path) {
			list = append(list, analysis.UnlikeSetting{Name: p.Path,
				Baseline: []string{cmp.Or(p.Values[0], "default")}, Arm: []string{cmp.Or(p.Values[1], "default")}})
		}
	}
	return list
}

func (c *comparison) overhead(a changeQuestion, run int, arm string) Overhead {
	o := Overhead{Run: run + 1, Arm: arm}
	if own := c.in[run].Run.Comparison(a.cell, arm, a.metric.Name); own != nil {
		o.Overhead, o.Verdict, o.Known, o.PointOnly = own.Overhead, own.Verdict, own.Rounds > 0, own.PointOnly
	}
	return o
}

func (c *comparison) runsWhere(are func(*analysis.Run) bool, runs ...int) []int {
	var list []int
	for _, i := range slices.Compact(slices.Sorted(slices.Values(runs))) {
		if are(c.in[i].Run) {
			list = append(list, i+1)
		}
	}
	return list
}

// levels compares every arm except controls with the reference: within the reference's run by rounds, otherwise as
// independent samples.
func (c *comparison) levels(list []shared) {
	var questions []analysis.Question
	var places []int // places[k] is the index of the entry in the comparison's levels for questions[k]
	ref, based := c.reference.Run-1, c.reference.Arm == c.plan().ArmWith(experiment.Baseline)
	for _, s := range list {
		if !s.in(ref) {
			continue
		}
		for i, in := range c.in {
			if !s.in(i) {
				continue
			}
			for _, arm := range in.Run.Plan.Arms {
				itself := i == ref && arm.Name == c.reference.Arm
				if arm.Role == experiment.Control && !itself {
					continue
				}
				l := Level{Cell: s.cell, Metric: s.metric, Run: i + 1, Arm: arm.Name,
					Values: series(in.Run, s.cell, s.metric.Name, arm.Name).Summary}
				if i == ref && based {
					l.Against = in.Run.Comparison(s.cell, arm.Name, s.metric.Name)
				}
				if l.Against == nil && !itself {
					questions = append(questions, c.question(s, i, arm.Name))
					places = append(places, len(c.result.Levels))
				}
				c.result.Levels = append(c.result.Levels, l)
			}
		}
	}
	answers := analysis.Assess(c.plan(), questions, nil)
	c.result.Family.Levels = answers.Family
	for k, at := range places {
		answer, l := answers.Asked[k], &c.result.Levels[at]
		c.withheld(&answer, l.Cell, ref, l.Run-1)
		l.Against = &answer
	}
}

func (c *comparison) question(s shared, run int, arm string) analysis.Question {
	ref := c.reference.Run - 1
	q := analysis.Question{Cell: s.cell, Arm: arm, Against: fmt.Sprint(run + 1),
		Restates: Restates(c.in, s.cell, s.metric.Name), Observational: run != ref || c.in[ref].Run.Observation != nil}
	if run == ref {
		q.Data = c.values[ref].Between(s.cell, c.reference.Arm, arm, s.metric)
		return q
	}
	q.Data = contrast.Data{Metric: s.metric, Baseline: series(c.in[ref].Run, s.cell, s.metric.Name, c.reference.Arm).Values,
		Treated: series(c.in[run].Run, s.cell, s.metric.Name, arm).Values}
	return q
}
