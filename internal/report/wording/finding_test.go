package wording

import (
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/machine"
	"tare/internal/runs/compare"
	"tare/internal/runs/history"
	"tare/internal/testbed"
)

func TestFinding(t *testing.T) {
	metric := experiment.Metric{Name: "latency", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}
	share := func(count, of int, point, lo, hi float64) analysis.Frequency {
		return analysis.Frequency{Count: count, Of: of, Share: analysis.Interval{Point: point, Lo: lo, Hi: hi}}
	}
	place := analysis.OddSeriesPlace{Metric: "time", Cell: "randread", Diagnostics: analysis.Diagnostics{Changes: []int{41}, Trend: 0.03, Lag1: 0.77, DipP: 0.0001}}
	for _, c := range []struct {
		f    analysis.Finding
		want string
	}{
		{analysis.Autocorrelation{Lag1: 0.957}, "neighbouring rounds resemble each other (lag-1 autocorrelation 0.96): the interval may be too narrow"},
		{analysis.Autocorrelation{Lag1: -0.7}, "neighbouring rounds alternate (lag-1 autocorrelation −0.70): something may switch between two states"},
		{analysis.OrderEffect{P: 4e-17}, "it matters whether the arm runs before or after the baseline (order effect, p < 0.001): a trial may affect the next one"},
		{analysis.Disagreement{Estimator: "paired t", Verdict: analysis.NotResolved}, `the two estimators disagree: by paired t alone it would be "not resolved"`},
		{analysis.NormalPairs{Pairs: 5, Fewest: 6}, "5 pairs are too few for the exact interval (6 at this confidence): the t interval shown assumes normal noise"},
		{analysis.NormalSamples{Baseline: 3, Treated: 3}, "3 values per arm are too few for the rank-sum interval: Welch's t interval shown assumes normal noise"},
		{analysis.Imprecise{Asked: 0.02, Reached: 0.031}, "the precision asked for, ±2 %, is not reached: the interval is ±3.1 % wide"},
		{analysis.NoVariation{Paired: true, Scale: experiment.Ratio}, "all pairs have the same ratio: the metric may be too coarse to show noise"},
		{analysis.NoVariation{}, "no value of either arm varies: the metric may be too coarse to show noise"},
		{analysis.UnequalSpread{Wider: experiment.Treatment, Ratio: 5.234},
			"the values of the arm spread 5.2 times as wide as those of the other: the arms differ in more than their level, and the interval covers only the level"},
		{analysis.Unfinished{Done: 30, Planned: 36},
			"the run is not finished: 30 of 36 planned trials are done, and stopping at an early verdict makes false claims several times as likely"},
		{analysis.WeakClaim{Power: 0.214, Factor: 2.13}, "this estimate may be too large: small effects are only claimed when chance makes them look larger"},
		{analysis.Extended{Looks: []int{10, 20}, Rounds: 32, Confidence: 0.996875},
			"the run was extended from 20 to 32 rounds after a look at its results: a second look makes false claims more likely, so that verdicts and intervals are at 99.69 %"},
		{analysis.StrayTrials{Trials: 1}, "1 trial is left out: the plan has no such cell or arm"},
		{analysis.MoreRepeats{Arm: share(12, 62, 0.194, 0.104, 0.314), Reference: share(3, 123, 0.024, 0.005, 0.07), P: 0.0002},
			"trials of this arm were repeated or lost more often than those of the baseline and its control (19 % [10, 31] of executions beside 2.4 % [0.5, 7.0], p < 0.001), by the machine's condition or a failed proof: the missing trials may not be missing by chance, and the arm may look faster or slower than it is"},
		{analysis.ReplacedTrials{Trials: 2}, "2 valid trials are left out: a later one of the same arm and round counts"},
		{analysis.Uncontrolled{}, "there is no control arm: nothing shows which differences arise on this machine without any layer"},
		{analysis.FewRounds{Rounds: 7, Family: 4, Fewest: 8}, "7 rounds are too few to claim anything of 4 headline comparisons: at least 8 are needed"},
		{analysis.FewValues{Most: 3, Family: 1, Fewest: 4}, "at most 3 values per arm are too few to claim anything of 1 headline comparison: at least 4 of each arm are needed"},
		{analysis.CappedPrecision{Precision: 0.02, Rounds: 9}, "a precision of ±2 % would take more than the 9 rounds allowed: some intervals are wider than asked for"},
		{analysis.Bound{Resource: testbed.Resource{Name: "wire", Of: 1e9, Used: 0.62, Packets: 1000, Dropped: 70, Segments: 900, Retransmitted: 90, Timeouts: 3000}, Tests: "server", Arms: []string{"plain", "mtls"}},
			"bound by the wire (1 Gbit/s, 62 % used) in plain, mtls, 7 % of its packets dropped, 10 % of TCP segments sent again, 3,000 TCP timeouts: the results show what that allows, not what the server could do"},
		{analysis.Bound{Resource: testbed.Resource{Name: "wire", Of: 1e9, Used: 0.96}, Tests: "network"},
			"bound by the wire (1 Gbit/s, 96 % used): it limits the bandwidth, and further costs of a layer show in CPU time alone"},
		{analysis.Bound{Resource: testbed.Resource{Name: "machine", Of: 2, Used: 0.97}, Tests: "server"},
			"bound by the machine's processors, which all programs share (97 % of 2): the results show what that allows, not what the server could do"},
		{analysis.Bound{Resource: testbed.Resource{Name: "client", Of: 8, Used: 0.97}, Tests: "server"},
			"bound by the processors of the client's machine (97 % of 8): the results show what that allows, not what the server could do"},
		{analysis.Bound{Resource: testbed.Resource{Name: "network", Segments: 900, Retransmitted: 90, Timeouts: 1}, Tests: "server"},
			"bound by the network, 10 % of TCP segments sent again, 1 TCP timeout: the results show what that allows, not what the server could do"},
		{analysis.UnlimitedLink{}, "the link has no rate limit: on one machine this compares memory copies with cryptography, not networks"},
		{analysis.ControlDiffers{Metric: metric, Overhead: analysis.Interval{Point: 0.0095, Lo: 0.0056, Hi: 0.0141}},
			"the control differs from the baseline by more than chance (0.9 % more [0.6, 1.4]): claims on this metric must exceed that"},
		{analysis.Interrupted{Rounds: []int{7}}, "round 7 was interrupted by a resume: the trials compared there come from different sessions"},
		{analysis.Interrupted{Rounds: []int{7, 9}}, "rounds 7, 9 were interrupted by a resume: the trials compared there come from different sessions"},
		{analysis.UnusableValues{Unusable: 1, Valid: 36}, "1 of 36 valid trials have no usable value and are left out"},
		{analysis.StartUp{Program: "bwrap", Start: 0.009, Run: 0.003, Most: true}, "most of this is the start of bwrap, which takes 9 ms, while the program runs for 3 ms; longer programs show less of it"},
		{analysis.Unexercised{Layer: "bpflsm"}, "hardly any trial there did what the layer bpflsm acts on (its hooks were hit rarely or never): the difference is not its effect, but comes from another layer of the arm, from the arm's set-up, or from chance"},
		{analysis.OverCap{Unit: "1/s", Cap: 500, Burst: 600, Value: 590}, "the median is 590/s, within the burst of 600/s but above the 500/s that the device sustains by the experiment file: longer trials may use up the burst credits, and arms with different credits differ for that reason"},
		{analysis.OverCap{Unit: "1/s", Cap: 500, Burst: 600, Value: 700}, "the median is 700/s, but by the experiment file the device gives at most 600/s: something else served the requests (a cache, or burst credits), and a difference between arms may come from there"},
		{analysis.OverCap{Unit: "1/s", Cap: 2400, Value: 3000}, "the median is 3,000/s, but by the experiment file the device gives at most 2,400/s: something else served the requests (a cache, or burst credits), and a difference between arms may come from there"},
		{analysis.LevelChanges{Rounds: []int{15}}, "the baseline's level changes at round 15"},
		{analysis.OddSeries{Oddity: analysis.OddLevels, Places: []analysis.OddSeriesPlace{place}},
			"values change level during the run (at trial 41): the interval describes a mixture of levels, not one level"},
		{analysis.OddSeries{Oddity: analysis.OddDrift, Places: []analysis.OddSeriesPlace{place}},
			"values drift from the first trial to the last (rising by 3 %): the drift is part of the difference, and the interval does not allow for it"},
		{analysis.OddSeries{Oddity: analysis.OddCarry, Places: []analysis.OddSeriesPlace{place}},
			"neighbouring trials resemble each other (lag-1 autocorrelation 0.77): the interval assumes independent trials and is too narrow"},
		{analysis.OddSeries{Oddity: analysis.OddGroups, Places: []analysis.OddSeriesPlace{place}},
			"values fall into more than one group (dip test p < 0.001): the interval describes a mixture of them, and perhaps none of them"},
		{analysis.OddSeries{Oddity: analysis.OddLevels, Places: []analysis.OddSeriesPlace{place, place, place, place, place, place, place, place}},
			"values change level during the run, on time in randread (at trial 41), time in randread (at trial 41), time in randread (at trial 41), time in randread (at trial 41), " +
				"time in randread (at trial 41), time in randread (at trial 41), 2 more: the interval describes a mixture of levels, not one level"},
		{analysis.Omission{Metrics: []string{"latency-p99", "latency-max"}},
			"latency-p99, latency-max of a closed loop: while a response is slow, its worker sends nothing, and the requests that would have waited are missing (coordinated omission)"},
		{analysis.InTurn{}, "every arm was set up right before each of its trials: the values include a fresh start (empty caches, new processes and connections), and after a longer warm-up an overhead may differ"},
		{analysis.Sliced{Slices: 8}, "trials were cut into 8 slices, between which the arms alternated: the traces of one arm in caches, connections or a throttled clock affect the next one, " +
			"and a slice begins without the warm-up of the arm's slice before; a run without slices shows whether this matters (tare compare)"},
		{analysis.Switching{Arms: []analysis.SwitchedArm{{Arm: "plain", After: 1, Valid: 6}, {Arm: "layer", After: 6, Valid: 6}}},
			"a layer is turned on and off for all arms, and the next trial may still be affected: 1 of 6 trials of plain, 6 of 6 trials of layer; " +
				"a part of a difference between arms may come from this, unless the layer's settle is long enough"},
		{analysis.MeanDiffers{Metric: metric, Mean: analysis.Interval{Point: 0.03, Lo: -0.01, Hi: 0.08}}, "the mean says the opposite of the typical round: 3.0 % more [1.0 less, 8.0 more]"},
		{analysis.Stalling{Stalls: analysis.Stalls{Factor: 1.25, Arm: analysis.Frequency{Count: 3, Of: 30, Share: analysis.Interval{Point: 0.1, Lo: 0.021, Hi: 0.265}},
			Reference: analysis.Frequency{Of: 60, Share: analysis.Interval{Hi: 0.06}}}},
			"stalls: 10 % [2, 26] of trials, baseline 0.0 % [0.0, 6.0] (trials at least 1.25 times as bad as the median of their arm)"},
		{analysis.StandIn{Component: "istiod", Says: "its sidecars are others"}, "a stand-in is on the cluster: istiod says that its sidecars are others"},
		{analysis.Remark{From: analysis.FromMachine, Text: "no AES instructions"}, "no AES instructions"},
		{analysis.Remark{From: analysis.FromSession, Text: "kernel is 6.8, was 6.1", Session: 2}, "in session 2, kernel is 6.8, was 6.1"},
		{compare.UnfinishedRun{Run: 1, Unfinished: analysis.Unfinished{Done: 60, Planned: 60}}, "run 1 is not finished: 60 of 60 planned trials are done, and no comparison with it gives a verdict"},
		{compare.InvalidRun{Run: 2, Reasons: []analysis.Reason{analysis.NoBaseline{}}}, "run 2 gives no verdicts, and no comparison with it does: the plan has no baseline"},
		{compare.PilotRounds{Run: 2}, "a pilot set the number of rounds of run 2; intervals across runs do not allow for that and may be a little narrow"},
		{compare.OtherRules{Run: 2, Reference: 1}, "run 2 was to be judged at another confidence, margin or power; here the rules of run 1 hold"},
		{compare.ChangedControl{From: 1, To: 2, Cell: "network.tcp", Metric: metric, Overhead: analysis.Interval{Point: 0.03, Lo: 0.027, Hi: 0.033}},
			"changes from run 1 to run 2 have no verdicts: the control's overhead, which no layer causes, differs on latency in network.tcp by 3.0 % more [2.7, 3.3]"},
		{compare.UnrecordedMachines{Runs: []int{2, 3}}, "runs 2 and 3 have no record of the machine: whether machines differ cannot be said"},
		{history.TooShort{Runs: 6, Fewest: 10}, "changes can be seen from 10 runs on; there are 6"},
		{history.Wandering{Lag1: 0.5}, "neighbouring runs resemble each other (autocorrelation 0.50): some of the changes may be slow drift, and their positions are less certain than stated"},
	} {
		if got := Finding(c.f); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.f.Kind(), got, c.want)
		}
	}
}

func TestReason(t *testing.T) {
	metric := experiment.Metric{Name: "time", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}
	fails := analysis.ControlFails{Cell: "network", Metric: metric, Overhead: analysis.Interval{Point: 0.051, Lo: 0.047, Hi: 0.055}, PAdjusted: 0.0005, Margin: 0.02}
	lost := analysis.InvalidTrials{Lost: 8, Planned: 24, Limit: 0.1}
	for _, c := range []struct {
		r    analysis.Reason
		want string
	}{
		{fails, "the control, a second copy of the baseline, differs on time in network: 5.1 % more [4.7, 5.5], Holm p < 0.001, and is not shown to be within ±2 %"},
		{lost, "8 of 24 planned trials (33 %) were lost to the machine's condition or a failed proof after all attempts, over the limit of 10 %"},
		{analysis.InvalidTrials{Lost: 2, Planned: 18, Limit: 0.1, Imported: true}, "2 of 18 trials (11 %) are invalid, over the limit of 10 %"},
		{analysis.NoBaseline{}, "the plan has no baseline"},
		{analysis.RoundsMissing{Rounds: 7, Of: 30}, "after 7 of 30 rounds"},
		{analysis.UnfinishedRuns{Runs: []int{2}}, "run 2 is not finished"},
		{analysis.UnfinishedRuns{Runs: []int{1, 2}}, "runs 1 and 2 are not finished"},
		{analysis.SameClaim{Metric: "rate"}, "restates rate"},
		{analysis.OtherSettings{Settings: []analysis.UnlikeSetting{{Name: "rate", Baseline: []string{"none"}, Arm: []string{"2000"}}, {Name: "bs", Baseline: []string{"4k"}, Arm: []string{"4k", "1m"}}}},
			"not comparable: rate none | 2000; bs 4k | 4k and 1m"},
		{history.NoTrial{}, "it has no trial"},
		{history.NotFinished{}, "it is not finished"},
		{analysis.NoVerdicts{Reasons: []analysis.Reason{lost}}, "it is invalid: 8 of 24 planned trials (33 %) were lost to the machine's condition or a failed proof after all attempts, over the limit of 10 %"},
		{history.Copy{Of: "copy/000"}, "it has the same start and seed as copy/000: a copy"},
		{history.Copy{Of: "a", Imported: true}, "it has the same trials as a: the same files imported again, or a copy"},
		{history.NothingToCompare{}, "no trial of it can be compared"},
		{history.NoValidTrial{}, "no valid trial has it"},
		{history.Incomparable{}, "its value cannot be compared"},
		{history.Observed{}, "it is observational, unlike others of the series"},
		{history.NewRunLeftOut{Why: history.NotFinished{}}, "the new run cannot be compared: it is not finished"},
		{history.NewRunWithout{Why: history.NoValidTrial{}}, "the new run has no value: no valid trial has it"},
		{history.NewIncomparable{}, "the value of the new run cannot be compared"},
		{history.FewRuns{Fewest: 5}, "no earlier run can be compared with, at least 5 are needed"},
		{history.FewRuns{Runs: 4, Fewest: 5}, "4 earlier runs can be compared with, at least 5 are needed"},
		{history.FewSinceAnchor{Fewest: 5}, "at least 5 runs from the anchor on are needed"},
		{history.NoSeries{}, "no earlier run of this experiment has it"},
		{history.Unlike{}, "experiments and observations are not compared with each other"},
		{history.OtherParameters{Differs: []history.Difference{{What: "command.size", Is: "1MiB"}}}, "no earlier run had these parameters: command.size is 1MiB, was unset"},
		{history.NoSpread{}, "the earlier runs do not vary, so nothing shows how large chance differences are"},
	} {
		if got := Reason(c.r); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.r.Kind(), got, c.want)
		}
	}
}

func TestObservation(t *testing.T) {
	of := func(differs []string, arms ...analysis.Schedule) *analysis.Observation {
		return &analysis.Observation{Baseline: "aks", Arms: arms, Differs: differs}
	}
	c11n := func(times analysis.Times) analysis.Schedule { return analysis.Schedule{Arm: "c11n", Times: times} }
	for _, c := range []struct {
		o    *analysis.Observation
		want string
	}{
		{nil, ""},
		{&analysis.Observation{}, "when the arms ran is unknown"},
		{of(nil), "one arm alone, with no baseline beside it"},
		{of(nil, c11n(analysis.TimesApart)), "arms ran one after the other"},
		{of(nil, c11n(analysis.TimesInterleaved)), "arms interleaved in time, in an order that was not drawn at random"},
		{of(nil, c11n(analysis.TimesOverlap)), "arms overlapped in time only in part"},
		{of(nil, c11n(analysis.TimesBlocks)), "arms took turns in long blocks"},
		{of(nil, c11n(analysis.TimesUnknown)), "when the arms ran is unknown"},
		{of(nil, c11n(analysis.TimesInterleaved), analysis.Schedule{Arm: "gke", Times: analysis.TimesApart}),
			"gke ran before or after aks; c11n interleaved in time with aks, in an order that was not drawn at random"},
		{of([]string{"kernel"}, c11n(analysis.TimesApart)), "arms ran one after the other, on systems or with settings that differ in kernel"},
		{of([]string{"a", "b", "c", "d", "e", "f", "g", "h"}, c11n(analysis.TimesApart)),
			"arms ran one after the other, on systems or with settings that differ in a, b, c, d, e, f, 2 more"},
	} {
		if got := Observation(c.o); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	across := &compare.Result{Observation: &compare.Observation{Starts: []time.Time{day, day.AddDate(0, 1, 1)}, Machines: compare.MachinesDiffer, Differing: []string{"kernel", "processor"},
		Within: []compare.Within{{Runs: []int{1, 2}, Observation: of(nil, c11n(analysis.TimesApart))}}}}
	want := "the runs were made at different times (2026-01-02 and 2026-02-03), on machines that differ (kernel, processor); within runs 1 and 2, arms ran one after the other"
	if got := ObservationAcross(across); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestLoopAndFit(t *testing.T) {
	loop := &analysis.LoopSummary{Loop: experiment.Loop{Latency: "latency-mean", Throughput: "throughput", Workers: 64}, Least: 64, Median: 64, Most: 64, Trials: 8, Known: true}
	if got, want := Loop(loop), "closed loop: latency-mean × throughput is 64 (64 to 64 over 8 trials), as many as the 64 workers; latency-mean says the same as throughput"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	loop.Known, loop.Least, loop.Median, loop.Most = false, 62.61, 64.23, 66.12
	if got, want := Loop(loop), "closed loop: latency-mean × throughput is 64.2 (62.6 to 66.1 over 8 trials) whatever the latency, as with a fixed number of workers; latency-mean says the same as throughput"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	objects := &analysis.Scaling{Factor: "objects"}
	if got, want := Fit(objects, analysis.Fit{Poor: true, Off: 0.09, At: 300, Below: true, Bend: "steeper"}), "not a line: at 300 it lies 9 % of the rise below; steeper at higher levels than at lower ones"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDifference(t *testing.T) {
	for want, d := range map[string]history.Difference{
		"kernel is 6.8, was 6.1":               {What: "kernel", Is: "6.8", Was: "6.1", Machine: true},
		"governor is unknown, was performance": {What: "governor", Was: "performance", Machine: true},
		"command.size is 8KiB, was unset":      {What: "command.size", Is: "8KiB"},
		"processor flags changed":              {What: machine.FlagsProperty, Is: "aes", Was: "aes avx2", Machine: true},
	} {
		if got := Difference(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	flags := compare.Property{Path: machine.FlagsProperty, Values: []string{"aes avx2", "aes vaes", ""}}
	if got := PropertyValues(flags); got[0] != "2 flags" || got[1] != "−avx2 +vaes" || got[2] != "" {
		t.Errorf("%q", got)
	}
}
