package experiment

import (
	"fmt"
	"strconv"
	"time"
)

// Slices says into how many slices a trial is cut: a number, or one of the constants.
// Between slices the arms alternate, so that what the machine does meanwhile concerns all of
// them alike (Bulej et al. 2020, Duet benchmarking, does the same by running both at the
// same time). The trial stays the unit of analysis.
type Slices int

// The ways.
const (
	// SlicesNone: trials are whole.
	SlicesNone Slices = 0
	// SlicesAuto: trials are cut where the workload can be cut, as far as they stay short.
	SlicesAuto Slices = -1
)

// mostSlices bounds what a trial is cut into: each slice has raw output of its own.
const mostSlices = 100

var slicesNames = map[Slices]string{SlicesNone: "none", SlicesAuto: "auto"}

// Describe says what Slices accepts.
func (Slices) Describe() string {
	return fmt.Sprintf("none, auto, or an even number from 2 to %d", mostSlices)
}

// Pattern is the regular expression of Slices.
func (Slices) Pattern() string { return `^(none|auto|[2468]|[1-9][02468]|100)$` }

// UnmarshalText parses it. Numbers are even: slices come in pairs, of which the second
// runs the arms in the reverse order of the first.
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

// MarshalText gives the written form.
func (s Slices) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String gives the written form.
func (s Slices) String() string {
	if name, ok := slicesNames[s]; ok {
		return name
	}
	return strconv.Itoa(int(s))
}

// Slice is what each slice beyond the first adds to a trial; nothing where the slices
// share the time of a whole trial.
type Slice struct {
	Expected time.Duration // how long it takes, roughly
	Limit    time.Duration // how long it may take
}

// SlicesAuto cuts a trial into at most autoSlices slices, and does not make it longer than
// by autoLonger.
const (
	autoSlices = 8
	autoLonger = 2 * time.Second
)

// of is the number of slices of a trial that measures this; 0: it stays whole.
func (s Slices) of(m Measures) int {
	switch {
	case s == SlicesNone || m.Slice == nil:
		return 0
	case s != SlicesAuto:
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

// Cut is what a trial measures that is cut into n slices; under 2 it stays whole.
func (m Measures) Cut(n int) Measures {
	if n < 2 || m.Slice == nil {
		return m
	}
	more := time.Duration(n - 1)
	m.Limit = m.Bound() + more*m.Slice.Limit
	m.Expected += more * m.Slice.Expected
	return m
}

// switched names a layer that is turned on and off for all arms, with its arm; "" if there
// is none.
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

// slicing is how the trials of the experiment are cut. Arms cannot alternate by slices
// where a layer has to be turned on and off between them.
func (x *Experiment) slicing() Slices {
	if kind, _ := x.switched(); kind != "" {
		return SlicesNone
	}
	return x.Design.Slices
}

// sliceable reports a number of slices where trials cannot be cut.
func (l *loader) sliceable(x *Experiment) {
	const at = "design.slices"
	if x.Design.Slices == SlicesNone || x.Design.Slices == SlicesAuto {
		return
	}
	if kind, arm := x.switched(); kind != "" {
		l.file.ReportAt(at, fmt.Sprintf("trials cannot be cut into slices: the layer %s of arm %s is turned on and off for all arms between trials", kind, arm),
			"leave slices out, or write slices: auto")
	}
	var e Expansion
	e.addCells(x)
	told := map[string]bool{}
	for i, c := range e.Plan.Cells {
		if e.Cells[i].Workload.Measures().Slice == nil && !told[c.Workload] {
			told[c.Workload] = true
			l.file.ReportAt(at, fmt.Sprintf("trials of the workload %s cannot be cut into slices", c.Workload),
				"write slices: auto to cut those that can be cut, or leave slices out")
		}
	}
}
