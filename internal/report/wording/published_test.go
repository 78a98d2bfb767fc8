package wording

import (
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
)

func TestPublishedNumber(t *testing.T) {
	amounts := func(text string) (list []quantity.Amount) {
		for _, word := range strings.Fields(text) {
			var a quantity.Amount
			if err := a.UnmarshalText([]byte(word)); err != nil {
				t.Fatal(err)
			}
			list = append(list, a)
		}
		return list
	}
	for _, c := range []struct {
		difference, value, interval string
		about, atMost               bool
		want                        string
	}{
		{difference: "-58%", want: "58 % less"},
		{difference: "+1.171577%", want: "1.171577 % more"},
		{difference: "0%", want: "0 %"},
		{difference: "-10%", about: true, want: "about 10 % less"},
		{difference: "-1.34%", atMost: true, want: "at most 1.34 % less"},
		{difference: "-8% -2%", want: "2 to 8 % less"},
		{difference: "-2% 8%", want: "2 % less to 8 % more"},
		{difference: "-2.55%", interval: "-2.7% -2.4%", want: "2.55 % less [2.4, 2.7]"},
		{difference: "0.5%", interval: "-1% 2%", want: "0.5 % more [1 % less, 2]"},
		{value: "1.632200s", want: "1.632200 s"},
		{value: "15000", want: "15,000"},
		{value: "-3.5ms", want: "−3.5 ms"},
		{value: "13.4GB", interval: "13GB 14GB", want: "13.4 GB [13, 14]"},
		{value: "0.57ms/request 0.84ms/request", want: "0.57 to 0.84 ms/request"},
		{want: "–"},
	} {
		p := analysis.Published{Row: experiment.PublishedRow{Difference: amounts(c.difference), Value: amounts(c.value), Interval: amounts(c.interval), About: c.about, AtMost: c.atMost}}
		if got := PublishedNumber(&p); got != c.want {
			t.Errorf("%s%s %s: %q, want %q", c.difference, c.value, c.interval, got, c.want)
		}
	}
}

func TestPublishedText(t *testing.T) {
	metric := experiment.Metric{Name: "bandwidth", Unit: "bit/s", Better: experiment.Higher, Scale: experiment.Ratio}
	row := experiment.PublishedRow{Difference: []quantity.Amount{{Limit: quantity.Limit{Number: -58, Unit: "%"}}}}
	some := &analysis.Interval{Point: 0.044, Lo: 0.043, Hi: 0.0445}
	for _, c := range []struct {
		p    analysis.Published
		want string
	}{
		{analysis.Published{Measured: some, Reading: analysis.Outside}, "published 58 % less; here 4.40 % less [4.30, 4.45]: outside"},
		{analysis.Published{Measured: some, Reading: analysis.Inside, WithinNoise: true}, "published 58 % less; here 4.40 % less [4.30, 4.45]: inside; published within the noise of this run"},
		{analysis.Published{Reason: analysis.InvalidRuns{}}, "published 58 % less; here –: no reading: the run is invalid"},
		{analysis.Published{Reason: analysis.TooFewValues{Loss: &analysis.Loss{Lost: 3, Trials: 4, Rules: []string{"errors"}}}},
			"published 58 % less; here –: no reading: no valid pairs: 3 of 4 trials broke rule errors"},
		{analysis.Published{Measured: some, PointOnly: true, Trials: 1, Reason: analysis.TooFewValues{}}, "published 58 % less; here 4.40 % less: no reading: 1 pair, too few for an interval"},
	} {
		c.p.Metric, c.p.Against, c.p.Row = metric, "plain", row
		if got := PublishedText(&c.p); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
