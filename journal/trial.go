// Package journal is the run directory: an append-only record of finished
// trials that survives kill -9 and a full disk, with the raw output of the tools
// beside it.
package journal

import (
	"time"

	"tare/layer"
	"tare/machine"
	"tare/testbed"
)

// Trial is one line of trials.jsonl: one finished trial, valid or not.
type Trial struct {
	Seq      int           `json:"seq"`      // running number in the run, from 1
	Session  int           `json:"session"`  // counts up with each resume, from 1
	Round    int           `json:"round"`    // from 1
	Attempt  int           `json:"attempt"`  // within its round, from 1
	Position int           `json:"position"` // place in its block of arms, from 1; 0: not known
	Cell     string        `json:"cell"`
	Arm      string        `json:"arm"`
	Start    time.Time     `json:"start,omitzero"`     // zero: not told
	Prepared time.Duration `json:"prepared,omitempty"` // of what belongs to the trial and is not measured: the part before, clearing up after the trial before; ns
	Wall     time.Duration `json:"wall"`               // of the measured part, ns; 0: not told
	// Switched says that a layer was turned on or off for everyone just before.
	Switched   bool                     `json:"switched,omitempty"`
	Values     map[string]float64       `json:"values,omitempty"`
	Invalid    []Violation              `json:"invalid,omitempty"` // empty: a valid trial
	Checks     []layer.Check            `json:"checks,omitempty"`
	Conditions machine.Conditions       `json:"conditions,omitzero"` // zero: an imported trial
	Used       map[string]testbed.Usage `json:"used,omitempty"`      // by part: client, server, layer; of layer, KIND:PART and sidecar:NAME
	Harness    Harness                  `json:"harness,omitzero"`
	Raw        string                   `json:"raw,omitempty"` // directory below the run's; of an imported trial, a file
	// Source is the file that an invalid imported trial is from, as it was given.
	Source string `json:"source,omitempty"`
}

// Valid says whether the trial is data.
func (t *Trial) Valid() bool { return len(t.Invalid) == 0 }

// Violation is a rule that a trial broke.
type Violation struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// Harness is what Tare itself cost.
type Harness struct {
	CPU    time.Duration `json:"cpu"`    // of Tare's own process during the trial, ns
	Around time.Duration `json:"around"` // wall clock spent on this trial outside the workload, ns
}
