package analysis

import (
	"maps"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// Reason explains why a comparison is not resolved, or a comparison or run has no verdict. Package wording turns its
// kind and numbers into a sentence.
type Reason interface {
	Kind() string
}

// The reasons why a comparison is not resolved.
type (
	// NothingShown: neither a difference nor equivalence is shown.
	NothingShown struct{}
	// TooFewValues: there are fewer than two pairs, or fewer than two values of an arm.
	TooFewValues struct {
		Loss *Loss `json:"loss,omitempty"` // main cause of the missing values
	}
	// NoSpread: there are too few values for an interval by ranks. The values are all equal, so there is no t interval
	// either.
	NoSpread struct {
		Fewest int `json:"fewest"` // number of pairs that an interval by ranks needs
	}
	// NotInFamily: the difference is significant if tested alone. After Holm's correction for the number of claims, it
	// is not.
	NotInFamily struct {
		Family int `json:"family"` // number of claims that share the correction
	}
	// WithinBias: the control itself differs from the baseline, and the arm's difference from the baseline is not
	// clearly larger than that.
	WithinBias struct {
		Bias float64 `json:"bias"` // how much the control differs from the baseline, on the scale of the overhead
	}
	// TooFewToClaim says that there are fewer values than a claim needs, given the number of hypotheses under Holm's
	// correction.
	TooFewToClaim struct {
		Family int `json:"family"`
		Fewest int `json:"fewest"` // number of pairs, or of values in each arm, that a claim needs
	}
	// NoControl says that the control's values allow no estimate of the noise.
	NoControl struct{}
	// ThinControl says that the control has far fewer values than the arm. So few values cannot show whether the
	// control differs from the baseline.
	ThinControl struct {
		Values int `json:"values"` // number of the control's pairs; for unpaired data, of values in the smaller sample
	}
	// Ties: the p-value is small, but because of ties (equal values) the interval includes zero.
	Ties struct{}
	// FarReaching: the tests show equivalence, but the interval reaches far beyond the margin.
	FarReaching struct{}
	// MeanNotShown: the typical round is shown to be equivalent, but the mean is not.
	MeanNotShown struct{}
	// MissingTrials: a claim depends on trials whose program failed. The claim stands if it holds in the worst case:
	// failed trials of the arm that looks worse count against the claim, more than all values seen. Other failed trials
	// show no difference.
	MissingTrials struct {
		Missing int     `json:"missing"`
		Of      int     `json:"of"`              // number of pairs (or of values of both arms) that a run without failures would have
		Worst   int     `json:"worst,omitempty"` // missing values that, in the worst case, speak against a claim of a cost or a gain
		Without Verdict `json:"without"`         // verdict from the existing values alone, as if no trial had failed
	}
)

// The reasons why a comparison gets no verdict.
type (
	// DoesNotVary: all values are equal, in every arm and trial.
	DoesNotVary struct{}
	// OtherSettings: the workload's settings in the arm's files differ from the settings in the baseline's files.
	OtherSettings struct {
		Settings []UnlikeSetting `json:"settings"`
	}
	// InvalidRuns: some compared runs give no verdicts.
	InvalidRuns struct {
		Runs []int `json:"runs,omitempty"` // numbers of the runs without verdicts; empty: the analysed run itself
	}
	// ControlChanged: the control has changed between the two runs. So a change of the arm may have another cause than
	// the arm's layers.
	ControlChanged struct{}
	// RoundsMissing: not all planned rounds are done.
	RoundsMissing struct {
		Rounds int `json:"rounds"`
		Of     int `json:"of"`
	}
	// UnfinishedRuns: some compared runs are not finished.
	UnfinishedRuns struct {
		Runs []int `json:"runs,omitempty"` // numbers of the unfinished runs; empty: the analysed run itself
	}
	// SameClaim says that in a closed loop this metric carries the same information as another metric, Metric, which
	// gets the verdict in its place.
	SameClaim struct {
		Metric string `json:"metric"`
	}
)

// The reasons why a run gives no verdicts.
type (
	// NoBaseline: the plan has no baseline.
	NoBaseline struct{}
	// ControlFails: the control differs from the baseline, although both are set up alike, and the data do not show
	// that they are equivalent.
	ControlFails struct {
		Cell      string            `json:"cell"`
		Metric    experiment.Metric `json:"metric"`
		Overhead  Interval          `json:"overhead"`
		PAdjusted float64           `json:"pAdjusted"`
		Margin    float64           `json:"margin"`
	}
	// InvalidTrials: more trials are invalid than the limit allows.
	InvalidTrials struct {
		Lost     int     `json:"lost"`
		Planned  int     `json:"planned"`
		Limit    float64 `json:"limit"` // largest share of the planned trials that may be lost
		Imported bool    `json:"imported,omitempty"`
	}
)

// NoVerdicts: a run gives no verdicts, so an analysis of several runs does not use it.
type NoVerdicts struct {
	Reasons []Reason `json:"-"`
}

// Kind returns the name of the kind, as JSON has it.
func (NothingShown) Kind() string   { return "nothing-shown" }
func (TooFewValues) Kind() string   { return "too-few-values" }
func (NoSpread) Kind() string       { return "no-spread" }
func (NotInFamily) Kind() string    { return "not-in-family" }
func (WithinBias) Kind() string     { return "within-bias" }
func (TooFewToClaim) Kind() string  { return "too-few-to-claim" }
func (NoControl) Kind() string      { return "no-control" }
func (ThinControl) Kind() string    { return "thin-control" }
func (Ties) Kind() string           { return "ties" }
func (FarReaching) Kind() string    { return "far-reaching" }
func (DoesNotVary) Kind() string    { return "does-not-vary" }
func (OtherSettings) Kind() string  { return "other-settings" }
func (MeanNotShown) Kind() string   { return "mean-not-shown" }
func (MissingTrials) Kind() string  { return "missing-trials" }
func (RoundsMissing) Kind() string  { return "rounds-missing" }
func (UnfinishedRuns) Kind() string { return "unfinished-runs" }
func (SameClaim) Kind() string      { return "same-claim" }
func (InvalidRuns) Kind() string    { return "invalid-runs" }
func (ControlChanged) Kind() string { return "control-changed" }
func (NoBaseline) Kind() string     { return "no-baseline" }
func (ControlFails) Kind() string   { return "control-fails" }
func (InvalidTrials) Kind() string  { return "invalid-trials" }
func (NoVerdicts) Kind() string     { return "no-verdicts" }

// Loss is the main cause why most trials of an arm have no value.
type Loss struct {
	Baseline bool     `json:"baseline,omitempty"` // true: the lost trials are the baseline's; false: the arm's
	Lost     int      `json:"lost"`
	Trials   int      `json:"trials"`
	Rules    []string `json:"rules,omitempty"`  // rules that the trials broke
	Metric   string   `json:"metric,omitempty"` // metric that has no usable value in valid trials; "": the trials are invalid, and Rules says why
}

func (x explainer) lost(h *hypothesis) *Loss {
	if x.table == nil { // a comparison of several runs has no table of trials
		return nil
	}
	if l := x.table.loss(h.cell, h.arm, h.Metric); l != nil {
		return l
	}
	l := x.table.loss(h.cell, role(x.plan, experiment.Baseline), h.Metric)
	if l != nil {
		l.Baseline = true
	}
	return l
}

// loss returns why most trials of an arm have no value; nil if most trials have a value.
func (t *table) loss(c, a int, m experiment.Metric) *Loss {
	count, without, lost, broken := 0, 0, 0, map[string]bool{}
	for _, s := range t.slots[c][a] {
		if s.attempts == 0 {
			continue
		}
		count++
		if s.valid == nil {
			lost++
			broken[s.rule] = true
		} else if _, ok := value(s.valid, m); !ok {
			without++
		}
	}
	if without*2 > count {
		return &Loss{Lost: without, Trials: count, Metric: m.Name}
	}
	if lost*2 <= count {
		return nil
	}
	return &Loss{Lost: lost, Trials: count, Rules: slices.Sorted(maps.Keys(broken))}
}

func (h *hypothesis) failure(plan *experiment.Plan) ControlFails {
	return ControlFails{Cell: h.Cell, Metric: h.Metric, Overhead: Interval(contrast.Overheads(h.Main.At, h.Metric)),
		PAdjusted: h.adjusted, Margin: float64(plan.Equivalence)}
}
