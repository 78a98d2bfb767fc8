package experiment

import (
	"cmp"
	"math"
	"time"

	"tare/experiment/factor"
	"tare/experiment/quantity"
)

// PlanSchema names the format of plan.json. Since v2 the order of the trials is part of it (Order),
// and so is how the record of the run proves itself (package journal): a change of either is a new version.
const PlanSchema = "tare.plan/v2"

// PlanSchemaV1 is the format before: what Order gave then, and whether the record has chains, it does not tell.
const PlanSchemaV1 = "tare.plan/v1"

// Role is an arm's part in the comparison.
type Role string

// The roles of arms.
const (
	Baseline  Role = "baseline"
	Control   Role = "control" // the baseline's A/A copy, added by Tare
	Treatment Role = "treatment"
)

// ControlName is the reserved name of the A/A arm.
const ControlName = "control"

// Plan is an expanded experiment as data: everything that the analysis of a run
// needs to know besides its trials. It is plan.json in the run directory.
type Plan struct {
	Schema      string           `json:"schema"`
	Version     string           `json:"version,omitempty"` // of Tare, which expanded it
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Labels      Labels           `json:"labels,omitempty"` // what the run was made of, as the command line or a CI system says
	Testbed     string           `json:"testbed"`          // "local", or TestbedImport
	Import      *Import          `json:"import,omitempty"` // where imported trials come from; nil: Tare ran them
	Seed        uint64           `json:"seed"`
	Rounds      int              `json:"rounds"`              // fixed rounds, or the pilot's with Precision
	Precision   quantity.Percent `json:"precision,omitempty"` // 0: fixed rounds
	MaxRounds   int              `json:"maxRounds,omitempty"`
	Confidence  quantity.Percent `json:"confidence"`
	Equivalence quantity.Percent `json:"equivalence"`
	Margins     Budget           `json:"margins,omitempty"` // of equivalence of single metrics
	Power       quantity.Percent `json:"power"`
	// Fixed is the number of rounds in all as it was set on the way, by a pilot or by an
	// extension; 0: not (yet). The notes of a run tell it, plan.json does not.
	Fixed int `json:"fixedRounds,omitempty"`
	// Ended is the number of rounds that count where the machine's condition has ended the run after
	// enough of them; 0: it has not. The notes tell it.
	Ended int `json:"endedRounds,omitempty"`
	// DecideAt are the numbers of rounds after which the run ends if every headline comparison is decided, the last
	// being Rounds; none: it ends with its rounds.
	DecideAt []int `json:"decideAt,omitempty"`
	// Decided is the number of rounds after which everything was decided; 0: it was not. The notes tell it.
	Decided int `json:"decidedRounds,omitempty"`
	// Looks are the numbers of rounds after which the finished run was looked at and then
	// extended. The notes tell them as well.
	Looks  []int  `json:"looks,omitempty"`
	SetUps SetUps `json:"setups,omitempty"` // "auto" or absent: decided when the first set-ups have been timed
	Slices Slices `json:"slices,omitempty"` // as asked for; the cells have what came of it. Absent: "none"
	// Factorial names the factors of a factorial design, in which every combination of them
	// is an arm.
	Factorial []string `json:"factorial,omitempty"`
	// ControlEvery is how often the control takes part: in the first rounds, and then in each whose number it
	// divides; 0: in all.
	ControlEvery int    `json:"controlEvery,omitempty"`
	Attempts     int    `json:"attempts"`
	Limits       Limits `json:"limits"`
	// Busy says by what the machine was too busy, before the first trial, for limits that are Tare's own and
	// that were lifted therefore; "": by nothing.
	Busy   string       `json:"busy,omitempty"`
	Budget Budget       `json:"budget,omitempty"` // for all arms that have none of their own
	Arms   []PlannedArm `json:"arms"`             // baseline first, control second
	Cells  []Cell       `json:"cells"`            // in the order of the file
}

// TestbedImport is the testbed of trials that another tool ran.
const TestbedImport = "import"

// Import says how the trials of a run came from the files of another tool. No
// such trial ran in an order that Tare drew: whatever is concluded from it is
// observational.
type Import struct {
	Tool   string        `json:"tool"`             // name of the format: "fio"
	PairBy string        `json:"pairBy,omitempty"` // what trials were paired by; "": they are independent samples
	Arms   []ImportedArm `json:"arms"`             // in the order of the plan's arms
	// Blocks are the names of what set-ups are here, such as deployments, by number - 1; none: trials have none.
	Blocks []string `json:"blocks,omitempty"`
	// Settings are those of the workload that are not the same in all files of a cell.
	Settings []ImportedSetting `json:"settings,omitempty"`
	// Allowed names settings that may differ, as the one who imported said.
	Allowed []string `json:"allowed,omitempty"`
	// Command repeats the import, for a shell; "": not known.
	Command string `json:"command,omitempty"`
	// Map is the mapping file that said what is in the files; "": the format needs none.
	Map string `json:"map,omitempty"`
}

// ImportedSetting is a setting of the workload that is not the same in all files of a cell.
type ImportedSetting struct {
	Cell string              `json:"cell"` // its ID
	Name string              `json:"name"` // of the setting, as the tool calls it
	Arms map[string][]string `json:"arms"` // its values by arm, each once; an arm without a file of the cell has none
}

// Planned is the number of rounds that were asked for, as far as that is fixed: the pilot's
// before the pilot has fixed it.
func (p *Plan) Planned() int { return max(p.Rounds, p.Fixed) }

// Total is the number of rounds that the run is to have: those planned, unless the machine's
// condition has ended it before.
func (p *Plan) Total() int {
	return cmp.Or(p.Decided, p.Ended, p.Planned())
}

// Judged is the confidence of intervals and verdicts. Each look at a finished run that
// was then extended leaves a quarter for error: a run of 95 % is judged at 98.75 % after
// its first extension. That keeps false claims, those of the first look included, at
// 5.5 % or less in every kind of noise that was simulated (docs/method.md); by
// Bonferroni they are at most 6.25 %, and 6.67 % after any number of extensions.
func (p *Plan) Judged() quantity.Percent {
	alpha := 1 - float64(p.Confidence)
	return quantity.Percent(1 - math.Ldexp(alpha, -2*len(p.Looks)))
}

// Paired says whether trials of the same round belong together.
func (p *Plan) Paired() bool { return p.Import == nil || p.Import.PairBy != "" }

// ArmWith is the name of the arm with a role; "" if there is none.
func (p *Plan) ArmWith(r Role) string {
	if a := first(p.Arms, func(a *PlannedArm) bool { return a.Role == r }); a != nil {
		return a.Name
	}
	return ""
}

// Arm is the arm of a name, nil if there is none.
func (p *Plan) Arm(name string) *PlannedArm {
	return first(p.Arms, func(a *PlannedArm) bool { return a.Name == name })
}

// Cell is the cell of an ID, nil if there is none.
func (p *Plan) Cell(id string) *Cell { return first(p.Cells, func(c *Cell) bool { return c.ID == id }) }

// Metric is the metric of a name, nil if the cell has none.
func (c *Cell) Metric(name string) *Metric {
	return first(c.Metrics, func(m *Metric) bool { return m.Name == name })
}

func first[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// ImportedArm says where the trials of one arm come from.
type ImportedArm struct {
	Name  string   `json:"name"`
	From  []string `json:"from"`  // directories, patterns and files as given
	Files int      `json:"files"` // read, valid or not
	// Facts are what the files tell of the system that they were made on, by the
	// names that people use ("kernel", "fio version"): the distinct values in the
	// order in which they appeared.
	Facts map[string][]string `json:"facts,omitempty"`
}

// PlannedArm is one arm at one level of its own factors.
type PlannedArm struct {
	Name   string         `json:"name"` // unique: "seccomp", or "seccomp[rules=8]" when swept
	Role   Role           `json:"role"`
	Levels []factor.Level `json:"levels,omitempty"`
	Layers []PlannedLayer `json:"layers"`
	// Factors are those of the plan's factorial design that are on. An arm without any is
	// its baseline, or no part of it.
	Factors []string `json:"factors,omitempty"`
	Budget  Budget   `json:"budget,omitempty"` // of its own; at every level of its factors the same
	// Allow are the aspects in which its programs may differ from the baseline's.
	Allow []Aspect `json:"allow,omitempty"`
	// OtherProgram says that a layer puts another program in place of the baseline's.
	OtherProgram bool `json:"otherProgram,omitempty"`
}

// PlannedLayer is a layer with its parameters in force, as JSON.
type PlannedLayer struct {
	Kind   string `json:"kind"`
	Config any    `json:"config"`
}

// Cell is one workload at one level of the workload's and the testbed's
// factors: the unit in which arms are compared. Each round runs every arm once
// in every cell.
type Cell struct {
	ID       string         `json:"id"` // unique and safe as a file name: "network.tcp.pod-to-pod"
	Workload string         `json:"workload"`
	Kind     string         `json:"kind"`
	Levels   []factor.Level `json:"levels,omitempty"`
	Config   any            `json:"config"`  // the workload's parameters in force
	Testbed  any            `json:"testbed"` // the testbed's parameters in force
	Metrics  []Metric       `json:"metrics"`
	Tests    string         `json:"tests,omitempty"`    // the resource that the workload measures (Declaration.Tests); "": none is judged
	Loop     *Loop          `json:"loop,omitempty"`     // metrics that Little's law may tie together
	PowerLaw *PowerLaw      `json:"powerLaw,omitempty"` // of a metric, as the workload expects it
	Slices   int            `json:"slices,omitempty"`   // that a trial is cut into; 0: none
	Expected time.Duration  `json:"expected"`           // one trial, ns
}

// Loop names two metrics of a cell that measure one thing when the load is a
// closed loop, in which each of a fixed number of workers sends its next request
// as soon as the last one is answered: mean latency × throughput is then the
// number of workers, whatever the system does (Little's law).
type Loop struct {
	Latency    string  `json:"latency"`           // mean latency, in s
	Throughput string  `json:"throughput"`        // answers, in 1/s
	Workers    float64 `json:"workers,omitempty"` // requests under way at a time; 0: not told
}

// PowerLaw says that a metric of a cell is expected to be a product of powers of the
// workload's factors, whatever the system does: queries of DNS are proxies × hosts ÷ TTL.
type PowerLaw struct {
	Metric    string             `json:"metric"`    // name of the metric
	Exponents map[string]float64 `json:"exponents"` // by factor: 1, -1, or 0 for one that makes no difference
}

// Expansion is a plan together with what carries it out. The slices run in
// parallel with those of the plan.
type Expansion struct {
	Plan   Plan
	Layers [][]LayerItem // by arm
	Cells  []CellSetup   // by cell
}

// Needs is what an arm needs of the testbed in a cell. The layers of all arms
// count: arms differ by their layers, not by what the testbed gives them. Only
// what they need of Pod Security is each arm's own: it takes part in no trial.
func (e *Expansion) Needs(cell, arm int) Needs {
	all := e.Cells[cell].Workload.Declare().Needs
	for a, items := range e.Layers {
		for _, item := range items {
			needs := item.Config.Declare().Needs
			if a != arm {
				needs.PodSecurity = nil
			}
			all = all.And(needs)
		}
	}
	return all
}

// CellSetup is what a cell runs, every factor at one level.
type CellSetup struct {
	Workload WorkloadConfig
	Testbed  Testbed
}

// HeadlineFamily is the number of hypotheses under Holm's correction:
// treatments × headline metrics over all cells.
func (p *Plan) HeadlineFamily() int {
	metrics := 0
	for _, c := range p.Cells {
		for _, m := range c.Metrics {
			if m.Headline {
				metrics++
			}
		}
	}
	treatments := 0
	for _, a := range p.Arms {
		if a.Role == Treatment {
			treatments++
		}
	}
	return metrics * treatments
}

// aroundTrial is the time that Tare itself takes around a trial, for proofs,
// sampling and the journal. It is an estimate for the user's planning only.
const aroundTrial = 100 * time.Millisecond

// aroundSlice is the same for each slice.
const aroundSlice = 10 * time.Millisecond

// Duration estimates how long a number of rounds takes when every trial is
// valid at once.
func (p *Plan) Duration(rounds int) time.Duration {
	var round time.Duration
	for _, c := range p.Cells {
		round += c.Expected + aroundTrial + time.Duration(c.Slices)*aroundSlice
	}
	return time.Duration(p.Trials(rounds)) * round
}
