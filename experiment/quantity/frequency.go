package quantity

import "fmt"

// Frequency is how often something happens, per second.
type Frequency float64

// frequencyUnits are written behind the number: 50/s, 3000/min.
var frequencyUnits = []unit{{"/min", 1. / 60}, {"/s", 1}}

// rarest is the least frequency: about once in ten days.
const rarest = 1e-6

// Describe says what a Frequency accepts.
func (Frequency) Describe() string { return `a number per time such as 50/s or 30/min` }

// Pattern is the regular expression of a Frequency.
func (Frequency) Pattern() string { return pattern(frequencyUnits) }

// Units lists the units of a Frequency.
func (Frequency) Units() []string { return suffixes(frequencyUnits) }

// UnmarshalText parses a frequency, which must not be zero.
func (f *Frequency) UnmarshalText(text []byte) error {
	v, err := split(string(text), frequencyUnits, f.Describe())
	if err != nil {
		return err
	}
	if v < rarest {
		return fmt.Errorf("%q is too seldom; expected %s", text, f.Describe())
	}
	*f = Frequency(v)
	return nil
}

// MarshalText gives the written form.
func (f Frequency) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// String gives the written form, per second from once a second on.
func (f Frequency) String() string {
	if minute := digits(float64(f) * 60); f < 1 && minute != "60" {
		return minute + "/min"
	}
	return digits(float64(f)) + "/s"
}
