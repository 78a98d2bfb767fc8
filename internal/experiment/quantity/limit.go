package quantity

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/text/safetext"
)

// Limit is the accepted overhead of a metric: a share of the baseline (10%), or an amount in the metric's unit (1ms,
// 200Mbit/s, 0.5). Share and In check the unit.
type Limit struct {
	Number float64 // the number in the text, 0 or more: 10 for 10%
	Unit   string  // the unit in the text: "%" for a share, "" for a count
}

// limitPattern matches a number with any unit. A space must precede a unit that begins like a number ("200 1/s").
const limitPattern = `^` + decimal + `( ?[^\s0-9.,+\-].{0,39}| \S.{0,39})?$`

var isLimit = regexp.MustCompile(limitPattern)

// Describe and Pattern describe the valid texts of a Limit.
func (Limit) Describe() string {
	return `a share of the baseline such as 10%, or an amount such as 1ms, 5MiB or 0.5`
}
func (Limit) Pattern() string { return limitPattern }

// UnmarshalText parses a limit.
func (l *Limit) UnmarshalText(text []byte) error {
	written := string(text)
	wrong := fmt.Errorf("%q is not %s", text, l.Describe())
	if !isLimit.MatchString(written) || !safetext.Printable(written) {
		return wrong
	}
	end := strings.IndexFunc(written, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(written)
	}
	number, err := strconv.ParseFloat(written[:end], 64)
	if err != nil || number > 1<<62 {
		return wrong
	}
	*l = Limit{Number: number, Unit: strings.TrimSpace(written[end:])}
	return nil
}

// MarshalText returns the text of the limit.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// String returns the text of the limit.
func (l Limit) String() string {
	if l.Unit != "" && strings.ContainsAny(l.Unit[:1], "0123456789.,+-") {
		return digits(l.Number) + " " + l.Unit
	}
	return digits(l.Number) + l.Unit
}

// Share returns the limit as a fraction of the baseline: 10% is 0.1. The result ok is false if the limit is no
// percentage.
func (l Limit) Share() (share float64, ok bool) { return l.Number / 100, l.Unit == "%" }

// In converts the limit to an amount in a metric's unit. The limit may have another prefix, and a rate in bits may lack
// its "/s".
func (l Limit) In(unit string) (float64, error) {
	if l.Unit == unit || l.Unit == "" && slices.Contains(bare, unit) || "1"+l.Unit == unit {
		return l.Number, nil
	}
	if l.Unit == "%" && slices.Contains(bare[1:], unit) {
		return l.Number / 100, nil
	}
	has, wants := measureOf(l.Unit), measureOf(unit)
	if has.family == nil || wants.family == nil || &has.family[0] != &wants.family[0] ||
		has.per != wants.per && (&has.family[0] != &bitUnits[0] || has.per != "" || wants.per != "/s") {
		return 0, fmt.Errorf("%s is not in %s", l, cmp.Or(unit, "a count, which has no unit"))
	}
	return l.Number * has.size / wants.size, nil
}

// AmountIn returns an example of an amount in a unit, for hints.
func AmountIn(unit string) string {
	m := measureOf(unit)
	switch {
	case slices.Contains(bare, unit):
		return "5"
	case m.family == nil:
		return Limit{5, unit}.String()
	case &m.family[0] == &timeUnits[0]:
		return "1ms" + m.per
	case &m.family[0] == &bitUnits[0]:
		return "200Mbit" + m.per
	case &m.family[0] == &cpuUnits[0]:
		return "0.5cores" + m.per
	}
	return "5MiB" + m.per
}

// bare lists units for which a limit may be a number without a unit: counts and shares. For the units except "", a
// limit may be a percentage or a plain number.
var bare = []string{"", "1", "share", "ratio"}

var timeUnits = []unit{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}

var bitUnits = []unit{{"Tbit", 1e12}, {"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

var cpuUnits = []unit{{"cores", 1}, {"vCPU", 1}, {"millicores", 1e-3}}

// families are groups of units that can be converted into each other.
var families = [][]unit{timeUnits, sizesRead, bitUnits, cpuUnits}

// measure is a unit, split into its parts: "ms/Gbit" has the family of times, the size 0.001 (in s), and the rest
// "/Gbit".
type measure struct {
	family []unit // nil: the unit is in no family
	size   float64
	per    string
}

func measureOf(text string) measure {
	head, per := text, ""
	if i := strings.IndexByte(text, '/'); i > 0 {
		head, per = text[:i], text[i:]
	}
	for _, family := range families {
		for _, u := range family {
			if u.suffix == head {
				return measure{family, u.size, per}
			}
		}
	}
	return measure{}
}
