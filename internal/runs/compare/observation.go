package compare

import (
	"reflect"
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// Observation says why the comparison of several runs is not an experiment, such as different machines or times.
type Observation struct {
	// Starts are the start times of the runs, in the order of the runs; zero: unknown.
	Starts   []time.Time `json:"starts"`
	Machines machines    `json:"machines"`
	// Differing names the properties in which the machines differ.
	Differing []string `json:"differing,omitempty"`
	Within    []Within `json:"within,omitempty"` // the runs that are not experiments themselves
}

// Within is the reason why some of the compared runs are not experiments themselves.
type Within struct {
	Runs        []int                 `json:"runs"`
	Observation *analysis.Observation `json:"observation"`
}

type machines string

const (
	MachinesDiffer  machines = "differ"  // the machines differ in important properties
	MachinesUnknown machines = "unknown" // a run has no record of its machine
	machinesAlike   machines = "alike"   // the machines have the same important properties
)

// Findings that a reader should know before trusting a comparison of runs.
type (
	// UnfinishedRun: planned trials of a run are missing.
	UnfinishedRun struct {
		Run int `json:"run"`
		analysis.Unfinished
	}
	// InvalidRun says that a run gives no verdicts. Comparisons with this run then give no verdicts either.
	InvalidRun struct {
		Run     int               `json:"run"`
		Reasons []analysis.Reason `json:"-"`
	}
	// PilotRounds: the first rounds of a run (a pilot) determined the number of all its rounds. Intervals across
	// runs do not correct for the pilot.
	PilotRounds struct {
		Run int `json:"run"`
	}
	// OtherRules: the plan of run Run has another confidence, margin or power than the plan of run Reference.
	OtherRules struct {
		Run       int `json:"run"`
		Reference int `json:"reference"` // number of the run whose confidence, margin and power are used
	}
	// ChangedControl: the control's overhead differs between two runs, so comparisons of these runs get no verdicts.
	ChangedControl struct {
		From     int               `json:"from"`
		To       int               `json:"to"`
		Cell     string            `json:"cell"`
		Metric   experiment.Metric `json:"metric"`
		Overhead analysis.Interval `json:"overhead"`
	}
	// UnrecordedMachines: some runs have no record of their machine.
	UnrecordedMachines struct {
		Runs []int `json:"runs"`
	}
)

// Kind returns the name of this kind of finding in JSON.
func (UnfinishedRun) Kind() string      { return "unfinished-run" }
func (InvalidRun) Kind() string         { return "invalid-run" }
func (PilotRounds) Kind() string        { return "pilot-rounds" }
func (OtherRules) Kind() string         { return "other-rules" }
func (ChangedControl) Kind() string     { return "changed-control" }
func (UnrecordedMachines) Kind() string { return "unrecorded-machines" }

func (c *comparison) observation() *Observation {
	if len(c.in) == 1 {
		return nil
	}
	o := &Observation{Machines: machinesAlike}
	for i, in := range c.in {
		o.Starts = append(o.Starts, in.Run.Start)
		if in.Run.Environment == nil {
			o.Machines = MachinesUnknown
		}
		if why := in.Run.Observation; why != nil {
			k := slices.IndexFunc(o.Within, func(w Within) bool { return reflect.DeepEqual(w.Observation, why) })
			if k < 0 {
				k, o.Within = len(o.Within), append(o.Within, Within{Observation: why})
			}
			o.Within[k].Runs = append(o.Within[k].Runs, i+1)
		}
	}
	for _, d := range c.result.Differences {
		if d.Group == Machine && !d.Minor {
			o.Machines, o.Differing = MachinesDiffer, append(o.Differing, d.Path)
		}
	}
	return o
}

func (c *comparison) addFindings() {
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
