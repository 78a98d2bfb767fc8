package analysis

import (
	"maps"
	"slices"

	"tare/analysis/contrast"
	"tare/experiment"
)

// Reason says why a comparison is not resolved or gets no verdict, or why a whole run gives none: a kind with its
// figures. Package wording makes a sentence of it.
type Reason interface {
	Kind() string
}

// The reasons why a comparison is not resolved.
type (
	// NothingShown: neither a difference nor equivalence is shown.
	NothingShown struct{}
	// TooFewValues: fewer than two pairs, or than two values of an arm.
	TooFewValues struct {
		Loss *Loss `json:"loss,omitempty"` // what most trials were lost to
	}
	// NoSpread: too few values for ranks, and no spread for a t interval.
	NoSpread struct {
		Fewest int `json:"fewest"` // pairs that an interval by ranks takes
	}
	// NotInFamily: a difference by itself, but not as one of so many claims.
	NotInFamily struct {
		Family int `json:"family"` // claims that share the correction
	}
	// WithinBias: a difference no larger than the control's own.
	WithinBias struct {
		Bias float64 `json:"bias"` // what the control differs by, on the scale of the overhead
	}
	// TooFewToClaim: fewer values than any claim of the family takes.
	TooFewToClaim struct {
		Family int `json:"family"`
		Fewest int `json:"fewest"` // pairs, or values of each arm, that it takes
	}
	// NoControl: the control has no estimate to stand against.
	NoControl struct{}
	// ThinControl: the control has so few values that it could hardly differ.
	ThinControl struct {
		Values int `json:"values"` // pairs, or values of the smaller sample, of the control
	}
	// Ties: p is small, but ties leave zero in the interval.
	Ties struct{}
	// FarReaching: equivalent by the tests, with an interval far beyond the margin.
	FarReaching struct{}
	// MeanNotShown: the typical round is equivalent, but the mean is not shown to be.
	MeanNotShown struct{}
	// MissingTrials: what the values say does not withstand those that are missing, of trials in
	// which the program failed. Of a claim it says that it does: with those that speak against it
	// by failing counted as worst, and with the others put at no difference.
	MissingTrials struct {
		Missing int     `json:"missing"`
		Of      int     `json:"of"`              // pairs, or values of both arms, had none failed
		Worst   int     `json:"worst,omitempty"` // of the missing, those that count as worst against a cost or a gain
		Without Verdict `json:"without"`         // what the others say by themselves
	}
)

// The reasons why a comparison gets no verdict.
type (
	// DoesNotVary: all values are the same, in every arm and trial.
	DoesNotVary struct{}
	// OtherSettings: the arm's files were made with other settings of the workload than the baseline's.
	OtherSettings struct {
		Settings []UnlikeSetting `json:"settings"`
	}
	// InvalidRuns: what is compared is of runs that give no verdicts.
	InvalidRuns struct {
		Runs []int `json:"runs,omitempty"` // by number; empty: the run itself
	}
	// ControlChanged: between two runs the control has changed as well.
	ControlChanged struct{}
	// RoundsMissing: not all rounds that were planned are done.
	RoundsMissing struct {
		Rounds int `json:"rounds"`
		Of     int `json:"of"`
	}
	// UnfinishedRuns: what is compared is of runs that are not finished.
	UnfinishedRuns struct {
		Runs []int `json:"runs,omitempty"` // by number; empty: the run itself
	}
	// SameClaim: a closed loop makes this metric say once more what another one says, which has the verdict.
	SameClaim struct {
		Metric string `json:"metric"`
	}
)

// The reasons why a run gives no verdicts.
type (
	// NoBaseline: the plan has no baseline.
	NoBaseline struct{}
	// ControlFails: the control differs from the baseline, of which it is a copy, and is not shown to be equivalent.
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
		Limit    float64 `json:"limit"` // as a share
		Imported bool    `json:"imported,omitempty"`
	}
)

// NoVerdicts is the reason why a run is left out where several are put together: it gives none.
type NoVerdicts struct {
	Reasons []Reason `json:"-"`
}

// The kinds by name.
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

// Loss is what most trials of an arm are lost to.
type Loss struct {
	Baseline bool     `json:"baseline,omitempty"` // the baseline's trials; else the arm's
	Lost     int      `json:"lost"`
	Trials   int      `json:"trials"`
	Rules    []string `json:"rules,omitempty"`  // that they broke
	Metric   string   `json:"metric,omitempty"` // of which they have no usable value, where no rule was broken
}

// lost says what a comparison with too few values has lost its trials to.
func (x explainer) lost(h *hypothesis) *Loss {
	if x.table == nil { // of no single run
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

// loss says what most trials of an arm are lost to, if most are.
func (t *table) loss(c, a int, m experiment.Metric) *Loss {
	count, without, broken := 0, 0, map[string]int{}
	for _, s := range t.slots[c][a] {
		if s.attempts == 0 {
			continue
		}
		count++
		if s.valid == nil {
			broken[s.rule]++
		} else if _, ok := value(s.valid, m); !ok {
			without++
		}
	}
	if without*2 > count {
		return &Loss{Lost: without, Trials: count, Metric: m.Name}
	}
	lost := 0
	for _, n := range broken {
		lost += n
	}
	if lost*2 <= count {
		return nil
	}
	return &Loss{Lost: lost, Trials: count, Rules: slices.Sorted(maps.Keys(broken))}
}

// failure says by how much a control misses.
func (h *hypothesis) failure(plan *experiment.Plan) ControlFails {
	return ControlFails{Cell: h.Cell, Metric: h.Metric, Overhead: Interval(contrast.Overheads(h.Main.At, h.Metric)),
		PAdjusted: h.adjusted, Margin: float64(plan.Equivalence)}
}
