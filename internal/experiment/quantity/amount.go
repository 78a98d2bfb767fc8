package quantity

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Amount is a number as a document prints it, with its sign, its decimals and a unit: −58%, 1.632200s, 13.4GB, 15000.
type Amount struct {
	Limit        // Number has the sign of the text
	Decimals int // number of decimals in the text
}

var isAmount = regexp.MustCompile(Amount{}.Pattern())

// Describe and Pattern describe the valid texts of an Amount.
func (Amount) Describe() string { return `a number with its unit such as -10%, 1.25s or 13.4GB` }
func (Amount) Pattern() string  { return "^[+-]?" + limitPattern[1:] }

// UnmarshalText parses an amount.
func (a *Amount) UnmarshalText(text []byte) error {
	written := string(text)
	size := strings.TrimLeft(written, "+-")
	if !isAmount.MatchString(written) || a.Limit.UnmarshalText([]byte(size)) != nil {
		return fmt.Errorf("%q is not %s", text, a.Describe())
	}
	number := size[:len(size)-len(strings.TrimLeft(size, "0123456789."))]
	_, fraction, _ := strings.Cut(number, ".")
	a.Decimals = len(fraction)
	if written[0] == '-' {
		a.Number = -a.Number
	}
	return nil
}

// MarshalText returns the text of the amount.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// String returns the text of the amount with the decimals that it was read with.
func (a Amount) String() string {
	return strconv.FormatFloat(a.Number, 'f', a.Decimals, 64) + strings.TrimPrefix(Limit{0, a.Unit}.String(), "0")
}

// Rounding returns how far the number that was printed may be from the number before rounding: half a unit of the last
// decimal, in the unit of the text.
func (a Amount) Rounding() Amount {
	a.Number = 0.5 * math.Pow10(-a.Decimals)
	return a
}
