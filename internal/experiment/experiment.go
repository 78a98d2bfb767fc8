// Package experiment reads the file that a user writes, and expands it into a plan. docs/experiment.md documents the
// file for its users.
//
// Load converts text to an Experiment, and reports every problem at its line and column. Expand converts the Experiment
// to an Expansion: the Plan as data, with the layers and workloads that carry it out. Struct tags (package strictyaml)
// guide Load and Expand. A test writes the JSON Schema of the file (docs/experiment.schema.json) from the tagged types.
//
// # How to write the config of a layer or workload
//
// A config is a struct whose fields carry yaml and doc tags. A pointer to it implements LayerConfig or WorkloadConfig.
// The values that New sets are its defaults. docs/extending.md shows a complete layer.
//
// Text types with a method Values() []string are enumerations. Sweepable parameters are factor.Levels. Quantities with
// units are the types of package quantity. Declaration.Validate checks the conditions that tags cannot express.
// Validate sees the config before expansion, when a factor may have several levels.
package experiment

import (
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// apiVersion and Kind are the values that an experiment file must have in the fields of these names.
const (
	apiVersion = "tare/v1alpha1"
	Kind       = "Experiment"
)

// Experiment is one experiment file with its defaults filled in.
type Experiment struct {
	APIVersion  string                `yaml:"apiVersion" required:"true" enum:"tare/v1alpha1" doc:"version of this format: tare/v1alpha1"`
	Kind        string                `yaml:"kind" required:"true" enum:"Experiment" doc:"kind of document: Experiment"`
	Name        string                `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the experiment"`
	Description string                `yaml:"description" doc:"question that the experiment answers, as a sentence for the report"`
	Parameters  map[string]string     `yaml:"parameters" doc:"values that variables of the environment of these names replace; the file refers to a value by its anchor"`
	Testbed     Testbed               `yaml:"testbed" doc:"where trials run"`
	Arms        []Arm                 `yaml:"arms" required:"true" doc:"arms that are compared; the first is the baseline"`
	Workloads   []WorkloadItem        `yaml:"workloads" required:"true" doc:"workloads that run in every arm and are measured"`
	Design      design                `yaml:"design" doc:"number of rounds, and rules of the verdicts"`
	Limits      Limits                `yaml:"limits" doc:"limits beyond which a trial or the run is invalid"`
	Budget      Budget                `yaml:"budget" doc:"highest overhead allowed, by metric or METRIC@CELL; tare gate enforces it"`
	Allow       factor.Levels[string] `yaml:"allow" doc:"texts that are no secrets, by the name in the error of tare validate; or aspects in which all arms may differ from the baseline: stderr, exit, output, answers, files"`
	Published   []PublishedSource     `yaml:"published" doc:"numbers that documents print about these arms and metrics; reports show them beside the measured ones"`
	// Files holds the content of the files that parameters name, by their names in the experiment file. It is a part of
	// the experiment.
	Files map[string][]byte

	given map[string]bool // the fields of limits and design that the file sets
	busy  string          // what GoOnBusy got about the load; "": it was not called
}

// Testbed selects the testbed. Exactly one of its fields is not nil.
type Testbed struct {
	Local      *Local      `yaml:"local" doc:"this machine: nodes and pods as network namespaces"`
	Kubernetes *Kubernetes `yaml:"kubernetes" doc:"a cluster that a kubeconfig reaches: pods on nodes"`
}

const (
	TestbedLocal      = "local"
	TestbedKubernetes = "kubernetes"
)

// Name returns the name of the selected testbed.
func (t Testbed) Name() string {
	if t.Kubernetes != nil {
		return TestbedKubernetes
	}
	return TestbedLocal
}

// Level returns the parameters of the selected testbed: *Kubernetes or *Local.
func (t Testbed) Level() any {
	if t.Kubernetes != nil {
		return t.Kubernetes
	}
	if t.Local == nil {
		return defaultLocal()
	}
	return t.Local
}

// LimitsCPU reports whether the testbed limits the CPU time of programs, as pods are limited. Throttling then comes
// from this limit, not from heat.
func (t Testbed) LimitsCPU() bool { return t.Kubernetes != nil }

// Local is the testbed on this machine.
type Local struct {
	Link  Link               `yaml:"link" doc:"the wire between the nodes"`
	Nodes factor.Levels[int] `yaml:"nodes" min:"1" max:"64" doc:"number of nodes for the members of a service; one for each member if absent"`
	// Volume is absent from a plan if the experiment file does not set it.
	Volume *LocalVolume `yaml:"volume" json:"volume,omitempty" doc:"the volume in the client's pod: a loop device on a file in the directory of temporary files (TMPDIR)"`
}

// LocalVolume is the volume of a site on the local testbed.
type LocalVolume struct {
	Size       quantity.Size `yaml:"size" json:"size,omitempty" doc:"size of the volume; if it is absent or smaller than the workloads need, their size"`
	FileSystem string        `yaml:"filesystem" json:"filesystem,omitempty" enum:"ext4,xfs" doc:"file system; ext4 if absent"`
	MakeFS     []string      `yaml:"mkfs" json:"mkfs,omitempty" doc:"options of mkfs, instead of Tare's"`
	Mount      []string      `yaml:"mount" json:"mount,omitempty" doc:"mount options, such as noatime"`
}

// Link is the wire between the nodes of the local testbed.
type Link struct {
	Rate factor.Levels[quantity.Rate] `yaml:"rate" doc:"the rate that each direction is shaped to; if absent, unlimited for workloads that measure a server (http, xds, dns, vault), and 1Gbit for others"`
	MTU  factor.Levels[int]           `yaml:"mtu" min:"576" max:"65535" doc:"largest IP packet on the wire, in bytes"`
}

// Arm is a named set of layers. The first arm of an experiment is the baseline.
type Arm struct {
	Name    string                `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the arm"`
	Label   string                `yaml:"label" pattern:"^[^\\x00-\\x1f\\x7f]{1,60}$" form:"up to 60 characters on one line" doc:"name of the arm that people see in reports; the arm's name if absent"`
	Layers  []LayerItem           `yaml:"layers" doc:"the layers around the workload, from the inside out"`
	Joint   factor.Levels[string] `yaml:"joint" doc:"factors that several layers of the arm have, such as rules: the layers take their first levels together, then their second, instead of every combination"`
	Budget  Budget                `yaml:"budget" doc:"highest overhead allowed in this arm, by metric or METRIC@CELL, instead of the general one"`
	Allow   factor.Levels[Aspect] `yaml:"allow" enum:"stderr,exit,output,answers,files" doc:"aspects in which the programs of this arm may differ from the baseline's without counting as broken"`
	Factors []string              // factors of design.factorial that are on in this arm
}

// LayerItem is one layer of an arm. In the file, it is a map from the layer's kind, the only key, to the parameters.
type LayerItem struct {
	Kind   string
	Config LayerConfig
}

// WorkloadItem is one workload. In the file, it is a map with the workload's kind as a key, and perhaps the keys name
// and label.
type WorkloadItem struct {
	Name   string `yaml:"name" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the workload, if two have the same kind"` // default: the kind
	Label  string `yaml:"label" pattern:"^[^\\x00-\\x1f\\x7f]{1,60}$" form:"up to 60 characters on one line" doc:"name of the workload that people see in reports; the workload's name if absent"`
	Kind   string
	Config WorkloadConfig
}

// design is the design of the experiment and the rules of its verdicts (docs/method.md).
type design struct {
	Rounds      Rounds           `yaml:"rounds" doc:"number of rounds; each runs every arm once, except that the control of a single treatment skips rounds; under 6 rounds there is no exact 95% interval"`
	Stop        stop             `yaml:"stop" doc:"condition that ends the run: planned (its rounds), or decided (every headline comparison is decided at a look)"`
	Looks       []int            `yaml:"looks" doc:"numbers of rounds after which the run ends if every headline comparison is decided, ascending, with stop: decided"`
	Precision   quantity.Percent `yaml:"precision" above:"0%" below:"100%" doc:"half-width of the interval to reach, instead of rounds (Stein's two-stage rule)"`
	Pilot       int              `yaml:"pilot" min:"2" max:"100000" doc:"rounds of the first stage, with precision"`
	MaxRounds   int              `yaml:"maxRounds" min:"2" max:"100000" doc:"largest number of rounds with precision"`
	Confidence  quantity.Percent `yaml:"confidence" min:"50%" below:"100%" doc:"confidence of the intervals"`
	Equivalence quantity.Percent `yaml:"equivalence" above:"0%" below:"100%" doc:"margin within which two arms count as equal"`
	Margins     Budget           `yaml:"margins" doc:"margins of single metrics, by metric or METRIC@CELL: a share, or an amount for metrics that may be zero"`
	Power       quantity.Percent `yaml:"power" min:"50%" below:"100%" doc:"power of the minimum detectable effect"`
	Seed        *uint64          `yaml:"seed" doc:"seed of the random order; drawn and recorded if absent"`
	SetUps      SetUps           `yaml:"setups" doc:"number of times that all arms are taken down and set up again"`
	Slices      Slices           `yaml:"slices" doc:"number of slices of a trial, between which the arms alternate"`
	Factorial   []Factor         `yaml:"factorial" doc:"2 to 4 layers of which every combination is an arm; the baseline has none of them"`
	Attempts    int              `yaml:"attempts" min:"1" max:"100" doc:"largest number of attempts at a trial; if all are spoilt, the round lacks the trial"`
}

// Limits are the rules that make a trial, or the run, invalid. A limit that is nil is not applied.
type Limits struct {
	Errors        *quantity.Percent `yaml:"errors" json:"errors" none:"true" max:"100%" doc:"share of failed operations in a trial"`
	ForeignCPU    *quantity.Percent `yaml:"foreignCPU" json:"foreignCPU" none:"true" max:"100%" doc:"CPU time of other programs, as a share of the machine's"`
	Steal         *quantity.Percent `yaml:"steal" json:"steal" none:"true" max:"100%" doc:"CPU time taken by the hypervisor, as a share of the machine's"`
	CPUPressure   *quantity.Percent `yaml:"cpuPressure" json:"cpuPressure" none:"true" max:"100%" doc:"share of the time in which some task waited for a CPU, also the workload's own"`
	Throttling    *int              `yaml:"throttling" json:"throttling" none:"true" min:"0" doc:"thermal or cgroup CPU throttling events during a trial"`
	Late          *quantity.Percent `yaml:"late" json:"late" none:"true" above:"0%" max:"10000%" doc:"lateness of a load generator, as a share of what its workload allows by its own late"`
	InvalidTrials *quantity.Percent `yaml:"invalidTrials" json:"invalidTrials" none:"true" max:"100%" doc:"share of planned trials that are lost to the condition of the machine or a failed proof after all attempts"`
}

// Kinds is the catalog: it makes the config of a layer or workload from the kind's name.
type Kinds struct {
	Layers    map[string]func() LayerConfig // each function returns a pointer to a config with its defaults
	Workloads map[string]func() WorkloadConfig
	// Read reads a file that a config names; nil: the name is a path on this machine, relative to the directory of
	// the experiment file.
	Read func(name string) ([]byte, error)
	// Elsewhere returns a hint about an unknown name; "": no hint. what is "layer", "workload" or "testbed". The field
	// may be nil.
	Elsewhere func(what, name string) string
	// Recorded is set if the file comes from the record of a run. A recorded file is not searched for secrets.
	Recorded bool
}

// Better is the good direction of a metric.
type Better string

const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Scale says whether values are compared by their ratio or by their difference.
type Scale string

const (
	// Ratio compares logarithms of values, so an overhead is a share of the baseline. A trial with a zero, negative or
	// missing value is invalid.
	Ratio Scale = "ratio"
	// Difference subtracts values in the metric's unit, for metrics that may be zero, such as retransmits. Headlines
	// never have this scale.
	Difference Scale = "difference"
)

// Metric is one quantity that a trial measures.
type Metric struct {
	Name     string `json:"name"`            // such as "tcp-bandwidth"
	Label    string `json:"label,omitempty"` // the name that people see, if the experiment file sets one
	Unit     string `json:"unit"`            // "bit/s", "s", "B", "s/Gbit"; "" for a count
	Better   Better `json:"better"`          // the good direction
	Headline bool   `json:"headline"`        // set if the metric gets a verdict under Holm's correction; the other metrics are exploratory
	Scale    Scale  `json:"scale"`
	Optional bool   `json:"optional,omitempty"` // set if a valid trial may lack the metric
	Discrete bool   `json:"discrete,omitempty"` // set if equal values in all trials are normal, as with memory counted in pages
	// FromStart is set if the start of the wrappers around the program is part of the measured time.
	FromStart bool `json:"fromStart,omitempty"`
	// Cap is the largest value that the hardware can reach, according to the file; 0: unknown. A value above both Cap
	// and Burst cannot come from the hardware.
	Cap float64 `json:"cap,omitempty"`
	// Burst is the largest value that the hardware reaches for a while, according to the file; 0: Cap is the limit of
	// bursts, too.
	Burst float64 `json:"burst,omitempty"`
	// Objective is the objective of a capacity: "p99 ≤ 20 ms, errors ≤ 0.1 %"; "" if the metric is no capacity.
	Objective string `json:"objective,omitempty"`
}
