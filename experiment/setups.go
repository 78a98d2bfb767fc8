package experiment

import (
	"fmt"
	"strconv"
)

// SetUps says how often all arms of a run are taken down and set up anew: a number of
// times in a run, or one of the constants. What a set-up draws by chance (memory layout,
// addresses, placement) belongs to no layer, and an interval that is to hold for the
// layer must have seen several set-ups (Kalibera and Jones 2013, section 4).
type SetUps int

// The ways.
const (
	// SetUpsAuto: every round where that is cheap, else in blocks of rounds.
	SetUpsAuto SetUps = 0
	// SetUpsOnce: the arms stay as they are, and the result speaks of that set-up alone.
	SetUpsOnce SetUps = 1
	// SetUpsEveryRound: each round has set-ups of its own.
	SetUpsEveryRound SetUps = -1
)

var setUpsNames = map[SetUps]string{SetUpsAuto: "auto", SetUpsOnce: "once", SetUpsEveryRound: "every-round"}

// Describe says what SetUps accepts.
func (SetUps) Describe() string {
	return "auto, every-round, once, or the number of set-ups in the run, such as 6"
}

// Pattern is the regular expression of SetUps.
func (SetUps) Pattern() string { return `^(auto|every-round|once|[1-9][0-9]{0,5})$` }

// UnmarshalText parses it.
func (s *SetUps) UnmarshalText(text []byte) error {
	for value, name := range setUpsNames {
		if name == string(text) {
			*s = value
			return nil
		}
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 999_999 {
		return fmt.Errorf("%q is not %s", text, s.Describe())
	}
	*s = SetUps(n)
	return nil
}

// MarshalText gives the written form.
func (s SetUps) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String gives the written form.
func (s SetUps) String() string {
	if name, ok := setUpsNames[s]; ok {
		return name
	}
	return strconv.Itoa(int(s))
}
