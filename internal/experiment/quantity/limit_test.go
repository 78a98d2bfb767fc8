package quantity

import (
	"encoding/json"
	"math"
	"testing"
)

func TestLimitIn(t *testing.T) {
	for _, c := range []struct {
		written, unit string
		want          float64
		err           string
	}{
		{written: "1ms", unit: "s", want: 1e-3},
		{written: "0.5 s", unit: "ms", want: 500},
		{written: "20us", unit: "s", want: 20e-6},
		{written: "5MiB", unit: "B", want: 5 << 20},
		{written: "5Mi", unit: "B", want: 5 << 20},
		{written: "5MB/s", unit: "B/s", want: 5e6},
		{written: "200Mbit/s", unit: "bit/s", want: 200e6},
		{written: "200Mbit", unit: "bit/s", want: 200e6},
		{written: "50ms/Gbit", unit: "s/Gbit", want: 0.05},
		{written: "0.5", unit: "", want: 0.5},
		{written: "0.5", unit: "1", want: 0.5},
		{written: "2%", unit: "share", want: 0.02},
		{written: "2%", unit: "%", want: 2},
		{written: "200/s", unit: "1/s", want: 200},
		{written: "200 1/s", unit: "1/s", want: 200},
		{written: "30req/s", unit: "req/s", want: 30},
		{written: "30 steps per hour", unit: "steps per hour", want: 30},
		{written: "1ms", unit: "bit/s", err: "1ms is not in bit/s"},
		{written: "1ms", unit: "", err: "1ms is not in a count, which has no unit"},
		{written: "1", unit: "s", err: "1 is not in s"},
		{written: "2%", unit: "", err: "2% is not in a count, which has no unit"},
		{written: "1ms", unit: "s/Gbit", err: "1ms is not in s/Gbit"},
		{written: "1Gbit", unit: "B", err: "1Gbit is not in B"},
		{written: "1MiB", unit: "B/s", err: "1MiB is not in B/s"},
		{written: "1e5", unit: "s", err: "1e5 is not in s"},
		{written: "30op/s", unit: "req/s", err: "30op/s is not in req/s"},
	} {
		var l Limit
		if err := l.UnmarshalText([]byte(c.written)); err != nil {
			t.Errorf("%s: %v", c.written, err)
			continue
		}
		got, err := l.In(c.unit)
		switch {
		case err == nil && c.err != "":
			t.Errorf("%s in %s is %v; want the error %q", c.written, c.unit, got, c.err)
		case err != nil && err.Error() != c.err:
			t.Errorf("%s in %s: %v; want %q", c.written, c.unit, err, c.err)
		case math.Abs(got-c.want) > 1e-12*c.want:
			t.Errorf("%s in %s is %v, want %v", c.written, c.unit, got, c.want)
		}
	}
}

// TestPercentIsLimit checks that a percentage in an old plan is read as the same limit, and written back the
// same.
func TestPercentIsLimit(t *testing.T) {
	for _, p := range []Percent{0, 0.07, 0.1, 1.5} {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var l Limit
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		if share, ok := l.Share(); !ok || math.Abs(share-float64(p)) > 1e-15 {
			t.Errorf("%s is read as %v, %v", text, share, ok)
		}
		if again, err := json.Marshal(l); err != nil || string(again) != string(text) {
			t.Errorf("%s is written as %s, %v", text, again, err)
		}
	}
}

// TestAmountIn checks that every unit accepts its own example.
func TestAmountIn(t *testing.T) {
	for _, unit := range []string{"", "1", "share", "s", "ms", "s/Gbit", "B", "MiB", "B/s", "bit/s", "Gbit", "req/s", "1/s", "°C"} {
		var l Limit
		if err := l.UnmarshalText([]byte(AmountIn(unit))); err != nil {
			t.Errorf("%s for %s: %v", AmountIn(unit), unit, err)
			continue
		}
		if _, err := l.In(unit); err != nil {
			t.Errorf("%s for %s: %v", AmountIn(unit), unit, err)
		}
	}
}
