package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Rounds is a number of rounds. In the form atMost, the run may stop earlier.
type Rounds struct {
	Fixed  int `yaml:"fixed" alone:"true" min:"2" max:"100000" doc:"number of rounds of the run; a number without a field means the same"`
	AtMost int `yaml:"atMost" min:"2" max:"100000" doc:"largest number of rounds of the run, which ends earlier if it is decided"`
}

// stop is the condition that ends a run.
type stop string

// The conditions.
const (
	StopPlanned stop = "planned" // the planned number of rounds is done
	stopDecided stop = "decided" // every headline comparison is decided at one of the planned looks
)

// Describe describes the valid texts of Stop.
func (stop) Describe() string { return "planned or decided" }

// Pattern returns the regular expression of Stop.
func (stop) Pattern() string { return `^(planned|decided)$` }

// UnmarshalText parses a condition.
func (s *stop) UnmarshalText(text []byte) error {
	if *s = stop(text); *s != StopPlanned && *s != stopDecided {
		return fmt.Errorf("%q is not %s", text, s.Describe())
	}
	return nil
}

const (
	firstLook  = 6    // the fewest rounds for an exact interval
	lookGrowth = 1.46 // each look has this many times the rounds of the look before
	lookApart  = 1.2  // the last look has at least this many times the rounds of the look before
)

// UsualLooks returns the looks of a run of at most this many rounds.
func UsualLooks(most int) (looks []int) {
	for n := firstLook; lookApart*float64(n) < float64(most); n = int(math.Round(lookGrowth * float64(n))) {
		looks = append(looks, n)
	}
	return append(looks, most)
}

// stops checks the condition that ends the run.
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

// LooksUpTo returns the planned looks up to a number of rounds. This number is the last look, even if the run
// ended after these rounds for another reason. If the number of rounds is fixed, the list is empty.
func (p *Plan) LooksUpTo(rounds int) []int {
	if len(p.DecideAt) == 0 {
		return nil
	}
	return append(p.LooksBefore(rounds), rounds)
}

// LooksBefore returns the planned looks before a number of rounds.
func (p *Plan) LooksBefore(rounds int) []int {
	return slices.DeleteFunc(slices.Clone(p.DecideAt), func(n int) bool { return n >= rounds })
}
