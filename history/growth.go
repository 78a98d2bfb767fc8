package history

import (
	"tare/analysis"
	"tare/experiment"
)

// Growth is what one metric of a new run has become compared with a history.
type Growth struct {
	Cell   string            `json:"cell"`
	Arm    string            `json:"arm"`
	Metric experiment.Metric `json:"metric"`
	// Of says what grew: "overhead", relative to the run's own baseline, or "level",
	// the arm's own values, in histories without a baseline to compare with.
	Of string `json:"of"`
	// Recent compares the new run with the runs since the last change, Anchor with
	// the reference runs at the beginning. A slow decline passes the first and not
	// the second. Both are shares (0.02: costs 2 % more than it did), positive for
	// worse.
	Recent Change `json:"recent"`
	Anchor Change `json:"anchor"`
	// Reason says why there is no estimate; empty if there is one.
	Reason string `json:"reason,omitempty"`
}

// Change is how much something grew.
type Change struct {
	Interval analysis.Interval `json:"interval"`
	Runs     int               `json:"runs"` // of the history, that it is compared with
	From     string            `json:"from"` // first of these runs
	To       string            `json:"to"`   // last of them
	// P is the one-sided p of "it grew by limit or less", as a function of the limit.
	P func(limit float64) float64 `json:"-"`
}
