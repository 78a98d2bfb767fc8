package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// spec says what run to make up.
type spec struct {
	name    string
	arms    []madeArm // treatments
	cells   []string
	metrics []madeMetric
	rounds  int
}

type madeArm struct {
	name    string
	effects []float64 // overhead by metric, cycled
}

type madeMetric struct {
	experiment.Metric
	level, noise float64
}

var start = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// planned is a plan of arms beside the baseline and its control.
func planned(name string, rounds int, arms ...experiment.PlannedArm) *experiment.Plan {
	return &experiment.Plan{Schema: experiment.PlanSchema, Name: name, Testbed: "local", Seed: 7, Rounds: rounds,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms: append([]experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}, {Name: experiment.ControlName, Role: experiment.Control}}, arms...)}
}

// simulated are the trials of a plan in its order, one a minute, with values that are made up.
func simulated(plan *experiment.Plan, values func(cell experiment.Cell, arm experiment.PlannedArm, round, step int) map[string]float64) []journal.Trial {
	var trials []journal.Trial
	for round := 1; round <= plan.Rounds; round++ {
		for i, step := range plan.Order(round) {
			cell, arm := plan.Cells[step.Cell], plan.Arms[step.Arm]
			trials = append(trials, journal.Trial{Round: round, Attempt: 1, Position: i + 1, Cell: cell.ID, Arm: arm.Name,
				Start: start.Add(time.Duration(len(trials)) * time.Minute), Wall: time.Minute, Values: values(cell, arm, round, i)})
		}
	}
	return trials
}

// wireguard is a run as a user has it: one arm, two paths, a session resumed.
func wireguard() spec {
	return spec{
		name: "wireguard",
		arms: []madeArm{{"wireguard", []float64{0.071, 0.62, 0.004, 0.01, 0}}},
		cells: []string{
			"network.tcp.pod-to-pod", "network.tcp.pod-to-service",
		},
		metrics: []madeMetric{
			metric("tcp-bandwidth", "bit/s", experiment.Higher, true, 941e6, 0.008),
			metric("tcp-cpu", "s/Gbit", experiment.Lower, true, 0.41, 0.05),
			metric("tcp-rtt", "s", experiment.Lower, true, 412e-6, 0.015),
			metric("tcp-memory", "B", experiment.Lower, false, 7.4e6, 0.03),
			{experiment.Metric{Name: "tcp-retransmits", Better: experiment.Lower, Scale: experiment.Difference}, 14, 0.4},
		},
		rounds: 12,
	}
}

func metric(name, unit string, better experiment.Better, headline bool, level, noise float64) madeMetric {
	return madeMetric{experiment.Metric{Name: name, Unit: unit, Better: better, Headline: headline, Scale: experiment.Ratio}, level, noise}
}

// run makes the run up. The numbers are plausible and self-consistent, not those
// of the real estimators.
func (s spec) run() *analysis.Run {
	rng := rand.New(rand.NewPCG(7, 7))
	limit := quantity.Percent(0.2)
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Name: s.name, Testbed: "local", Seed: 7, Rounds: s.rounds,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 3, Limits: experiment.Limits{ForeignCPU: &limit},
		Description: "What does encrypting pod traffic cost on a 1 Gbit/s link?",
		Arms: []experiment.PlannedArm{
			{Name: "plain", Role: experiment.Baseline},
			{Name: experiment.ControlName, Role: experiment.Control},
		}}
	for _, a := range s.arms {
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: a.name, Role: experiment.Treatment,
			Layers: []experiment.PlannedLayer{{Kind: "wireguard", Config: map[string]string{"implementation": "auto"}}}})
	}
	r := &analysis.Run{Schema: analysis.Schema, Directory: "runs/" + s.name, Plan: plan, Environment: environment(),
		Valid: true, Finished: true, Rounds: s.rounds, Start: start, Harness: analysis.Harness{WallShare: 0.031, CPUShare: 0.004}}
	length := 3.2 * float64(s.rounds*len(plan.Arms)*len(s.cells))
	r.Sessions = []analysis.Session{{Number: 1, From: 0, To: length * 0.6}, {Number: 2, From: length*0.6 + 5400, To: length + 5400}}
	for _, id := range s.cells {
		s.cell(r, rng, id)
	}
	planned := s.rounds * len(plan.Arms) * len(s.cells)
	r.Trials = analysis.Counts{Planned: planned, Done: planned + len(r.Invalids), Valid: planned}
	r.Family = plan.HeadlineFamily()
	r.Proofs = proofs(plan, planned/len(plan.Arms))
	return r
}

// cell adds a cell with its series, comparisons and control.
func (s spec) cell(r *analysis.Run, rng *rand.Rand, id string) {
	cell := experiment.Cell{ID: id, Workload: "network", Kind: "network", Levels: []factor.Level{{Factor: "mtu", Value: "1500"}}}
	summary := analysis.CellSummary{ID: id, Kind: "network", Levels: cell.Levels}
	for k, m := range s.metrics {
		cell.Metrics = append(cell.Metrics, m.Metric)
		series := analysis.MetricSeries{Metric: m.Metric}
		for i, arm := range r.Plan.Arms {
			effect := 0.0
			if i >= 2 {
				effect = s.arms[i-2].effects[k%len(s.arms[i-2].effects)]
			}
			if m.Better == experiment.Higher {
				effect = -effect
			}
			as := analysis.ArmSeries{Arm: arm.Name}
			for round := range s.rounds {
				v := m.level * (1 + effect) * math.Exp(m.noise*rng.NormFloat64())
				if rng.IntN(30) == 0 {
					v *= 1 - 6*m.noise
				}
				if m.Scale == experiment.Difference {
					v = math.Max(0, math.Round(v))
				}
				as.Rounds, as.Values = append(as.Rounds, round+1), append(as.Values, v)
				at := 3.2 * float64(len(s.cells)) * float64(round*len(r.Plan.Arms)+i)
				if at > r.Sessions[0].To {
					at += 5400
				}
				as.Seconds = append(as.Seconds, at)
			}
			as.Summary = summarise(as.Values)
			series.Arms = append(series.Arms, as)
		}
		for _, as := range series.Arms[1:] {
			c := compare(id, m.Metric, series.Arms[0], as)
			if as.Arm == experiment.ControlName {
				c.Verdict = analysis.Equivalent
				r.Controls = append(r.Controls, c)
				continue
			}
			c.Floor = math.Abs(r.Controls[len(r.Controls)-1].Overhead.Point)
			r.Comparisons = append(r.Comparisons, c)
		}
		summary.Metrics = append(summary.Metrics, series)
	}
	r.Cells = append(r.Cells, summary)
	r.Plan.Cells = append(r.Plan.Cells, cell)
}

// compare makes up a comparison from the mean of the pairs.
func compare(cell string, m experiment.Metric, base, arm analysis.ArmSeries) analysis.Comparison {
	c := analysis.Comparison{Cell: cell, Arm: arm.Arm, Metric: m, Method: "signed-rank", Paired: true, Rounds: len(arm.Values),
		Margin: 0.02, Baseline: base.Summary, Treated: arm.Summary, P: 0.0005, PAdjusted: 0.002, PEquiv: 0.9, PEquivAdjusted: 0.9, EstimatorsAgree: true, Lag1: 0.07, OrderP: 0.61}
	for i := range arm.Values {
		d := arm.Values[i] - base.Values[i]
		if m.Scale == experiment.Ratio {
			d /= base.Values[i]
		}
		if m.Better == experiment.Higher {
			d = -d
		}
		c.Overheads = append(c.Overheads, d)
	}
	sum := summarise(c.Overheads)
	half := 2.2 * sum.SD / math.Sqrt(float64(sum.N))
	c.Overhead = analysis.Interval{Point: sum.Median, Lo: sum.Median - half, Hi: sum.Median + half}
	c.T = analysis.Interval{Point: sum.Mean, Lo: sum.Mean - half, Hi: sum.Mean + half}
	c.MDE, c.Power = half*1.4, 0.8
	switch {
	case c.Overhead.Lo > 0:
		c.Verdict = analysis.Costs
	case c.Overhead.Hi < 0:
		c.Verdict = analysis.Gains
	case m.Scale == experiment.Ratio && c.Overhead.Lo > -0.02 && c.Overhead.Hi < 0.02:
		c.Verdict, c.PEquiv, c.PEquivAdjusted = analysis.Equivalent, 0.003, 0.006
	default:
		c.Verdict, c.P, c.PAdjusted, c.Needed, c.NeededRange, c.Reason = analysis.NotResolved, 0.41, 1, 87, &[2]int{52, 174}, analysis.NothingShown{}
	}
	return c
}

func summarise(values []float64) analysis.Summary {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return analysis.Summary{}
	}
	at := func(q float64) float64 {
		p := q * float64(n-1)
		i := int(p)
		if i+1 >= n {
			return v[n-1]
		}
		return v[i] + (p-float64(i))*(v[i+1]-v[i])
	}
	s := analysis.Summary{N: n, Min: v[0], Q1: at(0.25), Median: at(0.5), Q3: at(0.75), Max: v[n-1]}
	for _, x := range v {
		s.Mean += x / float64(n)
	}
	for _, x := range v {
		s.SD += (x - s.Mean) * (x - s.Mean) / float64(max(n-1, 1))
	}
	s.SD = math.Sqrt(s.SD)
	return s
}

func proofs(plan *experiment.Plan, trials int) []analysis.ProofSummary {
	list := []analysis.ProofSummary{{Arm: "plain", Layer: "wireguard", Name: "marker on the wire", Expected: "in clear", Example: "2 of 2 frames", Passed: trials}}
	for _, a := range plan.Arms[2:] {
		list = append(list,
			analysis.ProofSummary{Arm: a.Name, Layer: "wireguard", Name: "marker on the wire", Expected: "not in clear", Example: "0 of 2 frames", Passed: trials},
			analysis.ProofSummary{Arm: a.Name, Layer: "wireguard", Name: "tunnel counters grow", Expected: "at least 352 MB", Example: "353.1 MB", Passed: trials - 1},
			analysis.ProofSummary{Arm: a.Name, Layer: "wireguard", Name: "tunnel counters grow", Expected: "at least 349 MB", Example: "351.8 MB", Passed: 1},
			analysis.ProofSummary{Arm: a.Name, Layer: "wireguard", Name: "peer with a wrong key", Expected: "nothing gets through", Example: "0 of 3 packets", Once: true, Passed: 1})
	}
	return list
}

func environment() *machine.Environment {
	return &machine.Environment{Schema: machine.EnvironmentSchema, Time: start, TareVersion: "0.1.0", Go: "go1.26.0",
		Kernel: "6.1.0-18-amd64", KernelBuild: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1", OS: "Debian GNU/Linux 13 (trixie)",
		Architecture: "amd64", CPU: machine.CPU{Model: "AMD EPYC 7763 64-Core Processor", Online: 4, Usable: 2, Flags: []string{"aes", "avx2", "sha_ni"}, Governor: "performance", SMT: "on"},
		Mitigations: map[string]string{"spectre_v2": "Mitigation: Retpolines; IBPB", "meltdown": "Not affected"}, Memory: 8 << 30,
		Cgroup: machine.Cgroup{Version: 2, CPUs: 2, Memory: 4 << 30}, ClockSource: "tsc", Load: [3]float64{0.42, 0.31, 0.2},
		Hypervisor: "KVM", UserNS: true, Tools: []machine.Tool{{Name: "iperf3", Path: "/usr/bin/iperf3", Version: "iperf 3.18 (cJSON 1.7.15)"}},
		CipherDriver: map[string]string{"xts(aes)": "xts-aes-aesni"}, Notes: []string{"no WireGuard in this kernel: userspace implementation used"}}
}

// spoiled adds invalid trials to a run.
func spoiled(r *analysis.Run, n int) *analysis.Run {
	r.Trials.ByRule = map[string]int{}
	for i := range n {
		cell, arm := r.Plan.Cells[i%len(r.Plan.Cells)], r.Plan.Arms[i%len(r.Plan.Arms)]
		t := journal.Trial{Seq: 10 + 7*i, Session: 1, Round: 2 + i%max(1, r.Rounds-1), Attempt: 1, Position: 2, Cell: cell.ID, Arm: arm.Name,
			Start: start.Add(time.Duration(20+i*17) * time.Second), Wall: 3100 * time.Millisecond,
			Invalid: []journal.Violation{{Rule: "foreign-cpu", Detail: "other programs used 31 % of the machine, limit 20 %"}},
			Raw:     fmt.Sprintf("raw/%04d-%s-%s", 2+i, arm.Name, cell.ID)}
		if i%3 == 2 {
			t.Invalid = []journal.Violation{{Rule: "proof", Detail: "marker on the wire: expected not in clear, observed 2 of 2 frames"}}
			t.Checks = []layer.Check{{Layer: "wireguard", Name: "marker on the wire", Expected: "not in clear", Observed: "2 of 2 frames"}}
		}
		r.Trials.ByRule[t.Invalid[0].Rule]++
		r.Invalids = append(r.Invalids, t)
	}
	r.Trials.Done += n
	return r
}

// hollow is a run in which nothing was valid.
func hollow() *analysis.Run {
	r := wireguard().run()
	r.Comparisons, r.Controls, r.Cells, r.Proofs = nil, nil, nil, nil
	r.Valid, r.Finished, r.Reasons = false, false, []analysis.Reason{analysis.InvalidTrials{Lost: 48, Planned: 72, Limit: 0.2}}
	for _, cell := range r.Plan.Cells {
		for _, m := range cell.Metrics {
			r.Comparisons = append(r.Comparisons, analysis.Comparison{Cell: cell.ID, Arm: "wireguard", Metric: m,
				Verdict: analysis.Invalid, Reason: analysis.InvalidRuns{}})
		}
	}
	r.Trials = analysis.Counts{Planned: 72, Done: 216, Lost: 48, ByRule: map[string]int{"proof": 216}}
	return spoiled(r, 60)
}

// wide is a run with many arms and cells, and long names.
func wide(arms, cellCount, rounds int) *analysis.Run {
	s := wireguard()
	s.name, s.rounds, s.arms, s.cells = "many-arms", rounds, nil, nil
	for i := range arms {
		name := fmt.Sprintf("seccomp-and-apparmor-with-a-very-long-name[rules=%d,kind=capability]", 1<<i)
		s.arms = append(s.arms, madeArm{name, []float64{0.02 * float64(i), -0.01 * float64(i), 0.3 * float64(i)}})
	}
	for i := range cellCount {
		s.cells = append(s.cells, fmt.Sprintf("network.tcp.pod-to-service.mtu-%d.rate-10Gbit.parallel-%d", 1500+i, i))
	}
	return s.run()
}

// extreme is a run with effects and values many orders apart.
func extreme() *analysis.Run {
	s := wireguard()
	s.name = "extreme"
	s.arms = []madeArm{{"gvisor", []float64{0.02, 9, 40, 0.0001, 3}}, {"tiny", []float64{0.001}}}
	s.metrics = append(s.metrics, metric("per-call", "s", experiment.Lower, true, 3.1e-9, 0.00001), metric("throughput", "op/s", experiment.Higher, true, 8.1e12, 0.2))
	return s.run()
}

// boundless is a run whose numbers are as large as numbers get.
func boundless() *analysis.Run {
	r := wireguard().run()
	for i := range r.Comparisons {
		r.Comparisons[i].Overhead = analysis.Interval{Point: 1, Lo: -math.MaxFloat64, Hi: math.MaxFloat64}
		r.Comparisons[i].MDE = math.MaxFloat64
	}
	for i := range r.Cells {
		for j := range r.Cells[i].Metrics {
			a := &r.Cells[i].Metrics[j].Arms[0]
			a.Values[0], a.Values[1] = math.MaxFloat64, -math.MaxFloat64
			a.Summary = analysis.Summary{N: 2, Min: -math.MaxFloat64, Max: math.MaxFloat64}
		}
	}
	return r
}
