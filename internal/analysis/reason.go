package analysis

import (
	"maps"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/experiment"
)

// Reason explains why a comparison is not resolved or gets no verdict, or why a run gives no verdicts at all. It has a
// kind, and numbers that depend on the kind. Package wording turns a reason into a sentence.
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
	// NoSpread: there are too few values for ranks, and they do not vary, so there is no t interval.
	NoSpread struct {
		Fewest int `json:"fewest"` // number of pairs that an interval by ranks needs
	}
	// NotInFamily: the difference is significant by itself, but not after Holm's correction for the number of claims.
	NotInFamily struct {
		Family int `json:"family"` // number of claims that share the correction
	}
	// WithinBias: the control differs from the baseline, and the arm does not clearly differ by more than the control.
	WithinBias struct {
		Bias float64 `json:"bias"` // difference of the control from the baseline, on the scale of the overhead
	}
	// TooFewToClaim: there are fewer values than a claim needs in a family of this size.
	TooFewToClaim struct {
		Family int `json:"family"`
		Fewest int `json:"fewest"` // number of pairs, or of values in each arm, that a claim needs
	}
	// NoControl: the control's values allow no estimate.
	NoControl struct{}
	// ThinControl: the control has far fewer values than the arm, too few to show that it differs from the baseline.
	ThinControl struct {
		Values int `json:"values"` // number of the control's pairs, or of values in the smaller sample
	}
	// Ties: the p-value is small, but because of ties (equal values) the interval includes zero.
	Ties struct{}
	// FarReaching: the tests show equivalence, but the interval reaches far beyond the margin.
	FarReaching struct{}
	// MeanNotShown: the typical round is shown to be equivalent, but the mean is not.
	MeanNotShown struct{}
	// MissingTrials: trials have no value because the program failed, and the claim depends on the missing values. If
	// the comparison still makes a claim, MissingTrials means that the claim holds in the worst case: missing values
	// that contradict it are worse than all values seen, and other missing values show no difference.
	MissingTrials struct {
		Missing int     `json:"missing"`
		Of      int     `json:"of"`              // number of pairs, or of values of both arms, if no trial had failed
		Worst   int     `json:"worst,omitempty"` // number of missing values that count, in the worst case, against a claim of a cost or a gain
		Without Verdict `json:"without"`         // verdict from the values that exist, as if no trial had failed
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
	// ControlChanged: between both runs the control has changed, so a change of the arm may have another cause.
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
	// SameClaim: in a closed loop, this metric carries the same information as another metric, which has the verdict.
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
	Baseline bool     `json:"baseline,omitempty"` // the baseline's trials are lost; otherwise the arm's
	Lost     int      `json:"lost"`
	Trials   int      `json:"trials"`
	Rules    []string `json:"rules,omitempty"`  // rules that the trials broke
	Metric   string   `json:"metric,omitempty"` // metric that has no usable value in valid trials; "": the trials are invalid, and Rules says why
}

func (x explainer) lost(h *hypothesis) *Loss {
	if x.table == nil { // a comparison across runs has no table
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
