package experiment

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment/strictyaml"
)

// Rounds is the number of rounds in the file: the exact number (Fixed), or the largest (AtMost).
type Rounds struct {
	Fixed  int `yaml:"fixed" alone:"true" min:"2" max:"100000" doc:"number of rounds of the run; a number without a field means the same"`
	AtMost int `yaml:"atMost" min:"2" max:"100000" doc:"largest number of rounds of the run, which ends earlier if it is decided"`
}

// stop is the condition that ends a run.
type stop string

const (
	StopPlanned stop = "planned" // the planned number of rounds is done
	stopDecided stop = "decided" // a planned look finds that every headline comparison is decided
)

func (stop) Describe() string { return "planned or decided" }
func (stop) Pattern() string  { return `^(planned|decided)$` }

func (s *stop) UnmarshalText(text []byte) error {
	if *s = stop(text); *s != StopPlanned && *s != stopDecided {
		return fmt.Errorf("%q is not %s", text, s.Describe())
	}
	return nil
}

const (
	firstLook  = 6    // the fewest rounds for an exact interval
	lookGrowth = 1.46 // each look has about this many times as many rounds as the look before
	lookApart  = 1.2  // the last look has more than this many times the rounds of the look before
)

// UsualLooks returns the usual looks of a run with most rounds or fewer. The last look is after most rounds.
func UsualLooks(most int) (looks []int) {
	for n := firstLook; lookApart*float64(n) < float64(most); n = int(math.Round(lookGrowth * float64(n))) {
		looks = append(looks, n)
	}
	return append(looks, most)
}

func (l *loader) stops(d *design) {
	decided := d.Stop == stopDecided
	switch {
	case decided && l.file.Has("design.precision"):
		l.file.ReportKey("design.stop", "stop: decided and precision exclude each other", "precision sets the number of rounds by a pilot")
	case decided && d.Rounds.AtMost == 0:
		l.file.ReportKey("design.stop", "stop: decided needs the largest number of rounds", "rounds: {atMost: 40}")
	case d.Rounds.AtMost > 0 && d.Rounds.Fixed > 0:
		l.file.ReportKey("design.rounds", "fixed and atMost exclude each other", "")
	case !decided && d.Rounds.AtMost > 0:
		l.file.ReportKey("design.rounds.atMost", "rounds that may be fewer need a reason to stop", "stop: decided ends the run when every headline comparison is decided")
	case !decided && l.file.Has("design.looks"):
		l.file.ReportKey("design.looks", "looks have no effect without stop: decided", "")
	}
	if !decided || l.file.Troubled("design") {
		return
	}
	if !l.file.Has("design.looks") {
		d.Looks = UsualLooks(d.Rounds.AtMost)
		return
	}
	if !slices.IsSorted(d.Looks) || len(slices.Compact(slices.Clone(d.Looks))) < len(d.Looks) || len(d.Looks) == 0 || d.Looks[0] < 2 || d.Looks[len(d.Looks)-1] > d.Rounds.AtMost {
		l.file.ReportAt("design.looks", fmt.Sprintf("looks are %v; expected ascending numbers of rounds from 2 to %d", d.Looks, d.Rounds.AtMost), "[6, 9, 13, 19, 28, 40]")
		return
	}
	if d.Looks[len(d.Looks)-1] < d.Rounds.AtMost {
		d.Looks = append(d.Looks, d.Rounds.AtMost)
	}
}

// LookRounds lists the numbers of rounds after which the run may end: "6, 9, 13 and 20".
func (p *Plan) LookRounds() string {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(p.DecideAt), " ", ", "), "[]")
	if i := strings.LastIndex(text, ","); i > 0 {
		text = text[:i] + " and" + text[i+1:]
	}
	return text
}

// LooksUpTo returns the planned looks before a number of rounds, and this number as the last look. nil: the plan has no
// looks.
func (p *Plan) LooksUpTo(rounds int) []int {
	if len(p.DecideAt) == 0 {
		return nil
	}
	return append(p.LooksBefore(rounds), rounds)
}

// LooksBefore returns the planned looks that come before a number of rounds.
func (p *Plan) LooksBefore(rounds int) []int {
	return slices.DeleteFunc(slices.Clone(p.DecideAt), func(n int) bool { return n >= rounds })
}

// SetUps is the number of set-ups in a run, or one of the constants. Several set-ups tell a layer's effect from random
// ones such as memory layout (Kalibera and Jones 2013, section 4).
type SetUps int

const (
	SetUpsAuto       SetUps = 0  // a new set-up before every round if a set-up is cheap, and otherwise before every group of rounds
	SetUpsOnce       SetUps = 1  // a single set-up; the result is then valid only for this set-up
	SetUpsEveryRound SetUps = -1 // a new set-up before every round
	SetUpsEveryTrial SetUps = -2 // arms in turn: an arm is set up before each of its trials, and taken down after it
)

var setUpsNames = map[SetUps]string{
	SetUpsAuto: "auto", SetUpsOnce: "once", SetUpsEveryRound: "every-round", SetUpsEveryTrial: "every-trial",
}

// Describe and Pattern describe the valid texts of SetUps.
func (SetUps) Describe() string {
	return "auto, every-round, every-trial, once, or the number of set-ups in the run, such as 6"
}
func (SetUps) Pattern() string { return `^(auto|every-round|every-trial|once|[1-9][0-9]{0,5})$` }

// UnmarshalText parses a number of set-ups or a special value.
func (s *SetUps) UnmarshalText(text []byte) error {
	return wordOrNumber(s, setUpsNames, text, 1, 999_999)
}

// wordOrNumber parses a word for a special value, or a number. The number must be a positive multiple of step, and at
// most the last argument.
func wordOrNumber[T SetUps | Slices](value *T, words map[T]string, text []byte, step, most int) error {
	for special, word := range words {
		if word == string(text) {
			*value = special
			return nil
		}
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < step || n > most || n%step != 0 {
		return fmt.Errorf("%q is not %s", text, strictyaml.Describe(reflect.TypeFor[T]()))
	}
	*value = T(n)
	return nil
}

// MarshalText and String return the text of the value.
func (s SetUps) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (s SetUps) String() string               { return cmp.Or(setUpsNames[s], strconv.Itoa(int(s))) }

// Slices is the number of slices of a trial, or one of the constants. Arms alternate by slices, so that changes of the
// machine affect all arms alike (compare Bulej et al. 2020).
type Slices int

const (
	slicesNone Slices = 0  // trials are not cut
	slicesAuto Slices = -1 // trials are cut if the workload allows slices, and if slices add little time to a trial
)

const mostSlices = 100 // the largest number of slices of a trial, since each slice has its own raw output

var slicesNames = map[Slices]string{slicesNone: "none", slicesAuto: "auto"}

// Describe and Pattern describe the valid texts of Slices.
func (Slices) Describe() string {
	return fmt.Sprintf("none, auto, or an even number from 2 to %d", mostSlices)
}
func (Slices) Pattern() string { return `^(none|auto|[2468]|[1-9][02468]|100)$` }

// UnmarshalText parses a number of slices or a special value. Numbers are even: every second slice has the reverse
// order of arms.
func (s *Slices) UnmarshalText(text []byte) error {
	return wordOrNumber(s, slicesNames, text, 2, mostSlices)
}

// MarshalText and String return the value as text: a word, or the number of slices.
func (s Slices) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (s Slices) String() string               { return cmp.Or(slicesNames[s], strconv.Itoa(int(s))) }

// Slice is the time that each further slice adds to a trial. It is zero if cutting a trial does not make it longer.
type Slice struct {
	Expected time.Duration // approximate time that the slice adds
	Limit    time.Duration // the longest additional time
}

// autoSlices is the largest number of slices of a trial with slices: auto. autoLonger is the most time that these
// slices may add to a trial.
const (
	autoSlices = 8
	autoLonger = 2 * time.Second
)

// of returns how many slices a trial with these Measures has; 0: the trial is not cut.
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

// Cut returns the Measures of a trial that is cut into n slices. With n below 2, they are unchanged.
func (m Measures) Cut(n int) Measures {
	if n < 2 || m.Slice == nil {
		return m
	}
	more := time.Duration(n - 1)
	m.Limit = m.Bound() + more*m.Slice.Limit
	m.Expected += more * m.Slice.Expected
	return m
}

// switched returns the kind and arm of a layer that is turned on and off between trials, since it acts on all arms. "":
// there is none.
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

// slicing returns the setting for the slices of trials. It is slicesNone if arms cannot alternate by slices: only one
// arm is up at a time, or a layer acts on all arms.
func (x *Experiment) slicing() Slices {
	if kind, _ := x.switched(); kind != "" || x.Design.SetUps == SetUpsEveryTrial {
		return slicesNone
	}
	return x.Design.Slices
}

// sliceable reports a problem if the file sets a number of slices although trials cannot be cut into slices.
func (l *loader) sliceable(x *Experiment, e *Expansion) {
	const at = "design.slices"
	if x.Design.Slices == slicesNone || x.Design.Slices == slicesAuto {
		return
	}
	if x.Design.SetUps == SetUpsEveryTrial {
		l.file.ReportAt(at, "trials cannot be cut into slices: arms alternate by slices, and with setups: every-trial only one arm is up at a time",
			"leave slices out, or write setups: every-round")
	}
	if kind, arm := x.switched(); kind != "" {
		l.file.ReportAt(at, fmt.Sprintf("trials cannot be cut into slices: the layer %s of arm %s is turned on and off for all arms between trials", kind, arm),
			"leave slices out, or write slices: auto")
	}
	reported := map[string]bool{}
	for i, c := range e.Plan.Cells {
		if e.Cells[i].Workload.Measures().Slice == nil && !reported[c.Workload] {
			reported[c.Workload] = true
			l.file.ReportAt(at, fmt.Sprintf("trials of the workload %s cannot be cut into slices", c.Workload),
				"write slices: auto to cut those that can be cut, or leave slices out")
		}
	}
}

// given returns the fields of limits and design that the file sets, such as "design.slices".
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

// WithoutDefaultLimits returns the limits without Tare's default limits on the machine's condition. The file's limits stay.
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

// GoOnBusy adapts the experiment to a busy machine: it lifts Tare's default limits, uses slices unless the file sets
// them, and gives CPU time a verdict. It must be called before the first trial.
func (x *Experiment) GoOnBusy(why string) {
	x.Limits, x.busy = x.WithoutDefaultLimits(), why
	if !x.given["design.slices"] {
		x.Design.Slices = slicesAuto
	}
}

func (m Measures) judgeCPU(metrics []Metric) {
	for i := range metrics {
		if name := metrics[i].Name; name == m.CPU || m.Cost != nil && name == m.Cost.Prefix+"-cpu" {
			metrics[i].Headline = true
		}
	}
}
