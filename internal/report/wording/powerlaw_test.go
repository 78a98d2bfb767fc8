package wording

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

func TestPowerLawText(t *testing.T) {
	l := &analysis.PowerLaw{Workload: "dns", Metric: experiment.Metric{Name: "queries", Unit: "1/s", Scale: experiment.Ratio}, Factors: []analysis.PowerLawFactor{
		{Factor: "proxies", Expected: 1}, {Factor: "hosts", Expected: 1}, {Factor: "ttl", Expected: -1}}}
	a := &analysis.PowerLawArm{Arm: "plain", Misfit: analysis.Misfit{Cell: "dns.hosts=200", Off: 0.07, Poor: true}, Unity: analysis.Interval{Point: 1.01, Lo: 0.98, Hi: 1.03}, Exponents: []analysis.Exponent{
		{Interval: analysis.Interval{Point: 1, Lo: 0.98, Hi: 1.02}},
		{Interval: analysis.Interval{Point: 0.9, Lo: 0.88, Hi: 0.92}, Unexpected: true},
		{Interval: analysis.Interval{Point: -1, Lo: -1, Hi: -1}, PointOnly: true}}}
	for _, c := range []struct{ got, want string }{
		{ExpectedLaw(l), "queries = proxies × hosts ÷ ttl"},
		{ExpectedLaw(&analysis.PowerLaw{Metric: l.Metric, Factors: []analysis.PowerLawFactor{{Factor: "refresh", Expected: -1}, {Factor: "ttl"}}}), "queries = constant ÷ refresh, whatever ttl"},
		{ExpectedLaw(&analysis.PowerLaw{Metric: l.Metric, Factors: []analysis.PowerLawFactor{{Factor: "n", Expected: 2}}}), "queries = n^2"},
		{law(l, a), "queries = 1.01/s [0.98, 1.03] × proxies^1.00 [0.98, 1.02] × hosts^0.90 [0.88, 0.92], not 1 × ttl^−1.00"},
		{LawAnswer(l, a), "plain in dns: " + law(l, a) + "; expected is queries = proxies × hosts ÷ ttl; not this law: dns.hosts=200 lies 7 % above it"},
		{Misfit(&analysis.Misfit{Cell: "dns.hosts=200", Off: -0.12, Poor: true}), "not this law: dns.hosts=200 lies 12 % below it"},
		{Misfit(&analysis.Misfit{Cell: "dns.hosts=200", Off: 0.12}), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
