// Package quantity reads and prints the quantities of an experiment file in their usual notation: 1Gbit, 64KiB, 3s, 2%.
//
// Every type implements encoding.TextUnmarshaler and encoding.TextMarshaler, so that YAML and JSON contain this
// notation. Three methods describe the notation: Describe in words for error messages, Pattern as a regular expression
// for the JSON Schema, and Units as a list for hints (a Limit takes any unit).
package quantity

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rate is a data rate in bit/s. Zero means unlimited.
type Rate float64

// Size is an amount of data in bytes.
type Size int64

// Duration is a span of time.
type Duration time.Duration

// Percent is a share as a fraction: 2% is 0.02.
type Percent float64

// unit is a suffix with its size in base units. A table of units lists a suffix such as "s" after longer suffixes that
// end with it, such as "ms".
type unit struct {
	suffix string
	size   float64
}

var rateUnits = []unit{
	{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1},
	{"Tbit", 1e12}, {"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1},
}

var sizeUnits = []unit{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// sizesRead holds the units that Tare reads in sizes: sizeUnits, and Kubernetes' names for some of them, such as Mi.
var sizesRead = append(slices.Clip(sizeUnits), []unit{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}}...)

const decimal = `[0-9]+(\.[0-9]+)?` // decimal matches a number in everyday notation, without sign or exponent

var isDecimal = regexp.MustCompile(`^` + decimal + `$`)

// split parses a text such as "12.5Gbit". The value is in the base unit, and at most 2^62.
func split(text string, units []unit, describe string) (float64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		number = strings.TrimSuffix(number, " ")
		if !isDecimal.MatchString(number) {
			break
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || v*u.size > 1<<62 {
			break
		}
		return v * u.size, nil
	}
	return 0, fmt.Errorf("%q is not %s", text, describe)
}

// join prints v with the largest unit in which the number is at least 1. If there is none, it takes the last unit.
func join(v float64, units []unit) string {
	for _, u := range units {
		if !strings.HasSuffix(u.suffix, "/s") && math.Abs(v) >= u.size {
			return digits(v/u.size) + u.suffix
		}
	}
	return digits(v) + units[len(units)-1].suffix
}

// digits prints a number without an exponent, rounded to 12 significant digits: 7, and not 7.000000000000001.
func digits(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func pattern(units []unit) string {
	return `^` + decimal + ` ?(` + strings.Join(suffixes(units), "|") + `)$`
}

func suffixes(units []unit) []string {
	out := make([]string, len(units))
	for i, u := range units {
		out[i] = u.suffix
	}
	return out
}

// Describe, Pattern and Units describe the valid texts of a Rate.
func (Rate) Describe() string { return `a rate such as 1Gbit, 12.5Mbit or unlimited` }
func (Rate) Pattern() string  { return `^unlimited$|` + pattern(rateUnits) }
func (Rate) Units() []string  { return suffixes(rateUnits[len(rateUnits)/2:]) }

// UnmarshalText parses a rate; "unlimited" gives 0.
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == "unlimited" {
		*r = 0
		return nil
	}
	v, err := split(string(text), rateUnits, r.Describe())
	if err == nil && v < 1 {
		err = fmt.Errorf("%q is not a usable rate: write unlimited for no cap", text)
	}
	*r = Rate(v)
	return err
}

// MarshalText returns the text of the rate.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String returns the text of the rate, "unlimited" for 0.
func (r Rate) String() string {
	if r == 0 {
		return "unlimited"
	}
	return join(float64(r), rateUnits)
}

// Describe, Pattern and Units describe the valid texts of a Size. UnmarshalText also reads the units of Kubernetes, such as Gi.
func (Size) Describe() string { return `a size such as 64KiB, 1MiB or 1500B` }
func (Size) Pattern() string  { return pattern(sizesRead) }
func (Size) Units() []string  { return suffixes(sizeUnits) }

// UnmarshalText parses a size, which must be a whole number of bytes.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := split(string(text), sizesRead, s.Describe())
	if v != math.Trunc(v) {
		err = fmt.Errorf("%q is not a whole number of bytes", text)
	}
	*s = Size(v)
	return err
}

// MarshalText returns the text of the size.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the text of the size.
func (s Size) String() string {
	v := float64(s)
	for _, u := range sizeUnits {
		if v >= u.size && math.Mod(v, u.size) == 0 {
			return strconv.FormatFloat(v/u.size, 'f', -1, 64) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// Describe, Pattern and Units describe the valid texts of a Duration.
func (Duration) Describe() string { return `a duration such as 500ms, 3s or 2m` }
func (Duration) Pattern() string  { return `^(` + decimal + `(ns|us|µs|μs|ms|s|m|h))+$` }
func (Duration) Units() []string  { return []string{"h", "m", "s", "ms", "us", "ns"} }

var isDuration = regexp.MustCompile(Duration(0).Pattern())

// UnmarshalText parses a duration, which must have a unit and not be negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || !isDuration.Match(text) {
		return fmt.Errorf("%q is not %s", text, d.Describe())
	}
	*d = Duration(v)
	return nil
}

// MarshalText returns the text of the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the text of the duration without trailing zero units: 2m, not 2m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// Std returns the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

var percentUnits = []unit{{"%", 1}}

// Describe, Pattern and Units describe the valid texts of a Percent.
func (Percent) Describe() string { return `a percentage such as 2% or 0.5%` }
func (Percent) Pattern() string  { return pattern(percentUnits) }
func (Percent) Units() []string  { return suffixes(percentUnits) }

// UnmarshalText parses a percentage, which must not be negative.
func (p *Percent) UnmarshalText(text []byte) error {
	v, err := split(string(text), percentUnits, p.Describe())
	*p = Percent(v / 100)
	return err
}

// MarshalText and String return the text of the percentage.
func (p Percent) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
func (p Percent) String() string               { return digits(float64(p)*100) + "%" }

// Frequency is a number of events per second.
type Frequency float64

// frequencyUnits are the units behind a number: 50/s, 3000/min.
var frequencyUnits = []unit{{"/min", 1. / 60}, {"/s", 1}}

const rarest = 1e-6 // the smallest frequency: about once in ten days

// Describe, Pattern and Units describe the valid texts of a Frequency.
func (Frequency) Describe() string { return `a number per time such as 50/s or 30/min` }
func (Frequency) Pattern() string  { return pattern(frequencyUnits) }
func (Frequency) Units() []string  { return suffixes(frequencyUnits) }

// UnmarshalText parses a frequency, which must not be zero.
func (f *Frequency) UnmarshalText(text []byte) error {
	v, err := split(string(text), frequencyUnits, f.Describe())
	if err == nil && v < rarest {
		err = fmt.Errorf("%q is too seldom; expected %s", text, f.Describe())
	}
	*f = Frequency(v)
	return err
}

// MarshalText returns the text of the frequency.
func (f Frequency) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// String returns the text of the frequency, per second if it is at least 1/s, and otherwise per minute.
func (f Frequency) String() string {
	if minute := digits(float64(f) * 60); f < 1 && minute != "60" {
		return minute + "/min"
	}
	return digits(float64(f)) + "/s"
}
