package quantity

import (
	"encoding/json"
	"testing"
)

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		written, printed, unit string
		want, rounding         float64
	}{
		{"-58%", "-58%", "%", -58, 0.5},
		{"+1.171577%", "1.171577%", "%", 1.171577, 0.0000005},
		{"1.632200s", "1.632200s", "s", 1.6322, 0.0000005},
		{"1632.2 ms", "1632.2ms", "s", 1.6322, 0.00005},
		{"13.4GB", "13.4GB", "B", 13.4e9, 0.05e9},
		{"9vCPU", "9vCPU", "cores", 9, 0.5},
		{"200millicores", "200millicores", "cores", 0.2, 0.0005},
		{"15000", "15000", "", 15000, 0.5},
		{"0.57ms/request", "0.57ms/request", "s/request", 0.00057, 0.000005},
	} {
		var a Amount
		if err := a.UnmarshalText([]byte(c.written)); err != nil {
			t.Errorf("%s: %v", c.written, err)
			continue
		}
		got, err := a.In(c.unit)
		half, _ := a.Rounding().In(c.unit)
		if close := func(a, b float64) bool { return (a-b)*(a-b) <= 1e-18*b*b }; err != nil || !close(got, c.want) || !close(half, c.rounding) {
			t.Errorf("%s in %s is %v ± %v, %v; want %v ± %v", c.written, c.unit, got, half, err, c.want, c.rounding)
		}
		text, err := json.Marshal(a)
		if err != nil || string(text) != `"`+c.printed+`"` {
			t.Errorf("%s is written as %s, %v", c.written, text, err)
		}
		var again Amount
		if err := json.Unmarshal(text, &again); err != nil || again != a {
			t.Errorf("%s is read as %v, %v", text, again, err)
		}
	}
	for _, wrong := range []string{"", "fast", "--5%", "5,000", "-"} {
		if err := new(Amount).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
