package wording

import (
	"cmp"
	"fmt"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
	"tare/internal/runs/history"
)

// Finding states a finding, which is something about a result that a reader should know.
func Finding(f analysis.Finding) string {
	switch f := f.(type) {
	case analysis.Autocorrelation:
		if f.Lag1 > 0 {
			return fmt.Sprintf("neighbouring rounds resemble each other (lag-1 autocorrelation %s): the interval may be too narrow", Fixed(f.Lag1, 2))
		}
		return fmt.Sprintf("neighbouring rounds alternate (lag-1 autocorrelation %s): something may switch between two states", Fixed(f.Lag1, 2))
	case analysis.OrderEffect:
		return fmt.Sprintf("it matters whether the arm runs before or after the baseline (order effect, %s): a trial may affect the next one", pValue(f.P))
	case analysis.PositionEffectsRemoved:
		return fmt.Sprintf("trials depend on their position in the round (%s; %s): this effect is removed, since every arm ran in every position equally often", pValue(f.P), positions(f.Effects))
	case analysis.Disagreement:
		return fmt.Sprintf("the two estimators disagree: by %s alone it would be %q", f.Estimator, f.Verdict)
	case analysis.NormalPairs:
		return fmt.Sprintf("%s too few for the exact interval (%d at this confidence): the t interval shown assumes normal noise", Count(f.Pairs, "pair is", "pairs are"), f.Fewest)
	case analysis.NormalSamples:
		return values(f.Baseline, f.Treated) + " are too few for the rank-sum interval: Welch's t interval shown assumes normal noise"
	case analysis.Imprecise:
		return fmt.Sprintf("the precision asked for, ±%s, is not reached: the interval is ±%s wide", Share(f.Asked), Share(f.Reached))
	case analysis.WeakClaim:
		return "this estimate may be too large: small effects are only claimed when chance makes them look larger"
	case analysis.NoVariation:
		if !f.Paired {
			return "no value of either arm varies: the metric may be too coarse to show noise"
		}
		return fmt.Sprintf("all pairs have the same %s: the metric may be too coarse to show noise", contrastName(f.Scale))
	case analysis.MeanDiffers:
		shown := &analysis.Comparison{Metric: f.Metric, Overhead: f.Mean, Verdict: analysis.Costs}
		return "the mean says the opposite of the typical round: " + Effect(shown)
	case analysis.Stalling:
		return fmt.Sprintf("stalls: %s of trials, baseline %s (trials at least %s times as bad as the median of their arm)",
			frequency(f.Stalls.Arm), frequency(f.Stalls.Reference), Number(f.Stalls.Factor, 3))
	case analysis.UnequalSpread:
		wider := cmp.Or(When(f.Wider == experiment.Baseline, "baseline"), "arm")
		return fmt.Sprintf("the values of the %s spread %s times as wide as those of the other: the arms differ in more than their level, and the interval covers only the level", wider, Number(f.Ratio, 2))
	}
	return runFinding(f)
}

// Findings states several findings. Each text is a part of a sentence.
func Findings(list []analysis.Finding) []string {
	return each(list, Finding)
}

func runFinding(f analysis.Finding) string {
	switch f := f.(type) {
	case analysis.OtherBehaviour:
		return behaviourFinding(f)
	case analysis.Bound:
		return bound(f)
	case analysis.Unfinished:
		return fmt.Sprintf("the run is not finished: %d of %d planned trials are done, and stopping at an early verdict makes false claims several times as likely", f.Done, f.Planned)
	case analysis.Busy:
		return "the machine was busy before the first trial (" + f.By + "), and the run was started without Tare's limits on load: times include waiting for a processor under this load, CPU time does not; the control shows how much the load disturbs"
	case analysis.Extended:
		return fmt.Sprintf("the run was extended from %d to %d rounds after a look at its results: a second look makes false claims more likely, so that verdicts and intervals are at %s", f.Looks[len(f.Looks)-1], f.Rounds, Confidence(f.Confidence))
	case analysis.MoreRepeats:
		often := cmp.Or(When(f.Arm.Share.Point < f.Reference.Share.Point, "less"), "more")
		return fmt.Sprintf("trials of this arm were repeated or lost %s often than those of the baseline and its control (%s of executions beside %s, %s), by the machine's condition or a failed proof: the missing trials may not be missing by chance, and the arm may look faster or slower than it is",
			often, frequency(f.Arm), frequency(f.Reference), pValue(f.P))
	case analysis.StrayTrials:
		return Count(f.Trials, "trial is", "trials are") + " left out: the plan has no such cell or arm"
	case analysis.ReplacedTrials:
		return Count(f.Trials, "valid trial is", "valid trials are") + " left out: a later one of the same arm and round counts"
	case analysis.Uncontrolled:
		return "there is no control arm: nothing shows which differences arise on this machine without any layer"
	case analysis.FewRounds:
		return fmt.Sprintf("%s too few to claim anything of %s: at least %d are needed", Count(f.Rounds, "round is", "rounds are"), headlines(f.Family), f.Fewest)
	case analysis.FewValues:
		return fmt.Sprintf("at most %s too few to claim anything of %s: at least %d of each arm are needed", Count(f.Most, "value per arm is", "values per arm are"), headlines(f.Family), f.Fewest)
	case analysis.CappedPrecision:
		return fmt.Sprintf("a precision of ±%s would take more than the %d rounds allowed: some intervals are wider than asked for", Share(f.Precision), f.Rounds)
	case analysis.OneSetUp:
		text, what := "all arms were set up once: the chance effects of that one set-up", "another set-up"
		if f.Block != "" {
			text, what = "all trials are of one block, "+f.Block+": the chance effects of its deployment", "another deployment"
		} else if f.SetUps > 1 {
			text, what = fmt.Sprintf("all arms were set up once in each of %d sessions: the chance effects of those set-ups", f.SetUps), "other set-ups"
		}
		return text + " (addresses, placement, memory layout) are part of the overhead, and the interval does not hold for " + what
	case analysis.UnlimitedLink:
		return "the link has no rate limit: on one machine this compares memory copies with cryptography, not networks"
	case analysis.ControlDiffers:
		shown := &analysis.Comparison{Metric: f.Metric, Overhead: f.Overhead, PointOnly: f.PointOnly}
		return fmt.Sprintf("the control differs from the baseline by more than chance (%s): claims on this metric must exceed that", estimated(shown))
	case analysis.Interrupted:
		return plural(len(f.Rounds), "round ", "rounds ") + Numbers(f.Rounds) + plural(len(f.Rounds), " was", " were") +
			" interrupted by a resume: the trials compared there come from different sessions"
	case analysis.UnusableValues:
		return fmt.Sprintf("%d of %d valid trials have no usable value and are left out", f.Unusable, f.Valid)
	case analysis.OverCap:
		if f.Burst >= f.Value {
			return fmt.Sprintf("the median is %s, within the burst of %s but above the %s that the device sustains by the experiment file: longer trials may use up the burst credits, and arms with different credits differ for that reason",
				Value(f.Value, f.Unit), Value(f.Burst, f.Unit), Value(f.Cap, f.Unit))
		}
		return fmt.Sprintf("the median is %s, but by the experiment file the device gives at most %s: something else served the requests (a cache, or burst credits), and a difference between arms may come from there",
			Value(f.Value, f.Unit), Value(max(f.Cap, f.Burst), f.Unit))
	case analysis.StartUp:
		part := cmp.Or(When(f.Most, "most"), "part")
		return fmt.Sprintf("%s of this is the start of %s, which takes %s, while the program runs for %s; longer programs show less of it", part, f.Program, Value(f.Start, "s"), Value(f.Run, "s"))
	case analysis.Unexercised:
		return fmt.Sprintf("hardly any trial there did what the layer %s acts on (its hooks were hit rarely or never): the difference is not its effect, but comes from another layer of the arm, from the arm's set-up, or from chance", f.Layer)
	case analysis.LevelChanges:
		return "the baseline's level changes at round " + Numbers(f.Rounds)
	case analysis.OddSeries:
		return oddSeries(f)
	case analysis.Omission:
		return strings.Join(f.Metrics, ", ") + " of a closed loop: while a response is slow, its worker sends nothing, and the requests that would have waited are missing (coordinated omission)"
	case analysis.Switching:
		each := lists.Map(f.Arms, func(a analysis.SwitchedArm) string {
			return fmt.Sprintf("%d of %d trials of %s", a.After, a.Valid, a.Arm)
		})
		return fmt.Sprintf("a layer is turned on and off for all arms, and the next trial may still be affected: %s; "+
			"a part of a difference between arms may come from this, unless the layer's settle is long enough", strings.Join(each, ", "))
	case analysis.Sliced:
		return fmt.Sprintf("trials were cut into %d slices, between which the arms alternated: the traces of one arm in caches, connections or a throttled clock affect the next one, "+
			"and a slice begins without the warm-up of the arm's slice before; a run without slices shows whether this matters (tare compare)", f.Slices)
	case analysis.InTurn:
		return "every arm was set up right before each of its trials: the values include a fresh start (empty caches, new processes and connections), " +
			"and after a longer warm-up an overhead may differ"
	case analysis.StandIn:
		return fmt.Sprintf("a stand-in is on the cluster: %s says that %s", f.Component, f.Says)
	case analysis.Remark:
		if f.Session > 0 {
			return fmt.Sprintf("in session %d, %s", f.Session, f.Text)
		}
		return f.Text
	}
	return severalFinding(f)
}

func severalFinding(f analysis.Finding) string {
	switch f := f.(type) {
	case compare.UnfinishedRun:
		return fmt.Sprintf("run %d is not finished: %d of %d planned trials are done, and no comparison with it gives a verdict", f.Run, f.Done, f.Planned)
	case compare.InvalidRun:
		return fmt.Sprintf("run %d gives no verdicts, and no comparison with it does: %s", f.Run, strings.Join(Reasons(f.Reasons), "; "))
	case compare.PilotRounds:
		return fmt.Sprintf("a pilot set the number of rounds of run %d; intervals across runs do not allow for that and may be a little narrow", f.Run)
	case compare.OtherRules:
		return fmt.Sprintf("run %d was to be judged at another confidence, margin or power; here the rules of run %d hold", f.Run, f.Reference)
	case compare.ChangedControl:
		return fmt.Sprintf("changes from run %d to run %d have no verdicts: the control's overhead, which no layer causes, differs on %s %s by %s",
			f.From, f.To, f.Metric.Name, In(f.Cell), OverheadWords(f.Metric).Interval(f.Metric, f.Overhead))
	case compare.UnrecordedMachines:
		return runs(f.Runs) + plural(len(f.Runs), " has", " have") + " no record of the machine: whether machines differ cannot be said"
	case history.TooShort:
		return fmt.Sprintf("changes can be seen from %d runs on; there %s %d", f.Fewest, plural(f.Runs, "is", "are"), f.Runs)
	case history.Wandering:
		return fmt.Sprintf("neighbouring runs resemble each other (autocorrelation %s): some of the changes may be slow drift, and their positions are less certain than stated", Fixed(f.Lag1, 2))
	case combine.LeftOut:
		return fmt.Sprintf("run %d is left out: %s", f.Run, Reason(f.Why))
	case combine.FewOccasions:
		return fmt.Sprintf("%s hardly show how much occasions differ: see the bounds of the spread, and the prediction for another run", Count(f.Runs, "run", "runs"))
	case combine.ProgramFails:
		return fmt.Sprintf("the program of %s fails in %s of trials of %s over the runs, in the baseline in %s; shown in %s", f.Arm,
			frequency(f.Failed), f.Cell, frequency(f.Baseline), Count(len(f.Shown), "run", "runs"))
	case combine.OtherConduct:
		if f.Limit {
			return f.ValuesByRun() + ": a trial that failed in one run may have a value in another"
		}
		return f.ValuesByRun() + ": carry-over between arms and warm-up within trials differ between the runs"
	case combine.ControlDiffers:
		return "nothing has a verdict: " + Reason(f.ControlFails)
	}
	return f.Kind()
}

func headlines(n int) string { return Count(n, "headline comparison", "headline comparisons") }

// oddSeries states what is odd about the values of some metrics, such as a drift during the run, and what
// this means for their intervals.
func oddSeries(f analysis.OddSeries) string {
	metrics := lists.Map(f.Places, func(p analysis.OddSeriesPlace) string {
		return p.Metric + " " + In(p.Cell) + " (" + oddity(f.Oddity, p.Diagnostics) + ")"
	})
	if more := len(metrics) - maxMetrics; more > 1 {
		metrics = append(metrics[:maxMetrics], fmt.Sprintf("%d more", more))
	}
	shown := ", on " + strings.Join(metrics, ", ")
	if len(f.Places) == 1 {
		shown = " (" + oddity(f.Oddity, f.Places[0].Diagnostics) + ")"
	}
	switch f.Oddity {
	case analysis.OddLevels:
		return "values change level during the run" + shown + ": the interval describes a mixture of levels, not one level"
	case analysis.OddDrift:
		return "values drift from the first trial to the last" + shown + ": the drift is part of the difference, and the interval does not allow for it"
	case analysis.OddCarry:
		return "neighbouring trials resemble each other" + shown + ": the interval assumes independent trials and is too narrow"
	}
	return "values fall into more than one group" + shown + ": the interval describes a mixture of them, and perhaps none of them"
}

func oddity(o analysis.Oddity, d analysis.Diagnostics) string {
	switch o {
	case analysis.OddLevels:
		return "at trial " + Numbers(d.Changes)
	case analysis.OddDrift:
		if d.Trend == 0 {
			return pValue(d.TrendP)
		}
		return Trend(d.Trend)
	case analysis.OddCarry:
		return "lag-1 autocorrelation " + Fixed(d.Lag1, 2)
	}
	return "dip test " + pValue(d.DipP)
}

// Trend writes the direction and size of a drift: "rising by 3 %".
func Trend(v float64) string {
	switch {
	case v < 0:
		return "falling by " + Share(-v)
	case v == 0:
		return Share(0)
	}
	return "rising by " + Share(v)
}

// positions lists the effects of a trial's position in its round: "position 1 4.8 % more, position 2 1.9 % less".
func positions(effects []float64) string {
	var list []string
	for i, e := range effects {
		list = append(list, fmt.Sprintf("position %d %s", i+1, more.Amount(experiment.Metric{}, e, analysis.Interval{Hi: 0.01})))
	}
	return strings.Join(list, ", ")
}
