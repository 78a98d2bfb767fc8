package compare

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// made describes a run for a test.
type made struct {
	name    string
	arms    []string           // treatments
	level   float64            // level of the baseline
	factors map[string]float64 // factors of the treatments and the control
	metrics []experiment.Metric
	rounds  int
	seed    uint64
	start   time.Time
	foreign bool // imported, so trials are unpaired
	change  func(*experiment.Plan, *machine.Environment)
	spoil   func([]journal.Trial)
}

var (
	bandwidth = experiment.Metric{Name: "bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}
	latency   = experiment.Metric{Name: "latency", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio}
	drops     = experiment.Metric{Name: "drops", Better: experiment.Lower, Headline: true, Scale: experiment.Difference}
	january   = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	february  = time.Date(2026, 2, 3, 15, 4, 5, 0, time.UTC)
)

func environment() *machine.Environment {
	return &machine.Environment{Kernel: "6.1.0", KernelBuild: "#1", CPU: machine.CPU{Model: "EPYC 7763", Online: 4, Flags: []string{"aes", "avx2"}},
		Memory: 16 << 30, Tools: []machine.Tool{{Name: "iperf3", Version: "iperf 3.12"}}}
}

// run generates the run and analyses it.
func (m made) run(t *testing.T) Input {
	t.Helper()
	if m.rounds == 0 {
		m.rounds = 20
	}
	if m.metrics == nil {
		m.metrics = []experiment.Metric{latency}
	}
	if m.start.IsZero() {
		m.start = january
	}
	if m.level == 0 {
		m.level = 100
	}
	plan := &experiment.Plan{Schema: experiment.PlanSchema, Version: "0.3.0", Name: "wg", Testbed: "local", Rounds: m.rounds, Seed: m.seed,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 2,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline, Layers: []experiment.PlannedLayer{}}}}
	if m.foreign {
		plan.Testbed, plan.Import = experiment.TestbedImport, &experiment.Import{Tool: "vault-benchmark"}
		plan.Import.Arms = []experiment.ImportedArm{{Name: "plain", Facts: map[string][]string{"kernel": {"5.15"}}}}
	} else {
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: experiment.ControlName, Role: experiment.Control, Layers: []experiment.PlannedLayer{}})
	}
	for _, a := range m.arms {
		plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: a, Role: experiment.Treatment,
			Layers: []experiment.PlannedLayer{{Kind: "wireguard", Config: map[string]any{"implementation": "kernel"}}}})
	}
	plan.Cells = []experiment.Cell{{ID: "network.tcp", Workload: "network", Kind: "network", Metrics: m.metrics,
		Config: map[string]any{"duration": "3s"}, Testbed: map[string]any{"link": map[string]any{"mtu": 1500, "rate": "1Gbit"}}}}
	env := environment()
	if m.change != nil {
		m.change(plan, env)
	}
	trials := m.trials(plan)
	if m.spoil != nil {
		m.spoil(trials)
	}
	if m.foreign {
		env = nil
	}
	r := analysis.Analyze(plan, trials, env)
	r.Directory, r.Finished = m.name, true
	return Input{Name: m.name, Run: r, Trials: trials}
}

// trials returns values of every arm's factor times the baseline's level, with a drift that all
// arms of a round share.
func (m made) trials(plan *experiment.Plan) []journal.Trial {
	rng := rand.New(rand.NewPCG(m.seed, 3))
	var list []journal.Trial
	for round := 1; round <= m.rounds; round++ {
		drift := math.Exp(0.02 * rng.NormFloat64())
		for i, step := range plan.Order(round) {
			cell, arm := plan.Cells[step.Cell], plan.Arms[step.Arm]
			if m.foreign { // independent samples share nothing
				drift = math.Exp(0.02 * rng.NormFloat64())
			}
			f, ok := m.factors[arm.Name]
			if !ok {
				f = 1
			}
			trial := journal.Trial{Seq: len(list) + 1, Session: 1, Round: round, Attempt: 1, Position: i%len(plan.Arms) + 1, Cell: cell.ID, Arm: arm.Name,
				Start: m.start.Add(time.Duration(len(list)) * 4 * time.Second), Wall: 3 * time.Second, Values: map[string]float64{}}
			for _, metric := range cell.Metrics {
				v := m.level * f * drift * math.Exp(0.005*rng.NormFloat64())
				if metric.Scale == experiment.Difference {
					v = math.Round(10*f*drift + 2*rng.NormFloat64())
				}
				trial.Values[metric.Name] = v
			}
			list = append(list, trial)
		}
	}
	return list
}
