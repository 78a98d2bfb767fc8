package experiment

import (
	"fmt"
	"strconv"
)

// SetUps is the number of set-ups of all arms in a run, or one of the constants. The random effects of a set-up
// (memory layout, addresses, placement) belong to no layer. An interval for the effect of the layer therefore
// needs several set-ups (Kalibera and Jones 2013, section 4).
type SetUps int

// The special values.
const (
	// SetUpsAuto sets up anew before every round if this is cheap, and otherwise before blocks of rounds.
	SetUpsAuto SetUps = 0
	// SetUpsOnce sets up once. The result then holds for this set-up alone.
	SetUpsOnce SetUps = 1
	// SetUpsEveryRound sets up anew before every round.
	SetUpsEveryRound SetUps = -1
)

var setUpsNames = map[SetUps]string{SetUpsAuto: "auto", SetUpsOnce: "once", SetUpsEveryRound: "every-round"}

// Describe describes the valid texts of SetUps.
func (SetUps) Describe() string {
	return "auto, every-round, once, or the number of set-ups in the run, such as 6"
}

// Pattern returns the regular expression of SetUps.
func (SetUps) Pattern() string { return `^(auto|every-round|once|[1-9][0-9]{0,5})$` }

// UnmarshalText parses a number of set-ups or a special value.
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

// MarshalText returns the text of the value.
func (s SetUps) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the text of the value.
func (s SetUps) String() string {
	if name, ok := setUpsNames[s]; ok {
		return name
	}
	return strconv.Itoa(int(s))
}
