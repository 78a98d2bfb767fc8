package report

import (
	"math"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/report/text"
	"tare/internal/runs/gate"
	"tare/internal/runs/history"
	"tare/internal/test/golden"
)

// gateFixture has a case for every reason. The numbers are made up.
func gateFixture() *gate.Result {
	bandwidth := experiment.Metric{Name: "tcp-bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}
	rtt := experiment.Metric{Name: "tcp-rtt", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}
	retransmits := experiment.Metric{Name: "tcp-retransmits", Better: experiment.Lower, Scale: experiment.Difference}
	share := func(v float64) (quantity.Limit, experiment.Bound) {
		return quantity.Limit{Number: 100 * v, Unit: "%"}, experiment.Bound{Value: v, Scale: experiment.Ratio}
	}
	r := &gate.Result{Schema: gate.Schema, Run: "runs/wireguard", Name: "wireguard", Outcome: gate.Fail, Valid: true, Finished: true, Baseline: "plain",
		Confidence: 0.95, Level: 0.025, Paired: true, Rounds: 12, Start: start, Seconds: 230.4}
	add := func(cell, arm string, m experiment.Metric, limit quantity.Limit, b experiment.Bound, o gate.Outcome, why gate.Reason, at analysis.Interval, edit func(*gate.Case)) {
		c := gate.Case{Cell: cell, Arm: arm, Metric: m, Budget: limit, Limit: b, Outcome: o, Reason: why, Estimated: true, Overhead: at,
			Method: "signed-rank", P: 0.0002, PAdjusted: 0.0018, Size: 12, Seconds: 12.6}
		if edit != nil {
			edit(&c)
		}
		r.Cases = append(r.Cases, c)
	}
	const one, two = "network.tcp.pod-to-pod", "network.tcp.pod-to-service"
	tenth, tenthBound := share(0.1)
	fifth, fifthBound := share(0.05)
	ms, msBound := quantity.Limit{Number: 50, Unit: "us"}, experiment.Bound{Value: 50e-6, Scale: experiment.Difference}
	add(one, "wireguard", bandwidth, tenth, tenthBound, gate.Pass, gate.Within, analysis.Interval{Point: 0.07, Lo: 0.058, Hi: 0.081}, nil)
	add(one, "mtls", bandwidth, fifth, fifthBound, gate.Fail, gate.Exceeds, analysis.Interval{Point: 0.07, Lo: 0.058, Hi: 0.081}, nil)
	add(one, "wireguard", rtt, ms, msBound, gate.Unresolved, gate.Straddles, analysis.Interval{Point: 43e-6, Lo: 31e-6, Hi: 56e-6},
		func(c *gate.Case) { c.Needed, c.P, c.PAdjusted = 44, 0.9, 1 })
	add(one, "mtls", rtt, ms, msBound, gate.Unresolved, gate.Straddles, analysis.Interval{Point: 50e-6, Lo: 31e-6, Hi: 66e-6}, nil)
	add(one, "wireguard", retransmits, quantity.Limit{Number: 5}, experiment.Bound{Value: 5, Scale: experiment.Difference}, gate.Unresolved, gate.UnderBias,
		analysis.Interval{Point: 7.2, Lo: 6.1, Hi: 8.4}, func(c *gate.Case) { c.Bias = 1.6 })
	add(two, "wireguard", bandwidth, fifth, fifthBound, gate.Unresolved, gate.NotByHolm, analysis.Interval{Point: 0.07, Lo: 0.052, Hi: 0.081},
		func(c *gate.Case) { c.PAdjusted, c.Needed = 0.04, 15 })
	add(two, "mtls", bandwidth, tenth, tenthBound, gate.Unresolved, gate.TooFew, analysis.Interval{Point: 0.07, Lo: -0.01, Hi: 0.15},
		func(c *gate.Case) { c.Method, c.Size, c.Needed = "t", 4, 6 })
	add(two, "mtls", rtt, ms, msBound, gate.Unresolved, gate.NoData, analysis.Interval{}, func(c *gate.Case) { c.Estimated, c.Size, c.P = false, 0, 1 })
	add(two, "wireguard", rtt, ms, msBound, gate.Unresolved, gate.NoControl, analysis.Interval{Point: 43e-6, Lo: 31e-6, Hi: 46e-6}, nil)
	return r
}

// gateHistory is a gate against earlier runs.
func gateHistory() *gate.Result {
	r := gateFixture()
	r.Against, r.Cases = "runs/history", r.Cases[:4]
	for i := range r.Cases {
		part := gate.PartRecent
		if i%2 == 1 {
			part = gate.PartAnchor
		}
		r.Cases[i].History = &gate.Stretch{Part: part, Of: "overhead", Runs: 9, From: "runs/a", To: "runs/i"}
		r.Cases[i].Size = 9
	}
	r.Labels = experiment.Labels{"commit": "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"}
	r.Cases[0].Previous = &history.Previous{Run: "runs/i", Labels: experiment.Labels{"commit": "0fedcba98765"}, Change: 0.0123}
	r.Cases[2].Previous = &history.Previous{Run: "runs/i", Change: -0.025}
	r.Cases[3] = gate.Case{Cell: r.Cases[3].Cell, Arm: r.Cases[3].Arm, Metric: r.Cases[3].Metric, Budget: r.Cases[3].Budget, Limit: r.Cases[3].Limit,
		Outcome: gate.Unresolved, Reason: gate.NoHistory, Gap: history.FewRuns{Runs: 2, Fewest: 5},
		P: 1, PAdjusted: 1, History: &gate.Stretch{Part: gate.PartAnchor}}
	return r
}

// afterAnother is a run whose arms ran one after the other.
var afterAnother = &analysis.Observation{Baseline: "plain", Arms: []analysis.Schedule{{Arm: "wireguard", Times: analysis.TimesApart}}}

// gateWithheld is a gate of which nothing may be decided.
func gateWithheld(o gate.Outcome, why gate.Reason) *gate.Result {
	r := gateFixture()
	r.Outcome, r.Cases = o, r.Cases[:2]
	for i := range r.Cases {
		r.Cases[i].Outcome, r.Cases[i].Reason = o, why
	}
	switch why {
	case gate.NoVerdicts:
		r.Reasons = []analysis.Reason{analysis.ControlFails{Cell: "network.tcp", Metric: experiment.Metric{Name: "tcp-bandwidth", Scale: experiment.Ratio}, Overhead: analysis.Interval{Point: 0.05, Lo: 0.04, Hi: 0.06}, PAdjusted: 0.002, Margin: 0.02}}
		r.Valid = false
	case gate.NotRandom:
		r.Observation, r.Paired = afterAnother, false
	case gate.NotFinished:
		r.Finished = false
	}
	return r
}

// hostileText has what terminals, HTML, Markdown, XML and spreadsheets act on, and
// what XML cannot hold.
const hostileText = "=a\x1b]0;x\x07<script>alert(1)</script>|`*]]>&\"'\x00\x0b\ufffe\xff\u202e\nb"

// gateHostile has hostile names wherever a name can be.
func gateHostile() *gate.Result {
	r := gateHistory()
	r.Run, r.Name, r.Baseline, r.Against, r.Observation = hostileText, hostileText, hostileText, hostileText, &analysis.Observation{Baseline: "plain", Arms: []analysis.Schedule{{Arm: "wg", Times: analysis.TimesApart}}, Differs: []string{hostileText}}
	r.Valid, r.Reasons, r.Warnings = false, []analysis.Reason{analysis.ControlFails{Cell: hostileText}}, []analysis.Finding{analysis.Remark{Text: hostileText}}
	r.Labels = experiment.Labels{"commit": hostileText, hostileText: hostileText}
	for _, c := range r.Cases {
		if c.Previous != nil {
			c.Previous.Run, c.Previous.Labels, c.Previous.Change = hostileText, r.Labels, math.MaxFloat64
		}
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Cell, c.Arm, c.Metric.Name, c.Metric.Unit, c.Budget.Unit, c.Gap = hostileText, hostileText, hostileText, hostileText, hostileText, history.Copy{Of: hostileText}
		c.History.Part, c.History.From, c.Method = hostileText, hostileText, hostileText
		c.Overhead = analysis.Interval{Point: math.MaxFloat64, Lo: -math.MaxFloat64, Hi: math.MaxFloat64}
	}
	r.Cases[0].Overhead = analysis.Interval{Point: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1)}
	return r
}

func gateFixtures() map[string]*gate.Result {
	passed := gateFixture()
	passed.Outcome, passed.Cases = gate.Pass, passed.Cases[:2]
	passed.Cases[1].Outcome, passed.Cases[1].Reason = gate.Pass, gate.Within
	passed.Cases[1].Overhead = analysis.Interval{Point: -0.03, Lo: -0.04, Hi: -0.02}
	passed.Warnings = []analysis.Finding{analysis.Remark{Text: "the machine is virtual (KVM): others may share its processors"}}
	allowed := gateFixture()
	allowed.Observation, allowed.Paired, allowed.Seconds = afterAnother, false, 0
	for i := range allowed.Cases {
		allowed.Cases[i].Seconds = 0
	}
	return map[string]*gate.Result{
		"mixed": gateFixture(), "passed": passed, "history": gateHistory(), "hostile": gateHostile(), "empty": {}, "allowed": allowed,
		"invalid": gateWithheld(gate.Invalid, gate.NoVerdicts), "observational": gateWithheld(gate.Unresolved, gate.NotRandom),
		"unfinished": gateWithheld(gate.Invalid, gate.NotFinished),
	}
}

func TestGateGolden(t *testing.T) {
	for name, r := range gateFixtures() {
		if name == "hostile" || name == "empty" {
			continue
		}
		golden.Check(t, "testdata/gate-"+name+".txt", asText(t, Gate(r, ""), text.Options{Width: 90}))
	}
	says(t, "the run's page", asMarkdown(t, Gate(gateFixture(), "runs/wireguard/report.html")), "](<runs/wireguard/report.html>)")
	golden.Check(t, "testdata/gate-mixed.xml", asCSV(t, GateJUnit, gateFixture()))
	golden.Check(t, "testdata/gate-mixed.csv", asCSV(t, GateCSV, gateFixture()))
}

// TestGateLabel checks that every form of an observational gate says that it is
// one, whether or not it was judged.
func TestGateLabel(t *testing.T) {
	for _, name := range []string{"observational", "allowed"} {
		r := gateFixtures()[name]
		for form, got := range map[string]string{"text": asText(t, Gate(r, ""), text.Options{}), "markdown": asMarkdown(t, Gate(r, "")), "page": asPage(t, Gate(r, "")), "junit": asCSV(t, GateJUnit, r), "csv": asCSV(t, GateCSV, r)} {
			if !strings.Contains(got, "bservational") || !strings.Contains(got, "rms ran one after the other") {
				t.Errorf("%s, %s: no label in\n%s", name, form, got)
			}
		}
	}
}
