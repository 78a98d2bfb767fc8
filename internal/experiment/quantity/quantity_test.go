package quantity

import (
	"encoding"
	"regexp"
	"strings"
	"testing"
	"time"
)

// text is the interface of all types of this package.
type text interface {
	encoding.TextUnmarshaler
	Describe() string
	Pattern() string
	String() string
}

// accepted lists, for each type, valid texts and their printed form.
var accepted = []struct {
	into    func() text
	value   func(text) float64
	written string
	want    float64
	printed string
}{
	{rate, rateOf, "1Gbit", 1e9, "1Gbit"},
	{rate, rateOf, "12.5 Mbit", 12.5e6, "12.5Mbit"},
	{rate, rateOf, "1000kbit/s", 1e6, "1Mbit"},
	{rate, rateOf, "1051Mbit", 1051e6, "1.051Gbit"},
	{rate, rateOf, "unlimited", 0, "unlimited"},
	{size, sizeOf, "64KiB", 65536, "64KiB"},
	{size, sizeOf, "0.5KiB", 512, "512B"},
	{size, sizeOf, "1500B", 1500, "1500B"},
	{size, sizeOf, "1MB", 1e6, "1MB"},
	{size, sizeOf, "0B", 0, "0B"},
	{duration, durationOf, "3s", 3, "3s"},
	{duration, durationOf, "1m30s", 90, "1m30s"},
	{duration, durationOf, "120s", 120, "2m"},
	{duration, durationOf, "1h", 3600, "1h"},
	{duration, durationOf, "0.5s", 0.5, "500ms"},
	{percent, percentOf, "2%", 0.02, "2%"},
	{percent, percentOf, "7%", 0.07, "7%"},
	{percent, percentOf, "0.0001%", 1e-6, "0.0001%"},
	{percent, percentOf, "150 %", 1.5, "150%"},
	{frequency, frequencyOf, "50/s", 50, "50/s"},
	{frequency, frequencyOf, "2.5 /s", 2.5, "2.5/s"},
	{frequency, frequencyOf, "30/min", 0.5, "30/min"},
	{frequency, frequencyOf, "3000/min", 50, "50/s"},
	{size, sizeOf, "10Gi", 10 << 30, "10GiB"},
	{size, sizeOf, "4Ki", 4 << 10, "4KiB"},
	{limit, limitOf, "10%", 10, "10%"},
	{limit, limitOf, "7 %", 7, "7%"},
	{limit, limitOf, "1.50ms", 1.5, "1.5ms"},
	{limit, limitOf, "200Mbit/s", 200, "200Mbit/s"},
	{limit, limitOf, "0.5", 0.5, "0.5"},
	{limit, limitOf, "0", 0, "0"},
	{limit, limitOf, "200 1/s", 200, "200 1/s"},
	{limit, limitOf, "3 µs", 3, "3µs"},
}

func rate() text     { return new(Rate) }
func size() text     { return new(Size) }
func duration() text { return new(Duration) }
func percent() text  { return new(Percent) }
func limit() text    { return new(Limit) }

func frequency() text            { return new(Frequency) }
func frequencyOf(t text) float64 { return float64(*t.(*Frequency)) }

func rateOf(t text) float64     { return float64(*t.(*Rate)) }
func sizeOf(t text) float64     { return float64(*t.(*Size)) }
func durationOf(t text) float64 { return time.Duration(*t.(*Duration)).Seconds() }
func percentOf(t text) float64  { return float64(*t.(*Percent)) }
func limitOf(t text) float64    { return t.(*Limit).Number }

func TestAccepted(t *testing.T) {
	for _, c := range accepted {
		got := c.into()
		if err := got.UnmarshalText([]byte(c.written)); err != nil {
			t.Errorf("%s: %v", c.written, err)
			continue
		}
		if v := c.value(got); v != c.want {
			t.Errorf("%s is %v, want %v", c.written, v, c.want)
		}
		if got.String() != c.printed {
			t.Errorf("%s is printed %s, want %s", c.written, got, c.printed)
		}
		if !regexp.MustCompile(got.Pattern()).MatchString(c.written) {
			t.Errorf("the pattern %s does not match %s", got.Pattern(), c.written)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		into    func() text
		written string
		want    string
	}{
		{rate, "1", `"1" is not a rate such as 1Gbit, 12.5Mbit or unlimited`},
		{rate, "1GB", `"1GB" is not a rate`},
		{rate, "0bit", `"0bit" is not a usable rate: write unlimited for no cap`},
		{rate, "-1Gbit", `"-1Gbit" is not a rate`},
		{rate, "1e3Mbit", `"1e3Mbit" is not a rate`},
		{rate, "99999999999999999999Tbit", `is not a rate`},
		{size, "1.5B", `"1.5B" is not a whole number of bytes`},
		{size, "64k", `"64k" is not a size such as 64KiB, 1MiB or 1500B`},
		{duration, "3", `"3" is not a duration such as 500ms, 3s or 2m`},
		{duration, "-3s", `"-3s" is not a duration`},
		{duration, "0", `"0" is not a duration`},
		{duration, "9999999999h", `is not a duration`},
		{percent, "2", `"2" is not a percentage such as 2% or 0.5%`},
		{percent, "Inf%", `"Inf%" is not a percentage`},
		{percent, "0x10%", `"0x10%" is not a percentage`},
		{percent, "", `"" is not a percentage`},
		{frequency, "50", `"50" is not a number per time such as 50/s or 30/min`},
		{frequency, "0/s", `"0/s" is too seldom`},
		{frequency, "1/h", `"1/h" is not a number per time`},
		{limit, "-5ms", `"-5ms" is not a share of the baseline such as 10%, or an amount such as 1ms, 5MiB or 0.5`},
		{limit, "ms", `"ms" is not a share`},
		{limit, "NaN", `"NaN" is not a share`},
		{limit, "Inf%", `"Inf%" is not a share`},
		{limit, "1,5ms", `"1,5ms" is not a share`},
		{limit, "1.2.3", `"1.2.3" is not a share`},
		{limit, "99999999999999999999ms", `is not a share`},
		{limit, "5\x1b[31m", `is not a share`},
		{limit, "5m\xff", `is not a share`},
		{limit, "", `"" is not a share`},
	} {
		got := c.into()
		err := got.UnmarshalText([]byte(c.written))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gives %v, want an error with %s", c.written, err, c.want)
		}
	}
}

// FuzzText checks that every accepted text prints as a text with the same value, and that Pattern matches all
// texts that UnmarshalText accepts.
func FuzzText(f *testing.F) {
	for _, c := range accepted {
		f.Add(c.written)
	}
	f.Add("1..2%")
	f.Add("９s")
	f.Fuzz(func(t *testing.T, s string) {
		for _, into := range []func() text{rate, size, duration, percent, limit, frequency} {
			first := into()
			if first.UnmarshalText([]byte(s)) != nil {
				continue
			}
			if !regexp.MustCompile(first.Pattern()).MatchString(s) {
				t.Errorf("%T reads %q, which its pattern does not match", first, s)
			}
			second := into()
			if err := second.UnmarshalText([]byte(first.String())); err != nil {
				t.Errorf("%T reads %q but not %q, as which it prints: %v", first, s, first, err)
			}
			if second.String() != first.String() {
				t.Errorf("%T prints %q as %s and then as %s", first, s, first, second)
			}
		}
	})
}
