package experiment

import "tare/experiment/strictyaml"

// given names what a file sets of the limits and of design.slices.
func given(root *strictyaml.Node) map[string]bool {
	set := map[string]bool{}
	for _, part := range []string{"limits", "design"} {
		if n := root.Get(part); n != nil {
			for _, e := range n.Entries {
				set[part+"."+e.Key.Value] = true
			}
		}
	}
	return set
}

// Lifted is the limits of the experiment without those on the machine's condition that are Tare's own.
// What the file sets stays.
func (x *Experiment) Lifted() Limits {
	l := x.Limits
	for name, limit := range map[string]func(){
		"foreignCPU": func() { l.ForeignCPU = nil }, "steal": func() { l.Steal = nil },
		"throttling": func() { l.Throttling = nil }, "late": func() { l.Late = nil },
	} {
		if !x.given["limits."+name] {
			limit()
		}
	}
	return l
}

// GoOnBusy has the experiment measured on a machine that is too busy for Tare's own limits, why says by what,
// in place of voiding trial after trial. These limits are lifted; arms take turns in slices where the
// workload can be cut and the file says nothing of it; and CPU time, which waiting for a processor does
// not lengthen, is judged as well. It is decided before the first trial, and nothing measured takes part in it.
func (x *Experiment) GoOnBusy(why string) {
	x.Limits, x.busy = x.Lifted(), why
	if !x.given["design.slices"] {
		x.Design.Slices = SlicesAuto
	}
}

// judgeCPU makes the CPU time of a workload a headline metric.
func (m Measures) judgeCPU(metrics []Metric) {
	for i := range metrics {
		if name := metrics[i].Name; name == m.CPU || m.Cost != nil && name == m.Cost.Prefix+"-cpu" {
			metrics[i].Headline = true
		}
	}
}
