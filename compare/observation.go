package compare

import (
	"reflect"
	"time"

	"tare/analysis"
	"tare/experiment"
)

// Observation says why what is concluded across runs is no experiment.
type Observation struct {
	// Starts are when the runs were made, in their order; zero: not known.
	Starts   []time.Time `json:"starts"`
	Machines Machines    `json:"machines"`
	// Differing names in what the machines differ.
	Differing []string `json:"differing,omitempty"`
	Within    []Within `json:"within,omitempty"` // runs that are no experiments by themselves
}

// Within is why some of the runs are no experiments by themselves.
type Within struct {
	Runs        []int                 `json:"runs"` // by number
	Observation *analysis.Observation `json:"observation"`
}

// Machines says what is known of the machines on which runs were made.
type Machines string

// What can be known.
const (
	MachinesDiffer  Machines = "differ"
	MachinesUnknown Machines = "unknown" // not all are on record
	MachinesAlike   Machines = "alike"   // their records are the same
)

// Findings are what a reader must know before trusting a comparison of runs.
type (
	// UnfinishedRun: trials of a run are missing that were planned.
	UnfinishedRun struct {
		Run int `json:"run"`
		analysis.Unfinished
	}
	// InvalidRun: a run gives no verdicts, and no comparison with it does.
	InvalidRun struct {
		Run     int               `json:"run"`
		Reasons []analysis.Reason `json:"-"`
	}
	// PilotRounds: a pilot set the number of rounds, for which intervals across runs do not allow.
	PilotRounds struct {
		Run int `json:"run"`
	}
	// OtherRules: a run was to be judged at another confidence, margin or power.
	OtherRules struct {
		Run       int `json:"run"`
		Reference int `json:"reference"` // the run whose rules hold
	}
	// ChangedControl: the control's overhead differs between two runs, so that nothing between them has a verdict.
	ChangedControl struct {
		From     int               `json:"from"`
		To       int               `json:"to"`
		Cell     string            `json:"cell"`
		Metric   experiment.Metric `json:"metric"`
		Overhead analysis.Interval `json:"overhead"`
	}
	// UnrecordedMachines: runs have no record of the machine.
	UnrecordedMachines struct {
		Runs []int `json:"runs"`
	}
)

// The kinds by name.
func (UnfinishedRun) Kind() string      { return "unfinished-run" }
func (InvalidRun) Kind() string         { return "invalid-run" }
func (PilotRounds) Kind() string        { return "pilot-rounds" }
func (OtherRules) Kind() string         { return "other-rules" }
func (ChangedControl) Kind() string     { return "changed-control" }
func (UnrecordedMachines) Kind() string { return "unrecorded-machines" }

// observation says why what is concluded across runs is no experiment; nil for a
// single run, which says so itself.
func (c *comparison) observation() *Observation {
	if len(c.in) == 1 {
		return nil
	}
	o := &Observation{Machines: MachinesAlike}
	for i, in := range c.in {
		o.Starts = append(o.Starts, in.Run.Start)
		if in.Run.Environment == nil {
			o.Machines = MachinesUnknown
		}
		if in.Run.Observation != nil {
			o.within(i+1, in.Run.Observation)
		}
	}
	for _, d := range c.result.Differences {
		if d.Group == Machine && !d.Minor {
			o.Machines, o.Differing = MachinesDiffer, append(o.Differing, d.Path)
		}
	}
	return o
}

// within adds a run to those that are no experiments for the same reason.
func (o *Observation) within(run int, why *analysis.Observation) {
	for i := range o.Within {
		if reflect.DeepEqual(o.Within[i].Observation, why) {
			o.Within[i].Runs = append(o.Within[i].Runs, run)
			return
		}
	}
	o.Within = append(o.Within, Within{Runs: []int{run}, Observation: why})
}

// doubts are what a reader must know before trusting a comparison of these runs.
func (c *comparison) doubts() {
	for i, in := range c.in {
		r := in.Run
		if !r.Finished {
			c.warn(UnfinishedRun{Run: i + 1, Unfinished: analysis.Unfinished{Done: r.Trials.Done, Planned: r.Trials.Planned}})
		}
		if !r.Valid {
			c.warn(InvalidRun{Run: i + 1, Reasons: r.Reasons})
		}
		if len(c.in) > 1 && r.Plan.Precision > 0 {
			c.warn(PilotRounds{Run: i + 1})
		}
	}
	own := c.plan()
	for i, in := range c.in {
		p := in.Run.Plan
		if p.Confidence != own.Confidence || p.Equivalence != own.Equivalence || p.Power != own.Power {
			c.warn(OtherRules{Run: i + 1, Reference: c.reference.Run})
		}
	}
}
