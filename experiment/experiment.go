// Package experiment is the file that a user writes: its types, its strict
// loading with every problem reported at its line and column, and its expansion
// into a plan. docs/experiment.md explains the file to its users.
//
// The way is Load (text to Experiment), then Expand (Experiment to Expansion:
// the Plan as data, with the layers and workloads that carry it out). Both walk the
// same types, by the struct tags that package strictyaml lists; a test writes from them
// the JSON Schema of the file (docs/experiment.schema.json).
//
// # How to write the config of a layer or workload
//
// A config is a struct whose fields carry yaml and doc tags; a pointer to it
// implements LayerConfig or WorkloadConfig. Its defaults are what New gives.
//
//	type Config struct {
//		Mode  Mode                 `yaml:"mode" doc:"how it is done"`
//		Size  factor.Levels[quantity.Size] `yaml:"size" doc:"bytes per request"`
//		Paths factor.Levels[Path]  `yaml:"paths" factor:"path" doc:"ways to the server"`
//		Run   []string             `yaml:"run" required:"true" doc:"program and arguments"`
//		Tries int                  `yaml:"tries" min:"1" doc:"times it is tried"`
//	}
//
// Text types with a method Values() []string are enumerations; sweepable
// parameters are factor.Levels; units are the types of package quantity. What
// tags cannot say is checked by Declaration.Validate, which sees the config before
// expansion, so that a factor may have several levels.
package experiment

import (
	"tare/experiment/factor"
	"tare/experiment/quantity"
)

// APIVersion and Kind are what an experiment file must declare.
const (
	APIVersion = "tare/v1alpha1"
	Kind       = "Experiment"
)

// Experiment is one experiment file with its defaults filled in.
type Experiment struct {
	APIVersion  string            `yaml:"apiVersion" required:"true" enum:"tare/v1alpha1" doc:"version of this format: tare/v1alpha1"`
	Kind        string            `yaml:"kind" required:"true" enum:"Experiment" doc:"kind of document: Experiment"`
	Name        string            `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the experiment"`
	Description string            `yaml:"description" doc:"what is asked, in a sentence for the report"`
	Testbed     Testbed           `yaml:"testbed" doc:"where trials run"`
	Arms        []Arm             `yaml:"arms" required:"true" doc:"what is compared; the first is the baseline"`
	Workloads   []WorkloadItem    `yaml:"workloads" required:"true" doc:"what is run and measured in every arm"`
	Design      Design            `yaml:"design" doc:"how many rounds, and what counts as a difference"`
	Limits      Limits            `yaml:"limits" doc:"when a trial or the run is invalid"`
	Budget      Budget            `yaml:"budget" doc:"highest overhead allowed, by metric or METRIC@CELL; tare gate judges by it"`
	Allow       OneOrMore[string] `yaml:"allow" doc:"what looks like a secret and is none, by the name that tare validate calls it by; or in what all arms may differ from the baseline: stderr, exit, output, answers, files"`
	// Files are those that the configs name and Load has read, by their names as
	// written: they belong to the experiment as its text does.
	Files map[string][]byte

	given map[string]bool // of limits and design: what the file sets
	busy  string          // GoOnBusy
}

// Testbed says where trials run. Exactly one member is set.
type Testbed struct {
	Local      *Local      `yaml:"local" doc:"this machine: nodes and pods as network namespaces"`
	Kubernetes *Kubernetes `yaml:"kubernetes" doc:"a cluster that a kubeconfig reaches: pods on nodes"`
}

// The names of the testbeds.
const (
	TestbedLocal      = "local"
	TestbedKubernetes = "kubernetes"
)

// Name is the name of the testbed that is set.
func (t Testbed) Name() string {
	if t.Kubernetes != nil {
		return TestbedKubernetes
	}
	return TestbedLocal
}

// Level is the parameters of the testbed that is set: *Kubernetes or *Local.
func (t Testbed) Level() any {
	if t.Kubernetes != nil {
		return t.Kubernetes
	}
	if t.Local == nil {
		return defaultLocal()
	}
	return t.Local
}

// LimitsCPU says whether programs run under limits on CPU time, as those of pods do.
// Throttling is then the limit's doing, which does not pass, and not that of heat.
func (t Testbed) LimitsCPU() bool { return t.Kubernetes != nil }

// Local is the testbed on this machine.
type Local struct {
	Link  Link               `yaml:"link" doc:"the wire between the nodes"`
	Nodes factor.Levels[int] `yaml:"nodes" min:"1" max:"64" doc:"nodes that the members of a service are spread over; one for each member if absent"`
	// Volume is left out of plans where the file says nothing of it.
	Volume *LocalVolume `yaml:"volume" json:"volume,omitempty" doc:"the volume in the client's pod, which is a loop device on a file where temporary files are (TMPDIR)"`
}

// LocalVolume is the volume that a site of the local testbed has.
type LocalVolume struct {
	Size       quantity.Size `yaml:"size" json:"size,omitempty" doc:"size of the volume; as large as the workloads ask for if absent or less"`
	FileSystem string        `yaml:"filesystem" json:"filesystem,omitempty" enum:"ext4,xfs" doc:"file system; ext4 if absent"`
	MakeFS     []string      `yaml:"mkfs" json:"mkfs,omitempty" doc:"options of mkfs, in place of Tare's"`
	Mount      []string      `yaml:"mount" json:"mount,omitempty" doc:"mount options, such as noatime"`
}

// Link is the wire between the nodes of the local testbed.
type Link struct {
	Rate factor.Levels[quantity.Rate] `yaml:"rate" doc:"the rate that each direction is shaped to; if absent, unlimited for workloads that measure a server (http, xds, dns, vault), and 1Gbit for others"`
	MTU  factor.Levels[int]           `yaml:"mtu" min:"576" max:"65535" doc:"largest IP packet on the wire, in bytes"`
}

// Arm is a named set of layers. The first arm of an experiment is the baseline.
type Arm struct {
	Name   string            `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the arm"`
	Layers []LayerItem       `yaml:"layers" doc:"the layers around the workload, from the inside out"`
	Budget Budget            `yaml:"budget" doc:"highest overhead allowed in this arm, by metric or METRIC@CELL, in place of the general one"`
	Allow  OneOrMore[Aspect] `yaml:"allow" doc:"in what the programs of this arm may differ from the baseline's without being taken for broken"`
	// Factors are those of design.factorial that are on, in an arm that Load made of them.
	Factors []string
}

// LayerItem is one layer of an arm: in the file a map with one key, the layer's
// kind, and its parameters as the value.
type LayerItem struct {
	Kind   string
	Config LayerConfig
}

// WorkloadItem is one workload: in the file a map with the workload's kind as a
// key, its parameters as the value, and optionally a name beside it.
type WorkloadItem struct {
	Name   string `yaml:"name" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the workload, where two are of the same kind"` // defaults to the kind
	Kind   string
	Config WorkloadConfig
}

// Design says how the experiment is carried out and judged (docs/method.md).
type Design struct {
	Rounds      Rounds           `yaml:"rounds" doc:"number of rounds, each of which runs every arm once, but for the control of a single arm; under 6 there is no exact 95% interval"`
	Stop        Stop             `yaml:"stop" doc:"what ends the run: its rounds, or that every headline comparison is decided at a look"`
	Looks       []int            `yaml:"looks" doc:"numbers of rounds after which the run ends if all is decided, ascending, with stop: decided"`
	Precision   quantity.Percent `yaml:"precision" above:"0%" below:"100%" doc:"half-width of the interval to reach, instead of rounds (Stein's two-stage rule)"`
	Pilot       int              `yaml:"pilot" min:"2" max:"100000" doc:"rounds of the first stage, with precision"`
	MaxRounds   int              `yaml:"maxRounds" min:"2" max:"100000" doc:"most rounds that precision may ask for"`
	Confidence  quantity.Percent `yaml:"confidence" min:"50%" below:"100%" doc:"confidence of the intervals"`
	Equivalence quantity.Percent `yaml:"equivalence" above:"0%" below:"100%" doc:"margin within which two arms count as equal"`
	Margins     Budget           `yaml:"margins" doc:"margins of single metrics, by metric or METRIC@CELL: a share, or an amount for what may be zero"`
	Power       quantity.Percent `yaml:"power" min:"50%" below:"100%" doc:"power of the minimum detectable effect"`
	Seed        *uint64          `yaml:"seed" doc:"seed of the random order; drawn and recorded if absent"`
	SetUps      SetUps           `yaml:"setups" doc:"how often all arms are taken down and set up anew"`
	Slices      Slices           `yaml:"slices" doc:"into how many slices a trial is cut, between which the arms alternate"`
	Factorial   []Factor         `yaml:"factorial" doc:"2 to 4 layers of which every combination is an arm; the baseline has none of them"`
	Attempts    int              `yaml:"attempts" min:"1" max:"100" doc:"times a trial is tried before its round goes without it"`
}

// Limits are the rules by which a trial, or the run, is invalid. A nil limit is
// not applied.
type Limits struct {
	Errors        *quantity.Percent `yaml:"errors" json:"errors" none:"true" max:"100%" doc:"share of failed operations in a trial"`
	ForeignCPU    *quantity.Percent `yaml:"foreignCPU" json:"foreignCPU" none:"true" max:"100%" doc:"CPU time of other programs, as a share of the machine's"`
	Steal         *quantity.Percent `yaml:"steal" json:"steal" none:"true" max:"100%" doc:"CPU time taken by the hypervisor, as a share of the machine's"`
	CPUPressure   *quantity.Percent `yaml:"cpuPressure" json:"cpuPressure" none:"true" max:"100%" doc:"share of the time in which some task waited for a CPU, the workload's own included"`
	Throttling    *int              `yaml:"throttling" json:"throttling" none:"true" min:"0" doc:"thermal or cgroup CPU throttling events during a trial"`
	Late          *quantity.Percent `yaml:"late" json:"late" none:"true" above:"0%" max:"10000%" doc:"lateness of a load generator, as a share of what its workload allows by its own late"`
	InvalidTrials *quantity.Percent `yaml:"invalidTrials" json:"invalidTrials" none:"true" max:"100%" doc:"share of planned trials that are lost to the condition of the machine or a failed proof after all attempts"`
}

// Kinds is one row of the catalog: how to make the config of a layer or
// workload from its name.
type Kinds struct {
	Layers    map[string]func() LayerConfig // each returns a pointer with the defaults set
	Workloads map[string]func() WorkloadConfig
	// Read reads a file that a config names; nil: relative to the experiment file.
	Read func(name string) ([]byte, error)
	// Elsewhere says where what is none of the layers (or workloads, as what says) is found: "tare
	// list examples …"; "" if that is not known. nil: it is never.
	Elsewhere func(what, name string) string
	// Recorded says that the file is that of a run. What stands in it is on record already,
	// and is not searched for secrets.
	Recorded bool
}

// Better says which direction of a metric is good.
type Better string

// The two directions.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Values lists the directions.
func (Better) Values() []string { return []string{string(Higher), string(Lower)} }

// Scale says how arms are compared on a metric.
type Scale string

const (
	// Ratio compares logarithms: values must be positive, overhead is a share
	// of the baseline. Zero, negative or missing values invalidate the trial.
	Ratio Scale = "ratio"
	// Difference compares values as they are, in the metric's unit, for metrics
	// whose zero is a real value (retransmits, loss). Never headline.
	Difference Scale = "difference"
)

// Values lists the scales.
func (Scale) Values() []string { return []string{string(Ratio), string(Difference)} }

// Metric is one quantity that a trial yields.
type Metric struct {
	Name     string `json:"name"`     // "tcp-bandwidth"
	Unit     string `json:"unit"`     // "bit/s", "s", "B", "s/Gbit"; "" for a count
	Better   Better `json:"better"`   // direction
	Headline bool   `json:"headline"` // judged under Holm's correction; the rest is exploratory
	Scale    Scale  `json:"scale"`
	Optional bool   `json:"optional,omitempty"` // may be missing in a trial without invalidating it
	Discrete bool   `json:"discrete,omitempty"` // may well be the same in every trial, as memory in pages
	// FromStart: it begins when what stands in front of the program is started, and holds that start.
	FromStart bool `json:"fromStart,omitempty"`
	// Cap is the most that the hardware can give, as the file says; 0: not known. A value above it
	// is no property of the hardware.
	Cap float64 `json:"cap,omitempty"`
	// Objective is what a capacity holds at: "p99 ≤ 20 ms, errors ≤ 0.1 %"; "" where the metric is none.
	Objective string `json:"objective,omitempty"`
}
