package export

import (
	"tare/internal/analysis"
	"tare/internal/report/wording"
)

// The types of this file are an analysis as a reader of its JSON has it: what package analysis writes, with what
// package wording adds. The schema is made from them and has them under the name of that package. A member here takes
// the place of one of the same name in what is embedded.

// Analysis is an analysed run.
type Analysis struct {
	*analysis.Run
	Ending        string            `json:"missing,omitempty"`       // what is missing of what was planned, why, and what adds it
	Answer        []Answered        `json:"answer,omitempty"`        // one for each arm: what it costs, in short
	Reasons       []string          `json:"reasons,omitempty"`       // why the run gives no verdicts
	Invalidity    []wording.Figures `json:"invalidity,omitempty"`    // the same as data
	Observational string            `json:"observational,omitempty"` // why what is concluded is weaker than an experiment: "arms ran one after the other"
	Failures      []Failures        `json:"failures,omitempty"`      // of the program, by cell and arm, in the cells that have any
	Comparisons   []Comparison      `json:"comparisons"`             // of the arms with the baseline
	Controls      []Comparison      `json:"controls"`                // the A/A arm, in the same form
	Warnings      []Warning         `json:"warnings,omitempty"`      // what a reader must know before trusting the run
	Cells         []Cell            `json:"cells"`                   // series for charts
	Scaling       []Scaling         `json:"scaling,omitempty"`       // how metrics grow with factors whose levels are numbers
	PowerLaws     []PowerLaw        `json:"powerLaws,omitempty"`     // how metrics depend on all factors together, where the workload expects a law
	Breakdowns    []Breakdown       `json:"breakdowns,omitempty"`    // what the costs of layers are made of that have a factor which counts something
	Factorial     *Factorial        `json:"factorial,omitempty"`     // what the layers of a factorial design do alone and together
	Published     []PublishedSource `json:"published,omitempty"`     // numbers of documents that the experiment file lists, beside those of this run
}

// PublishedSource is a document with its numbers.
type PublishedSource struct {
	analysis.PublishedSource
	Rows []Published `json:"rows"` // one for each cell that a row of the file names
}

// Published is a number of a document beside the same number of this run.
type Published struct {
	analysis.Published
	Text   string           `json:"text"`             // in a line: "published 58 % less; here 4.4 % less [4.3, 4.4]: outside"
	Reason *wording.Figures `json:"reason,omitempty"` // why there is no reading
}

// Answered is what the run says of one arm in short.
type Answered struct {
	*analysis.ArmSummary
	Text string `json:"text"` // in a sentence: "wireguard: 4.0 % [3.1, 4.8] less bandwidth, 14 times [13, 15] the cpu"
}

// Breakdown says of what the cost of an arm is made, for one metric in one cell: installed,
// any and each of what a factor of its layers counts.
type Breakdown struct {
	*analysis.Breakdown
	Text  string  `json:"text"`  // in words: "installed costs 1.2 % [0.8, 1.6], any rule 3.4 % [3.0, 3.8], each rule 0.05 % [0.04, 0.06] more"
	Parts []Part  `json:"parts"` // installed where there is a level 0, any, each
	Miss  *Missed `json:"miss,omitempty"`
}

// Part is one part of a cost: installed, any or each.
type Part struct {
	Comparison
	Part   analysis.PartName  `json:"part"`
	Amount *analysis.Interval `json:"amount,omitempty"` // in the metric's unit, a plus is a cost; nothing where the overhead is that
}

// Missed says how far the cost at one level lies from the line through the other levels.
type Missed struct {
	*analysis.Miss
	Text string `json:"text,omitempty"` // in words, where the line does not hold
}

// Factorial is what the factors of a factorial design do alone and together.
type Factorial struct {
	*analysis.Factorial
	Effects []FactorialEffect `json:"effects"` // by cell and metric, main effects first
}

// FactorialEffect is a main effect or an interaction: what one factor costs on the average over the
// others, or what several cost together beyond the sum of their parts.
type FactorialEffect struct {
	Of   []string `json:"of"`             // the factors: one for a main effect, several for an interaction
	Over []string `json:"over,omitempty"` // the factors over whose settings it is an average
	Comparison
}

// Comparison is one arm against the baseline on one metric in one cell.
type Comparison struct {
	analysis.Comparison
	Text        string            `json:"text"`               // the verdict in a sentence: "costs 7.1 % [6.2, 8.0]"
	Reason      *wording.Figures  `json:"reason,omitempty"`   // why it is not resolved, or gets no verdict
	Warnings    []string          `json:"warnings,omitempty"` // what a reader must know before trusting this comparison
	Findings    []wording.Figures `json:"findings,omitempty"` // the same as data
	WithInvalid *Alternative      `json:"withInvalid,omitempty"`
}

// Failures says how often the program failed in an arm of a cell.
type Failures struct {
	analysis.Failures
	Text   string           `json:"text"`             // in a sentence: "fails in 30 % [18, 45] of trials; baseline 0 % [0, 7]"
	Reason *wording.Figures `json:"reason,omitempty"` // why it gets no verdict
}

// Alternative is a comparison as it would be with the trials that had failed
// operations.
type Alternative struct {
	Comparison
	Text   string `json:"text"`   // in a sentence
	Trials int    `json:"trials"` // invalid trials that it takes in, of both arms
}

// Warning is something that a reader must know before trusting a number.
type Warning struct {
	analysis.Warning
	wording.Figures
	Text string `json:"text"` // in a sentence
}

// Cell holds one cell's series for charts.
type Cell struct {
	analysis.CellSummary
	Loop *Looped `json:"loop,omitempty"` // nothing where nothing tells of a closed loop
}

// Looped says that a cell's load is a closed loop.
type Looped struct {
	*analysis.LoopSummary
	Text string `json:"text"` // in a sentence
}

// Scaling is how one metric of a workload grows with a factor of its cells: the
// levels, and lines through them.
type Scaling struct {
	*analysis.Scaling
	Per  string       `json:"per"`  // what a slope is for, in words: "object", "1 % of churn"
	Arms []ScalingArm `json:"arms"` // in the plan's order; those with a value at every level in some round, so none where trials are no pairs
}

// ScalingArm is the line of one arm.
type ScalingArm struct {
	*analysis.ScalingArm
	Text       string      `json:"text"` // the slope in words: "12.1 KiB [11.0, 13.2] per object"
	Fit        Fitted      `json:"fit"`  // how well a line describes the values
	Difference *RoundValue `json:"difference,omitempty"`
	// BaseDifference is the same at none.
	BaseDifference *RoundValue `json:"baseDifference,omitempty"`
}

// PowerLaw is how a metric of a workload depends on its factors together.
type PowerLaw struct {
	*analysis.PowerLaw
	Expected string        `json:"expected"` // in words: "queries = proxies × hosts ÷ ttl"
	Arms     []PowerLawArm `json:"arms"`     // in the plan's order; those with a value in every cell in some round
}

// PowerLawArm is the law of one arm.
type PowerLawArm struct {
	*analysis.PowerLawArm
	Text   string    `json:"text"`   // in words: "queries = 1.01/s [0.98, 1.03] × hosts^1.002 [0.997, 1.008]"
	Misfit Misfitted `json:"misfit"` // the cell whose values lie farthest from the law
}

// Misfitted is the cell whose values lie farthest from a law.
type Misfitted struct {
	analysis.Misfit
	Text string `json:"text,omitempty"` // in words, where the law does not hold
}

// Fitted says how well a line describes the values.
type Fitted struct {
	analysis.Fit
	Text string `json:"text,omitempty"` // in words, where it is poor
}

// RoundValue is how much steeper an arm's line is than the baseline's.
type RoundValue struct {
	*analysis.RoundValue
	Text string `json:"text"` // in words: "1.2 KiB [0.9, 1.5] more per object than plain"
}
