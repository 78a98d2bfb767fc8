package experiment

import (
	"cmp"
	"math"
	"strings"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// PlanSchema names the format of plan.json. Since v2, the format fixes the order of the trials (Order) and the chain of
// digests in the run's record (package journal). A change of the order or of the chain needs a new version.
const PlanSchema = "tare.plan/v2"

// PlanSchemaV1 is the previous format. A plan in this format does not determine which order of trials was
// used, or whether the record has chains.
const PlanSchemaV1 = "tare.plan/v1"

// Role is an arm's part in the comparison.
type Role string

const (
	Baseline  Role = "baseline"
	Control   Role = "control" // the baseline's A/A copy, added by Tare
	Treatment Role = "treatment"
)

// ControlName is the reserved name of the A/A arm.
const ControlName = "control"

// Plan is an expanded experiment as data: plan.json. The analysis of a run needs only the plan and the trials.
type Plan struct {
	Schema      string           `json:"schema"`
	Version     string           `json:"version,omitempty"` // the version of Tare that expanded the experiment
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Labels      Labels           `json:"labels,omitempty"` // from the command line or a CI system
	Testbed     string           `json:"testbed"`          // "local", "kubernetes" or TestbedImport
	Import      *Import          `json:"import,omitempty"` // the source of imported trials; nil: Tare ran the trials
	Seed        uint64           `json:"seed"`
	Rounds      int              `json:"rounds"`              // the fixed number of rounds; with Precision, the number of the pilot's rounds
	Precision   quantity.Percent `json:"precision,omitempty"` // requested precision; 0: the number of rounds is fixed
	MaxRounds   int              `json:"maxRounds,omitempty"`
	Confidence  quantity.Percent `json:"confidence"`
	Equivalence quantity.Percent `json:"equivalence"`
	Margins     Budget           `json:"margins,omitempty"` // the margins of equivalence of single metrics
	Power       quantity.Percent `json:"power"`
	// Fixed is the total number of rounds if a pilot or an extension set this number during the run; 0: not
	// set (yet). The number comes from the notes of a run and is not in plan.json.
	Fixed int `json:"fixedRounds,omitempty"`
	// Ended is the number of rounds that count if the machine's condition ended the run early, after enough rounds; 0:
	// the run did not end early for this reason. The number comes from the notes.
	Ended int `json:"endedRounds,omitempty"`
	// DecideAt lists the numbers of rounds after which the run ends if every headline comparison is decided.
	// The last number is Rounds. If the list is empty, the run ends after Rounds.
	DecideAt []int `json:"decideAt,omitempty"`
	// Decided is the number of rounds after which all headline comparisons were decided, from the notes; 0: they were not.
	Decided int `json:"decidedRounds,omitempty"`
	// Looks lists the numbers of rounds, from the notes, after which the finished run was looked at and then extended.
	Looks  []int  `json:"looks,omitempty"`
	SetUps SetUps `json:"setups,omitempty"` // "auto" or absent: chosen after the first set-ups were timed
	Slices Slices `json:"slices,omitempty"` // the setting in the file; the cells hold the resulting numbers; absent: "none"
	// Factorial names the factors of a factorial design, in which every combination of them is an arm.
	Factorial []string `json:"factorial,omitempty"`
	// ControlEvery is set if the control skips rounds. After the first rounds, the control then takes part
	// only in rounds whose number is a multiple of ControlEvery; 0: in all rounds.
	ControlEvery int    `json:"controlEvery,omitempty"`
	Attempts     int    `json:"attempts"`
	Limits       Limits `json:"limits"`
	// Busy describes the load because of which Tare lifted its default limits before the first trial; "": none was lifted.
	Busy   string       `json:"busy,omitempty"`
	Budget Budget       `json:"budget,omitempty"` // the budget of all arms that have no budget of their own
	Arms   []PlannedArm `json:"arms"`             // baseline first, control second
	Cells  []Cell       `json:"cells"`            // in the order of the file
}

// TestbedImport is the testbed of trials that another tool ran.
const TestbedImport = "import"

// Import describes how the trials of a run came from the files of another tool. Tare did not draw the order of
// these trials, so that all conclusions are observational.
type Import struct {
	Tool   string        `json:"tool"`             // the name of the format: "fio"
	PairBy string        `json:"pairBy,omitempty"` // the way of pairing trials; "": they are independent samples
	Arms   []ImportedArm `json:"arms"`             // in the order of the plan's arms
	// Blocks names the set-ups of the import, such as deployments. The name of set-up n is at index n - 1. If
	// the list is empty, trials belong to no set-up.
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
	Arms map[string][]string `json:"arms"` // the distinct values by arm; an arm without a file of the cell has none
}

// Planned returns the total number of rounds, as far as it is known. Before the pilot has ended, Planned
// returns the number of the pilot's rounds.
func (p *Plan) Planned() int { return max(p.Rounds, p.Fixed) }

// Total returns the number of rounds of the whole run: the planned number, or fewer if all headline
// comparisons were decided before, or if the machine's condition ended the run.
func (p *Plan) Total() int { return cmp.Or(p.Decided, p.Ended, p.Planned()) }

// Judged returns the confidence of intervals and verdicts. Each look at a finished run that was then extended leaves
// a quarter of the error probability: a run of 95 % is judged at 98.75 % after its first extension. The share of runs
// with a false claim, at the first look or after the extension, was 5.9 % or less in every kind of noise that was
// simulated (docs/method.md). By Bonferroni this share is at most 6.25 %, and 6.67 % after any number of extensions.
func (p *Plan) Judged() quantity.Percent {
	alpha := 1 - float64(p.Confidence)
	return quantity.Percent(1 - math.Ldexp(alpha, -2*len(p.Looks)))
}

// Names returns the part of a plan that names its arms, cells and metrics.
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
	// Facts describe the systems that the files were made on, by the facts' usual names ("kernel", "fio
	// version"). Each fact has its distinct values, in the order in which the values appeared.
	Facts map[string][]string `json:"facts,omitempty"`
}

// PlannedArm is one arm at one level of its own factors.
type PlannedArm struct {
	Name   string         `json:"name"`            // unique: "seccomp", or "seccomp[rules=8]" if swept
	Label  string         `json:"label,omitempty"` // what people see in place of the name without its levels, if the experiment file sets it
	Role   Role           `json:"role"`
	Levels []factor.Level `json:"levels,omitempty"`
	Layers []PlannedLayer `json:"layers"`
	// Factors lists the factors of the plan's factorial design that are on. An arm without such factors is the design's
	// baseline, or not part of the design.
	Factors []string `json:"factors,omitempty"`
	Budget  Budget   `json:"budget,omitempty"` // the arm's own budget, the same at every level of its factors
	// Allow lists the aspects in which the arm's programs may differ from the baseline's.
	Allow        []Aspect `json:"allow,omitempty"`
	OtherProgram bool     `json:"otherProgram,omitempty"` // set if a layer replaces the baseline's program
}

// PlannedLayer is a layer with its parameters at their levels, as JSON.
type PlannedLayer struct {
	Kind   string `json:"kind"`
	Config any    `json:"config"`
}

// Cell is one workload at one level of the workload's and the testbed's factors. Arms are compared within a
// cell. Each round runs every arm once in every cell.
type Cell struct {
	ID       string         `json:"id"` // unique and safe as a file name: "network.tcp.pod-to-pod"
	Workload string         `json:"workload"`
	Label    string         `json:"label,omitempty"` // what people see in place of the workload's name, if the experiment file sets it
	Kind     string         `json:"kind"`
	Levels   []factor.Level `json:"levels,omitempty"`
	Config   any            `json:"config"`  // the workload's parameters at their levels
	Testbed  any            `json:"testbed"` // the testbed's parameters at their levels
	Metrics  []Metric       `json:"metrics"`
	Tests    string         `json:"tests,omitempty"`    // the resource that the workload measures (Declaration.Tests); "": unspecified
	Loop     *Loop          `json:"loop,omitempty"`     // metrics that Little's law may tie together
	PowerLaw *PowerLaw      `json:"powerLaw,omitempty"` // the law that the workload expects of a metric
	Slices   int            `json:"slices,omitempty"`   // the number of slices of a trial; 0: trials are whole
	Expected time.Duration  `json:"expected"`           // the duration of one trial, in ns
}

// Loop names two metrics of a cell that measure one thing if the load is a closed loop. In a closed loop,
// each of a fixed number of workers sends its next request as soon as the response to its last request
// arrives. Mean latency × throughput is then the number of workers, whatever the system does (Little's law).
type Loop struct {
	Latency    string  `json:"latency"`           // the mean latency, in s
	Throughput string  `json:"throughput"`        // responses, in 1/s
	Workers    float64 `json:"workers,omitempty"` // the number of requests in flight; 0: unknown
}

// PowerLaw states that a metric of a cell is expected to be a product of powers of the workload's factors on
// any system: the number of DNS queries is proxies × hosts ÷ TTL.
type PowerLaw struct {
	Metric    string             `json:"metric"`    // the name of the metric
	Exponents map[string]float64 `json:"exponents"` // by factor: 1, -1, or 0 for a factor without influence
}

// Expansion is a plan with the layers and workloads that carry it out. Layers has the same indices as
// Plan.Arms, and Cells has the same indices as Plan.Cells.
type Expansion struct {
	Plan   Plan
	Layers [][]LayerItem // the layers of each arm
	Cells  []CellSetup   // the workload of each cell
}

// Needs returns the features of the testbed that an arm needs in a cell. The layers of all arms count, so
// that arms differ by their layers and not by the testbed. Only the Pod Security level may differ between
// arms, since it has no effect on trials.
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

// The approximate times that Tare itself needs for proofs, sampling and the journal, for estimates of the duration.
const (
	aroundTrial = 100 * time.Millisecond
	aroundSlice = 10 * time.Millisecond
)

// Duration estimates the duration of a number of rounds in which no trial is repeated.
func (p *Plan) Duration(rounds int) time.Duration {
	var round time.Duration
	for _, c := range p.Cells {
		round += c.Expected + aroundTrial + time.Duration(c.Slices)*aroundSlice
	}
	return time.Duration(p.Trials(rounds)) * round
}

// asides are the parameters of workloads and testbeds that do not belong to an experiment's question. The value
// is true for a limit on a duration. Tare itself estimates some of these parameters, differently in every run.
var asides = map[string]bool{
	"expect": false, "timeout": true, "readyTimeout": true,
	"testbed.timeouts": true, "testbed.context": false, "testbed.namespace": false, "testbed.image": false, "testbed.imagePullSecrets": false,
}

// OutsideQuestion reports whether a parameter does not belong to an experiment's question. Runs that differ in
// such a parameter are runs of one experiment. The path is the path of a workload's parameter, or "testbed." and
// the path of a testbed's parameter. Examples are expected and longest durations, and the name of the cluster that
// the experiment runs on. The result limit is set for a limit on a duration, since such a limit decides which
// trials fail. Rounds, slices, seeds and rules belong to the design, and are no parameters.
func OutsideQuestion(path string) (aside, limit bool) {
	rest, testbed := strings.CutPrefix(path, "testbed.")
	name, _, _ := strings.Cut(rest, ".")
	if testbed {
		name = "testbed." + name
	}
	limit, aside = asides[name]
	return aside, limit
}
