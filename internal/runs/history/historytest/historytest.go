// Package historytest generates runs whose levels and overheads are known, in memory or as
// directories, for tests of packages that work on many runs.
package historytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// Start is the start of the first run of a generated history.
var Start = time.Date(2026, 1, 5, 2, 0, 0, 0, time.UTC)

// Run describes a run to generate. The arms are "plain", "layered" and the control. Each cell has "time" (headline,
// lower is better) and "rate" (exploratory, higher is better).
type Run struct {
	Name    string // name of the experiment
	Number  int    // number of the run: it starts this many days after Start
	Level   float64
	Cost    float64 // overhead of the layer, as a share
	Noise   float64 // noise of a trial, on the log scale
	Rounds  int
	Cells   int
	Kernel  string // "": the run has no environment
	Version string // version of Tare
	Size    string // a parameter of the workload
	Commit  string // label of the run
	Alone   bool   // set if the run has only the baseline
	Tool    string // if not empty, the run is imported from this tool
	Rules   []int  // levels of the layer: the level n adds 0.03 + 0.001 n to Cost; nil: no levels
	Invalid bool   // set if every trial of the layer broke a rule
	Running bool   // set if the run is not finished
}

// Journal generates the run as if it had been read from the directory.
func (r Run) Journal(dir string) *journal.Run {
	r.Rounds, r.Cells = max(r.Rounds, 1), max(r.Cells, 1)
	j := &journal.Run{Dir: dir, Plan: r.plan(), Finished: !r.Running}
	if r.Kernel != "" {
		j.Environment = &machine.Environment{Schema: machine.EnvironmentSchema, TareVersion: r.Version, Kernel: r.Kernel}
	}
	rng := rand.New(rand.NewPCG(uint64(r.Number), 1))
	at := Start.AddDate(0, 0, r.Number)
	j.Sessions = []journal.Session{{Number: 1, Start: at}}
	for round := 1; round <= r.Rounds; round++ {
		for i, step := range j.Plan.Order(round) {
			j.Trials = append(j.Trials, r.trial(j, rng, round, i, step, at))
		}
	}
	return j
}

func (r Run) trial(j *journal.Run, rng *rand.Rand, round, i int, step experiment.Step, at time.Time) journal.Trial {
	arm := j.Plan.Arms[step.Arm]
	value := r.Level * math.Exp(r.Noise*rng.NormFloat64())
	if arm.Role == experiment.Treatment {
		cost := r.Cost
		if r.Rules != nil {
			rules, _ := strconv.ParseFloat(arm.Levels[0].Value, 64)
			cost += 0.03*min(rules, 1) + 0.001*rules
		}
		value *= 1 + cost
	}
	t := journal.Trial{
		Seq: len(j.Trials) + 1, Session: 1, Round: round, Attempt: 1, Position: i%len(j.Plan.Arms) + 1,
		Cell: j.Plan.Cells[step.Cell].ID, Arm: arm.Name, Start: at.Add(time.Duration(len(j.Trials)) * time.Second), Wall: time.Second,
	}
	if r.Invalid && arm.Role == experiment.Treatment {
		t.Invalid = []journal.Violation{{Rule: "proof", Detail: "made so"}}
		return t
	}
	t.Values = map[string]float64{"time": value, "rate": 1 / value}
	return t
}

func (r Run) plan() *experiment.Plan {
	p := &experiment.Plan{
		Schema: experiment.PlanSchemaV1, Version: r.Version, Name: r.Name, Testbed: "local", Seed: uint64(r.Number) + 1, Rounds: r.Rounds,
		Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Arms: []experiment.PlannedArm{{Name: "plain", Role: experiment.Baseline}},
	}
	if r.Commit != "" {
		p.Labels = experiment.Labels{experiment.LabelCommit: r.Commit}
	}
	if r.Invalid {
		none := quantity.Percent(0.1)
		p.Limits.InvalidTrials = &none
	}
	if r.Tool != "" {
		p.Testbed = experiment.TestbedImport
		p.Import = &experiment.Import{Tool: r.Tool, Arms: []experiment.ImportedArm{{Name: "plain", From: []string{"results"}, Files: r.Rounds}}}
	} else {
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: experiment.ControlName, Role: experiment.Control})
	}
	for _, n := range r.Rules {
		level := factor.Level{Factor: "rules", Value: strconv.Itoa(n)}
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: "layered[" + level.String() + "]", Role: experiment.Treatment, Levels: []factor.Level{level}, Layers: []experiment.PlannedLayer{}})
	}
	if !r.Alone && r.Rules == nil {
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: "layered", Role: experiment.Treatment,
			Layers: []experiment.PlannedLayer{{Kind: "env", Config: map[string]any{"set": map[string]any{"LAYER": "on"}}}}})
		if p.Import != nil {
			p.Import.Arms = append(p.Import.Arms, experiment.ImportedArm{Name: "layered", From: []string{"results"}, Files: r.Rounds})
		}
	}
	for c := range r.Cells {
		p.Cells = append(p.Cells, experiment.Cell{
			ID: fmt.Sprintf("disk.%d", c+1), Workload: "disk", Kind: "command", Expected: time.Second,
			Config: map[string]any{"size": r.Size}, Testbed: map[string]any{},
			Metrics: []experiment.Metric{
				{Name: "time", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
				{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio},
			},
		})
	}
	return p
}

// Write writes the run as a directory. It does not sync the files to disk.
func (r Run) Write(dir string) error {
	j := r.Journal(dir)
	j.Notes = []journal.Note{{Kind: journal.NoteSession, Session: 1, Time: j.Sessions[0].Start, Text: "started"}}
	if j.Finished {
		j.Notes = append(j.Notes, journal.Note{Kind: journal.NoteFinished, Session: 1, Time: j.Sessions[0].Start.Add(time.Hour), Text: "finished"})
	}
	files, errs := map[string][]byte{journal.TrialsFile: nil}, []error{os.MkdirAll(filepath.Join(dir, journal.RawDir), 0o755)}
	add := func(name string, line []byte, err error) {
		files[name], errs = append(append(files[name], line...), '\n'), append(errs, err)
	}
	plan, err := json.Marshal(j.Plan)
	add(journal.PlanFile, plan, err)
	if j.Environment != nil {
		environment, err := json.Marshal(j.Environment)
		add(journal.EnvironmentFile, environment, err)
	}
	for i := range j.Notes {
		line, err := j.Notes[i].Line()
		add(journal.NotesFile, line, err)
	}
	for i := range j.Trials {
		line, err := j.Trials[i].Line()
		add(journal.TrialsFile, line, err)
	}
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	return errors.Join(errs...)
}
