package experiment

import "tare/internal/experiment/strictyaml"

// given lists the limits that a file sets, and design.slices if the file sets it.
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

// WithoutDefaultLimits returns the limits of the experiment without Tare's default limits on the machine's condition. Limits
// that the file sets stay.
func (x *Experiment) WithoutDefaultLimits() Limits {
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

// GoOnBusy lets the experiment run on a machine that is too busy for Tare's default limits, which would
// otherwise invalidate trial after trial. why describes the load. The default limits are lifted. Arms alternate
// by slices if the workload can be cut and the file does not set slices. CPU time gets a verdict, too, since
// waiting for a CPU does not add to it. All this is decided before the first trial, and no measured value
// influences it.
func (x *Experiment) GoOnBusy(why string) {
	x.Limits, x.busy = x.WithoutDefaultLimits(), why
	if !x.given["design.slices"] {
		x.Design.Slices = slicesAuto
	}
}

// judgeCPU makes the CPU time of a workload a headline.
func (m Measures) judgeCPU(metrics []Metric) {
	for i := range metrics {
		if name := metrics[i].Name; name == m.CPU || m.Cost != nil && name == m.Cost.Prefix+"-cpu" {
			metrics[i].Headline = true
		}
	}
}
