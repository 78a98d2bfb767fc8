package experiment

import (
	"fmt"
	"strconv"
	"time"
)

// Slices is the number of slices of a trial, or one of the constants. Arms alternate by slices, so that
// changes of the machine affect all arms alike (Bulej et al. 2020, Duet benchmarking, runs both programs at
// the same time for this reason). The trial stays the unit of analysis.
type Slices int

// The special values.
const (
	// slicesNone means whole trials.
	slicesNone Slices = 0
	// slicesAuto cuts trials if the workload can be cut and the trials stay short.
	slicesAuto Slices = -1
)

// mostSlices is the largest number of slices of a trial, since each slice has its own raw output.
const mostSlices = 100

var slicesNames = map[Slices]string{slicesNone: "none", slicesAuto: "auto"}

// Describe describes the valid texts of Slices.
func (Slices) Describe() string {
	return fmt.Sprintf("none, auto, or an even number from 2 to %d", mostSlices)
}

// Pattern returns the regular expression of Slices.
func (Slices) Pattern() string { return `^(none|auto|[2468]|[1-9][02468]|100)$` }

// UnmarshalText parses a number of slices or a special value. Numbers are even, since every second slice runs
// the arms in the reverse order of the slice before.
func (s *Slices) UnmarshalText(text []byte) error {
	for value, name := range slicesNames {
		if name == string(text) {
			*s = value
			return nil
		}
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 2 || n > mostSlices || n%2 != 0 {
		return fmt.Errorf("%q is not %s", text, s.Describe())
	}
	*s = Slices(n)
	return nil
}

// MarshalText returns the text of the value.
func (s Slices) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the text of the value.
func (s Slices) String() string {
	if name, ok := slicesNames[s]; ok {
		return name
	}
	return strconv.Itoa(int(s))
}

// Slice is the time that each slice after the first adds to a trial. It is zero if the slices share the time of
// a whole trial.
type Slice struct {
	Expected time.Duration // the approximate time
	Limit    time.Duration // the longest time
}

// slicesAuto cuts a trial into at most autoSlices slices, and lengthens the trial by at most the time
// autoLonger.
const (
	autoSlices = 8
	autoLonger = 2 * time.Second
)

// of returns the number of slices of a trial with these Measures; 0: the trial stays whole.
func (s Slices) of(m Measures) int {
	switch {
	case s == slicesNone || m.Slice == nil:
		return 0
	case s != slicesAuto:
		return int(s)
	}
	n := autoSlices
	if one := m.Slice.Expected; one > 0 {
		n = min(n, 1+int(autoLonger/one))
	}
	if n < 2 {
		return 0
	}
	return n &^ 1
}

// Cut returns the Measures of a trial that is cut into n slices. With n below 2 the trial stays whole.
func (m Measures) Cut(n int) Measures {
	if n < 2 || m.Slice == nil {
		return m
	}
	more := time.Duration(n - 1)
	m.Limit = m.Bound() + more*m.Slice.Limit
	m.Expected += more * m.Slice.Expected
	return m
}

// switched returns a layer that is turned on and off for all arms, with its arm; "" if there is none.
func (x *Experiment) switched() (kind, arm string) {
	for _, a := range x.Arms {
		for _, item := range a.Layers {
			if item.Config.Declare().Switches {
				return item.Kind, a.Name
			}
		}
	}
	return "", ""
}

// slicing returns the slices of the experiment's trials. Trials stay whole if a layer must be turned on and off
// between arms, since arms then cannot alternate by slices.
func (x *Experiment) slicing() Slices {
	if kind, _ := x.switched(); kind != "" {
		return slicesNone
	}
	return x.Design.Slices
}

// sliceable reports a number of slices in the file if trials cannot be cut.
func (l *loader) sliceable(x *Experiment) {
	const at = "design.slices"
	if x.Design.Slices == slicesNone || x.Design.Slices == slicesAuto {
		return
	}
	if kind, arm := x.switched(); kind != "" {
		l.file.ReportAt(at, fmt.Sprintf("trials cannot be cut into slices: the layer %s of arm %s is turned on and off for all arms between trials", kind, arm),
			"leave slices out, or write slices: auto")
	}
	var e Expansion
	e.addCells(x)
	reported := map[string]bool{}
	for i, c := range e.Plan.Cells {
		if e.Cells[i].Workload.Measures().Slice == nil && !reported[c.Workload] {
			reported[c.Workload] = true
			l.file.ReportAt(at, fmt.Sprintf("trials of the workload %s cannot be cut into slices", c.Workload),
				"write slices: auto to cut those that can be cut, or leave slices out")
		}
	}
}
