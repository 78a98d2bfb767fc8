package compare

import (
	"reflect"

	"tare/analysis"
)

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
