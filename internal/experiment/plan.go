package experiment

import (
	"cmp"
	"math"
	"strings"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// PlanSchema names the format of plan.json. A change of the order of the trials (Order) or of the chain (package
// journal) needs a new version.
const PlanSchema = "tare.plan/v2"

// PlanSchemaV1 is the schema of older plans. An older plan does not say in which order the trials ran, or whether the
// record has chains.
const PlanSchemaV1 = "tare.plan/v1"

// Role is the role of an arm in the comparison.
type Role string

const (
	Baseline  Role = "baseline"
	Control   Role = "control" // the baseline's A/A copy, added by Tare
	Treatment Role = "treatment"
)

// ControlName is the name of the control. No other arm may have it.
const ControlName = "control"

// Plan is an expanded experiment, in the form that plan.json stores. The analysis of a run needs only the plan and the
// trials.
type Plan struct {
	Schema      string           `json:"schema"`
	Version     string           `json:"version,omitempty"` // the version of Tare that expanded the experiment
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Labels      Labels           `json:"labels,omitempty"` // labels from the command line or a CI system
	Testbed     string           `json:"testbed"`          // "local", "kubernetes" or TestbedImport
	Import      *Import          `json:"import,omitempty"` // the source of imported trials; nil: Tare ran the trials
	Seed        uint64           `json:"seed"`
	Rounds      int              `json:"rounds"`              // the fixed or largest number of rounds; with Precision, the number of rounds of the pilot
	Precision   quantity.Percent `json:"precision,omitempty"` // requested precision; 0: the number of rounds is fixed
	MaxRounds   int              `json:"maxRounds,omitempty"`
	Confidence  quantity.Percent `json:"confidence"`
	Equivalence quantity.Percent `json:"equivalence"`
	Margins     Budget           `json:"margins,omitempty"` // the margins of equivalence of single metrics
	Power       quantity.Percent `json:"power"`
	// Fixed is the total number of rounds that a pilot or an extension set during the run; 0: none did. It comes from
	// the run's notes, not from plan.json.
	Fixed int `json:"fixedRounds,omitempty"`
	// Ended is the number of rounds that count, if the machine's condition ended the run early; 0: it did not. The
	// number comes from the run's notes.
	Ended int `json:"endedRounds,omitempty"`
	// DecideAt lists the planned looks, as numbers of rounds. The run ends at a look if every headline comparison is
	// decided; otherwise it ends after Rounds.
	DecideAt []int `json:"decideAt,omitempty"`
	// Decided is the number of rounds after which all headline comparisons were decided, according to the notes; 0:
	// they were not.
	Decided int `json:"decidedRounds,omitempty"`
	// Looks lists, for each extension of the run, the number of rounds before it. A user had then seen the results. The
	// numbers come from the run's notes.
	Looks  []int  `json:"looks,omitempty"`
	SetUps SetUps `json:"setups,omitempty"` // as in the file; "auto" or absent: Tare chooses after it has timed the first set-ups
	Slices Slices `json:"slices,omitempty"` // the setting in the file; the cells hold the resulting numbers; absent: "none"
	// Factorial names the factors of a factorial design. Every combination of these factors is an arm.
	Factorial []string `json:"factorial,omitempty"`
	// ControlEvery is set if the control skips rounds. After the first rounds, it runs only in multiples of
	// ControlEvery; 0: in every round.
	ControlEvery int    `json:"controlEvery,omitempty"`
	Attempts     int    `json:"attempts"`
	Limits       Limits `json:"limits"`
	// Busy describes the load that made Tare lift its default limits before the first trial; "": no limit was
	// lifted.
	Busy   string       `json:"busy,omitempty"`
	Budget Budget       `json:"budget,omitempty"` // the budget of all arms that have no budget of their own
	Arms   []PlannedArm `json:"arms"`             // baseline first, control second
	Cells  []Cell       `json:"cells"`            // the cells, in the order of the file
	// Published holds numbers of documents about these arms and cells. Nothing that Tare decides depends on them.
	Published []PublishedSource `json:"published,omitempty"`
}

// TestbedImport is the testbed of trials that another tool ran.
const TestbedImport = "import"

// Import describes how a run's trials came from another tool's files. Tare did not draw the order of the trials, so all
// conclusions are observational.
type Import struct {
	Tool   string        `json:"tool"`             // the name of the format: "fio"
	PairBy string        `json:"pairBy,omitempty"` // the way of pairing trials; "": they are independent samples
	Arms   []ImportedArm `json:"arms"`             // the arms, in the order of the plan's arms
	// Blocks names the set-ups of the imported trials, such as deployments. Set-up n has the index n - 1. If the list
	// is empty, the trials have no set-up.
	Blocks []string `json:"blocks,omitempty"`
	// Settings lists the settings of the workload that differ between the files of a cell.
	Settings []ImportedSetting `json:"settings,omitempty"`
	// Allowed lists the names of settings that the user allowed to differ.
	Allowed []string `json:"allowed,omitempty"`
	Command string   `json:"command,omitempty"` // the shell command that repeats the import; "": unknown
	Map     string   `json:"map,omitempty"`     // the mapping file that describes the imported files; "": the format needs none
}

// ImportedSetting is a setting of the workload that differs between the files of a cell.
type ImportedSetting struct {
	Cell string              `json:"cell"` // the cell's ID
	Name string              `json:"name"` // the name of the setting in the tool
	Arms map[string][]string `json:"arms"` // the setting's values by arm; an arm without a file of this cell has no entry
}

// Planned returns the total number of rounds, as far as it is known. Before the pilot has ended, Planned
// returns the number of the pilot's rounds.
func (p *Plan) Planned() int { return max(p.Rounds, p.Fixed) }

// Total returns the number of rounds of the complete run. The run may end before the planned number: all headlines are
// decided, or the machine is too busy.
func (p *Plan) Total() int { return cmp.Or(p.Decided, p.Ended, p.Planned()) }

// Judged returns the confidence of verdicts. Each extension cuts the error probability to a quarter: 95 % becomes 98.75
// %. By Bonferroni, at most 6.67 % of runs then claim falsely (docs/method.md).
func (p *Plan) Judged() quantity.Percent {
	alpha := 1 - float64(p.Confidence)
	return quantity.Percent(1 - math.Ldexp(alpha, -2*len(p.Looks)))
}

// Names returns a plan that has only the names, labels and levels of the arms and cells, and the metrics.
func (p *Plan) Names() *Plan {
	out := &Plan{Import: p.Import}
	for _, a := range p.Arms {
		out.Arms = append(out.Arms, PlannedArm{Name: a.Name, Label: a.Label, Levels: a.Levels})
	}
	for _, c := range p.Cells {
		out.Cells = append(out.Cells, Cell{ID: c.ID, Label: c.Label, Workload: c.Workload, Kind: c.Kind, Levels: c.Levels, Metrics: c.Metrics})
	}
	return out
}

// Paired reports whether trials of the same round are pairs.
func (p *Plan) Paired() bool { return p.Import == nil || p.Import.PairBy != "" }

// ArmWith returns the name of the arm with a role; "" if there is none.
func (p *Plan) ArmWith(r Role) string {
	if a := first(p.Arms, func(a *PlannedArm) bool { return a.Role == r }); a != nil {
		return a.Name
	}
	return ""
}

// Arm returns the arm with a name, or nil.
func (p *Plan) Arm(name string) *PlannedArm {
	return first(p.Arms, func(a *PlannedArm) bool { return a.Name == name })
}

// Cell returns the cell with an ID, or nil.
func (p *Plan) Cell(id string) *Cell { return first(p.Cells, func(c *Cell) bool { return c.ID == id }) }

// Metric returns the metric with a name, or nil.
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

// ImportedArm lists the files of one arm's trials.
type ImportedArm struct {
	Name  string   `json:"name"`
	From  []string `json:"from"`  // directories, patterns and files as the user wrote them
	Files int      `json:"files"` // the number of files read, valid or not
	// Facts describe the systems on which the files were made, by usual name ("kernel", "fio version"). Values are
	// distinct, in the order of appearance.
	Facts map[string][]string `json:"facts,omitempty"`
}

// PlannedArm is one arm at one level of its own factors.
type PlannedArm struct {
	Name   string         `json:"name"`            // unique: "seccomp", or "seccomp[rules=8]" if swept
	Label  string         `json:"label,omitempty"` // the name that people see in place of Name, without levels; "": the experiment file sets none
	Role   Role           `json:"role"`
	Levels []factor.Level `json:"levels,omitempty"`
	Layers []PlannedLayer `json:"layers"`
	// Factors lists the factors of the factorial design that are on in this arm. Empty: the design's baseline, or an
	// arm outside the design.
	Factors []string `json:"factors,omitempty"`
	Budget  Budget   `json:"budget,omitempty"` // the arm's own budget, the same at every level of its factors
	// Allow lists the aspects in which the arm's programs may differ from the baseline's.
	Allow        []Aspect `json:"allow,omitempty"`
	OtherProgram bool     `json:"otherProgram,omitempty"` // set if a layer replaces the program that the baseline runs
}

// PlannedLayer is a layer with its parameters at their levels, as JSON.
type PlannedLayer struct {
	Kind   string `json:"kind"`
	Config any    `json:"config"`
}

// Cell is one workload at one level of each factor. Arms are compared within a cell. In each round, every arm that
// takes part has one trial in every cell.
type Cell struct {
	ID       string         `json:"id"` // unique and safe as a file name: "network.tcp.pod-to-pod"
	Workload string         `json:"workload"`
	Label    string         `json:"label,omitempty"` // the name that people see in place of the workload's name; "": the experiment file sets none
	Kind     string         `json:"kind"`
	Levels   []factor.Level `json:"levels,omitempty"`
	Config   any            `json:"config"`  // the workload's parameters at their levels
	Testbed  any            `json:"testbed"` // the testbed's parameters at their levels
	Metrics  []Metric       `json:"metrics"`
	Tests    string         `json:"tests,omitempty"`    // the resource that the workload measures (Declaration.Tests); "": unspecified
	Loop     *Loop          `json:"loop,omitempty"`     // two metrics that Little's law ties together in a closed loop
	PowerLaw *PowerLaw      `json:"powerLaw,omitempty"` // power law that the workload expects a metric to follow
	Remark   string         `json:"remark,omitempty"`   // weakness of the set-up that a reader must know
	Slices   int            `json:"slices,omitempty"`   // the number of slices of a trial; 0: trials are whole
	Expected time.Duration  `json:"expected"`           // the duration of one trial, in ns
}

// Loop names two metrics that tell one thing if the load is a closed loop, where each worker waits for its response.
// Mean latency × throughput is the number of workers (Little's law).
type Loop struct {
	Latency    string  `json:"latency"`           // the mean latency, in s
	Throughput string  `json:"throughput"`        // responses per second
	Workers    float64 `json:"workers,omitempty"` // the number of requests in flight; 0: unknown
}

// PowerLaw states that a metric is a product of powers of the workload's factors. For example, the number of DNS
// queries is proxies × hosts ÷ TTL.
type PowerLaw struct {
	Metric    string             `json:"metric"`    // the name of the metric
	Exponents map[string]float64 `json:"exponents"` // exponents by factor: 1, -1, or 0 for a factor without influence
}

// Expansion is a plan with the layers and workloads that carry it out. Layers has the indices of Plan.Arms, and Cells
// those of Plan.Cells.
type Expansion struct {
	Plan   Plan
	Layers [][]LayerItem
	Cells  []CellSetup
}

// Needs returns an arm's needs of the testbed in a cell. They include the needs of all arms' layers, so that only the
// layers differ. The Pod Security level is an exception: it is the arm's own.
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

// CellSetup is the workload of a cell, with every factor at one level.
type CellSetup struct {
	Workload WorkloadConfig
	Testbed  Testbed
}

// HeadlineFamily returns the number of hypotheses under Holm's correction: treatments × headline metrics.
func (p *Plan) HeadlineFamily() int {
	treatments := 0
	for _, a := range p.Arms {
		if a.Role == Treatment {
			treatments++
		}
	}
	return p.headlines() * treatments
}

func (p *Plan) headlines() (n int) {
	for _, c := range p.Cells {
		for _, m := range c.Metrics {
			if m.Headline {
				n++
			}
		}
	}
	return n
}

// These are approximate times around a trial or a slice, for proofs, sampling and the journal. Estimates of a run's
// duration use them.
const (
	aroundTrial = 100 * time.Millisecond
	aroundSlice = 10 * time.Millisecond
)

// These are assumed times for setting up an arm and taking it down. A plan cannot know them: layers and services differ.
const (
	setUpLocal   = 200 * time.Millisecond
	setUpCluster = 10 * time.Second
)

// InTurn reports whether arms are up in turn: each arm only during its own trials, and never two at a time.
func (p *Plan) InTurn() bool { return p.SetUps == SetUpsEveryTrial }

// SetUpPerTrial returns the assumed time for setting up an arm and taking it down, if every trial does so; else 0.
func (p *Plan) SetUpPerTrial() time.Duration {
	switch {
	case !p.InTurn():
		return 0
	case p.Testbed == TestbedKubernetes:
		return setUpCluster
	}
	return setUpLocal
}

// Duration estimates the duration of a number of rounds, without repeats of trials. It includes setting up only if
// every trial sets its arm up.
func (p *Plan) Duration(rounds int) time.Duration {
	var round time.Duration
	for _, c := range p.Cells {
		round += c.Expected + aroundTrial + time.Duration(c.Slices)*aroundSlice + p.SetUpPerTrial()
	}
	return time.Duration(p.Trials(rounds)) * round
}

// asides are parameters outside an experiment's question, such as expected durations. The value is true for a limit on
// a duration.
var asides = map[string]bool{
	"expect": false, "timeout": true, "readyTimeout": true,
	"testbed.timeouts": true, "testbed.context": false, "testbed.namespace": false, "testbed.image": false, "testbed.imagePullSecrets": false,
}

// OutsideQuestion reports whether runs of one experiment may differ in a parameter. A testbed's path begins with
// "testbed.". limit is true for a limit on a duration, which decides which trials fail.
func OutsideQuestion(path string) (aside, limit bool) {
	rest, testbed := strings.CutPrefix(path, "testbed.")
	name, _, _ := strings.Cut(rest, ".")
	if testbed {
		name = "testbed." + name
	}
	limit, aside = asides[name]
	return aside, limit
}
