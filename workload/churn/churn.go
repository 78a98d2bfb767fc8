// Package churn loads the control plane of a cluster: it makes, updates and
// deletes objects from templates at a steady offered rate, and measures what the
// API server, the controllers, the scheduler and whatever watches the objects
// (a service mesh, a policy engine) make of it.
//
//	workloads:
//	  - churn:
//	      objects: [100, 300, 1000]
//	      rate: 50/s
//	      templates:
//	        - inline: |
//	            apiVersion: v1
//	            kind: Pod
//	            …
//
// The load is open: each request has an intended time, and latencies and times
// until ready count from it, so that a slow answer does not hide the wait of those
// behind it. A bounded number of workers sends the requests; when none is free
// the generator is late, which is measured and has a limit.
//
// A trial begins with nothing: Prepare deletes what is left, waits until it is
// gone, and then for the cluster to settle, since the trial before, in whichever
// arm, has just deleted all that it had made. Without churn the measured part makes
// all objects. With churn they are made before, and the measured part takes a share
// of them down and up again, or changes it. Then come the waits until all are ready
// and for the cluster to settle. What the trial made is deleted after it (workload.Trial.Clear).
//
// The way through the files: template.go turns a template into requests without
// letting it loop; orders.go lays out which request is due when; api.go sends
// one, and generate.go all of them; watch.go and ready.go see objects become
// ready, by one watch for each kind; update.go refuses what cannot be told to be
// ready after an update; clean.go proves a clean slate; record.go makes values and
// raw files of it all, trial.go ties it together, and try.go makes one object of each
// template.
package churn

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/experiment/strictyaml"
	"tare/testbed"
	"tare/testbed/kube/inventory"
	"tare/workload"
)

// Operation is what is done to the share of the objects that is churned.
type Operation string

// The operations.
const (
	Recreate Operation = "recreate" // deleted, all of them, then made again under new names
	Update   Operation = "update"   // changed, with the template's next revision
	Scale    Operation = "scale"    // to no replicas, all of them, then to the template's number
)

// Values lists the operations.
func (Operation) Values() []string { return []string{string(Recreate), string(Update), string(Scale)} }

// Config is the parameters of the workload.
type Config struct {
	Objects     factor.Levels[int]                `yaml:"objects" json:"objects" doc:"number of objects, made from the templates in turn"`
	Rate        factor.Levels[quantity.Frequency] `yaml:"rate" json:"rate" doc:"requests offered per second"`
	Templates   []Template                        `yaml:"templates" json:"templates" required:"true" doc:"what objects are made from"`
	Churn       factor.Levels[quantity.Percent]   `yaml:"churn" json:"churn" doc:"share of the objects that is taken down and up again, or changed, while measuring; 0% measures the making of all"`
	Operation   Operation                         `yaml:"operation" json:"operation" doc:"what is done to that share"`
	Duration    quantity.Duration                 `yaml:"duration" json:"duration" doc:"how long the churn goes on, in whole turns (down and up) and at least one"`
	PodSecurity Level                             `yaml:"podSecurity" json:"podSecurity" doc:"level of Pod Security that the templates' pods need; the namespaces that Tare makes allow it"`
	Settle      quantity.Duration                 `yaml:"settle" json:"settle" doc:"time for the cluster to come to rest: before the measurement, after deleting, and after making what there has to be; and after it, when components are still observed"`
	Concurrency int                               `yaml:"concurrency" json:"concurrency" min:"1" max:"1000" doc:"requests under way at a time, at most"`
	Ready       quantity.Duration                 `yaml:"readyTimeout" json:"readyTimeout" doc:"how long objects may take to be ready after the last request"`
	Request     quantity.Duration                 `yaml:"requestTimeout" json:"requestTimeout" doc:"how long a request may take, repetitions after an answer of 429 included"`
	Late        quantity.Duration                 `yaml:"late" json:"late" doc:"send lag, at its 99th percentile, beyond which the generator counts as late"`
	Shortfall   quantity.Percent                  `yaml:"shortfall" json:"shortfall" max:"100%" doc:"share of the offered rate that may be missing from the rate reached"`
}

// Template is what objects are made from: exactly one of File and Inline.
type Template struct {
	Inline strictyaml.Document `yaml:"inline" json:"inline,omitempty" doc:"the object, with {{.Index}}, {{.Name}} and so on"`
	File   string              `yaml:"file" json:"file,omitempty" doc:"a file with the same, relative to the experiment file; its content is kept with the run"`
	Ready  Condition           `yaml:"ready" json:"ready" doc:"when an object counts as ready"`
	Fixed  int                 `yaml:"fixed" json:"fixed,omitempty" min:"0" max:"100000" doc:"number of objects of this template that are made before each trial and neither measured nor churned; it takes no turns then"`

	read string // content of the file
}

// Level is a level of the Pod Security Standards.
type Level string

// The levels.
const (
	Restricted Level = "restricted"
	Baseline   Level = "baseline"
	Privileged Level = "privileged"
)

// Values lists the levels.
func (Level) Values() []string {
	return []string{string(Restricted), string(Baseline), string(Privileged)}
}

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Objects:     factor.Of(100),
		Rate:        factor.Of(quantity.Frequency(20)),
		Churn:       factor.Of(quantity.Percent(0)),
		Operation:   Recreate,
		PodSecurity: Restricted,
		Settle:      quantity.Duration(5 * time.Second),
		Concurrency: 64,
		Ready:       quantity.Duration(time.Minute),
		Request:     quantity.Duration(30 * time.Second),
		Late:        quantity.Duration(100 * time.Millisecond),
		Shortfall:   0.05,
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    "churn",
	Example: "templates:\n  - inline: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {labels: {app: example}}",
	Summary: "objects made, updated and deleted on a cluster at a steady rate: API latency, time until ready",
	New:     New,
	Probe:   testbed.AlwaysWorks("churn", "needs the testbed kubernetes; no program"),
}

// Declare says what the workload needs of a cluster.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{ReadFiles: c.readFiles, Validate: c.validate, Needs: c.needs(), Rights: c.rights,
		Elsewhere: "it makes objects of a cluster: bring one up, such as that of docs/test-cluster.md"}
}

// needs asks for a cluster, and for no pods of Tare's.
func (c *Config) needs() experiment.Needs {
	needs := experiment.Needs{Only: experiment.TestbedKubernetes}
	if c.PodSecurity != Restricted {
		needs.PodSecurity = []experiment.PodSecurity{{Level: string(c.PodSecurity), Why: "the workload churn says that its templates need it"}}
	}
	return needs
}

// Measures says what a trial measures, and how long it takes.
func (c *Config) Measures() experiment.Measures {
	return experiment.Measures{Metrics: c.measured(), Expected: c.expected(), Limit: c.bound()}
}

// measured lists the metrics. A quantile is there only where the
// number of requests leaves a hundred of them beyond it; the furthest one of the
// time until ready is the headline.
func (c *Config) measured() []experiment.Metric {
	counts := c.counts()
	var metrics []experiment.Metric
	for _, v := range verbs {
		if n := counts[v]; n > 0 {
			metrics = append(metrics, spread(v.metric(), n)...)
		}
	}
	ready := spread(readyMetric, counts[create]+counts[update])
	ready[len(ready)-1].Headline, ready[len(ready)-1].Optional = true, false
	metrics = append(metrics, ready...)
	return append(metrics,
		experiment.Metric{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio},
		experiment.Metric{Name: "ready-rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio, Optional: true},
		experiment.Metric{Name: "throttled", Better: experiment.Lower, Scale: experiment.Difference})
}

// spread are the metrics of one distribution of n times: the mean, and the
// quantiles that n values support.
func spread(name string, n int) []experiment.Metric {
	metrics := []experiment.Metric{{Name: name + "-mean", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true}}
	for _, q := range quantiles {
		if q.supported(n) {
			metrics = append(metrics, experiment.Metric{Name: name + "-" + q.name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
		}
	}
	return metrics
}

// briskly is how many objects a second are assumed to be made and deleted outside
// of the measurement, for estimates.
const briskly = 100

// expected estimates how long a trial takes, with what belongs to it before and
// after the measurement.
func (c *Config) expected() time.Duration {
	expected := c.span() + 2*c.Settle.Std() // before and after
	made := c.fixed()
	if c.Churn.One() > 0 {
		made += c.Objects.One()
	}
	if made > 0 {
		expected += c.Settle.Std()
	}
	return expected + time.Duration(made)*time.Second/briskly
}

func (c *Config) bound() time.Duration {
	prepare := deleteLimit(c.Objects.One()+c.fixed()) + c.makeLimit() + 2*c.Ready.Std() + 2*c.Settle.Std()
	return prepare + c.span() + c.Request.Std() + c.Ready.Std() + c.Settle.Std() + 10*time.Second
}

// makeLimit is how long making the objects before the measurement may take.
func (c *Config) makeLimit() time.Duration {
	return time.Minute + time.Duration(c.Objects.One()+c.fixed())*time.Second/slowly
}

// slowly is how many objects a second at least a cluster makes and deletes when
// nothing holds it back but itself.
const slowly = 10

func (c *Config) fixed() int {
	n := 0
	for _, t := range c.Templates {
		n += t.Fixed
	}
	return n
}

// rights are those to make, change, watch and delete the objects, and to remove
// at its end what a run has left. Which resource a kind is, the cluster knows for
// certain: it is guessed by the rule that nearly all kinds follow.
func (c *Config) rights(namespace string) []experiment.Right {
	verbs := append([]string{"create", "delete", "list", "patch", "watch"}, inventory.RemovalVerbs...)
	slices.Sort(verbs)
	verbs = slices.Compact(verbs)
	var list []experiment.Right
	for _, t := range c.Templates {
		s, err := t.compile()
		if err != nil {
			continue // the file is refused for it
		}
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.kind.group, Version: s.kind.version, Kind: s.kind.name})
		list = append(list, experiment.Right{Group: plural.Group, Resource: plural.Resource, Namespace: namespace,
			Verbs: verbs, Why: "the workload churn makes objects of the kind " + s.kind.name})
	}
	return list
}
