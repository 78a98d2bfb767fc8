// Package churn loads the control plane of a cluster. It makes, updates and deletes objects from templates at a steady
// offered rate. It measures the latencies of the API server, and the times until controllers, the scheduler and other
// watchers (a service mesh, a policy engine) have the objects ready.
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
// The load is open: latencies, and times until an object is ready, count from the intended time of a request. So a slow
// response does not hide the wait of the requests behind it. A limited number of workers sends the requests. While no
// worker is free, requests are late: this lag is measured and has a limit.
//
// Prepare deletes the objects of earlier trials, waits until they are gone, and lets the cluster settle. Without churn,
// the measured part makes all objects. With churn, Prepare makes them, and the measured part changes a share of them,
// or takes it down and up again. The trial then waits until all objects are ready, and lets the cluster settle.
// Trial.Clear deletes the objects.
//
// The files: template.go turns a template into requests, and schedule.go computes their due times. generate.go sends
// all requests and deletes leftovers, and api.go sends a single request. watch.go and ready.go see objects become
// ready. record.go computes metrics and raw files. trial.go runs a trial, and makes single objects for Try.
package churn

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/workload"
)

// operation is the kind of change that the workload churn makes to its share of the objects.
type operation string

const (
	recreate operation = "recreate" // all churned objects are deleted, then made again under new names
	Update   operation = "update"   // every churned object is changed to the next revision of its template
	scale    operation = "scale"    // all churned objects are scaled to no replicas, then to the template's number
)

// Config is the parameters of the workload.
type Config struct {
	Objects     factor.Levels[int]                `yaml:"objects" json:"objects" doc:"number of objects, made from the templates in turn"`
	Rate        factor.Levels[quantity.Frequency] `yaml:"rate" json:"rate" doc:"requests offered per second"`
	Templates   []Template                        `yaml:"templates" json:"templates" required:"true" doc:"templates that objects are made from"`
	Churn       factor.Levels[quantity.Percent]   `yaml:"churn" json:"churn" doc:"share of the objects that is deleted and made again, or changed, while measuring; with 0% all objects are made while measuring"`
	Operation   operation                         `yaml:"operation" json:"operation" enum:"recreate,update,scale" doc:"change that is made to the share of the objects given by churn"`
	Duration    quantity.Duration                 `yaml:"duration" json:"duration" doc:"length of the churn, in whole turns (down and up) and at least one"`
	PodSecurity security                          `yaml:"podSecurity" json:"podSecurity" enum:"restricted,baseline,privileged" doc:"level of Pod Security that the templates' pods need; the namespaces that Tare makes allow it"`
	Settle      quantity.Duration                 `yaml:"settle" json:"settle" doc:"time for the cluster to come to rest: before the measurement, after objects are deleted and after objects are made; and after the measurement, while components are still observed"`
	Concurrency int                               `yaml:"concurrency" json:"concurrency" min:"1" max:"1000" doc:"most requests under way at a time"`
	Ready       quantity.Duration                 `yaml:"readyTimeout" json:"readyTimeout" doc:"how long objects may take to be ready after the last request"`
	Request     quantity.Duration                 `yaml:"requestTimeout" json:"requestTimeout" doc:"how long a request may take, repetitions after status 429 included"`
	Late        quantity.Duration                 `yaml:"late" json:"late" doc:"limit on the send lag, at its 99th percentile; beyond it the generator counts as late"`
	Shortfall   quantity.Percent                  `yaml:"shortfall" json:"shortfall" max:"100%" doc:"share of the offered rate that may be missing from the reached rate"`
}

// Template is a template of objects. Exactly one of the fields File and Inline gives its text.
type Template struct {
	Inline strictyaml.Document `yaml:"inline" json:"inline,omitempty" doc:"the object, with {{.Index}}, {{.Name}} and so on"`
	File   string              `yaml:"file" json:"file,omitempty" doc:"file with the object in place of inline, relative to the experiment file; its content is kept with the run"`
	Ready  Condition           `yaml:"ready" json:"ready" doc:"when an object counts as ready"`
	Fixed  int                 `yaml:"fixed" json:"fixed,omitempty" min:"0" max:"100000" doc:"number of objects of this template that are made before each trial and neither measured nor churned; such a template takes no turns"`

	read string // content of the file File
}

// security is a level of the Pod Security Standards.
type security string

const (
	restricted security = "restricted"
	baseline   security = "baseline"
	privileged security = "privileged"
)

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Objects:     factor.Of(100),
		Rate:        factor.Of(quantity.Frequency(20)),
		Churn:       factor.Of(quantity.Percent(0)),
		Operation:   recreate,
		PodSecurity: restricted,
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

// Declare lists the cluster, rights and settings that the workload needs.
func (c *Config) Declare() experiment.Declaration {
	d := experiment.Declaration{ReadFiles: c.readFiles, Validate: c.validate, Needs: experiment.Needs{Only: experiment.TestbedKubernetes}, Rights: c.rights,
		Elsewhere: "it makes objects of a cluster: bring one up, such as that of docs/test-cluster.md"}
	if c.PodSecurity != restricted {
		d.Needs.PodSecurity = []experiment.PodSecurity{{Level: string(c.PodSecurity), Why: "the workload churn says that its templates need it"}}
	}
	return d
}

// Measures returns the metrics of a trial, and its duration.
func (c *Config) Measures() experiment.Measures {
	prepare := 2*c.paceLimit() + 2*c.Ready.Std() + 2*c.Settle.Std() // twice each limit: for deleting leftovers, and for making objects
	limit := prepare + c.span() + c.Request.Std() + c.Ready.Std() + c.Settle.Std() + 10*time.Second
	return experiment.Measures{Metrics: c.measured(), Expected: c.expected(), Limit: limit}
}

// measured lists the metrics; a quantile needs 100 expected requests beyond it. The headline is the highest listed
// quantile of the time until ready.
func (c *Config) measured() []experiment.Metric {
	counts := c.counts()
	var metrics []experiment.Metric
	for _, v := range verbs {
		if n := counts[v]; n > 0 {
			metrics = append(metrics, workload.TimeMetrics(v.metric(), n, quantiles)...)
		}
	}
	ready := workload.TimeMetrics(readyMetric, counts[create]+counts[update], quantiles)
	ready[len(ready)-1].Headline, ready[len(ready)-1].Optional = true, false
	metrics = append(metrics, ready...)
	return append(metrics,
		experiment.Metric{Name: "rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio},
		experiment.Metric{Name: "ready-rate", Unit: "1/s", Better: experiment.Higher, Scale: experiment.Ratio, Optional: true},
		experiment.Metric{Name: "throttled", Better: experiment.Lower, Scale: experiment.Difference})
}

// usualPace is how many objects per second a cluster is assumed to make and delete outside of the measurement.
// Estimates of durations use it.
const usualPace = 100

// expected estimates the duration of a trial, with its parts before and after the measurement.
func (c *Config) expected() time.Duration {
	expected := c.span() + 2*c.Settle.Std() // the cluster settles twice: before the measurement and after it
	made := c.fixed()
	if c.Churn.One() > 0 {
		made += c.Objects.One()
	}
	if made > 0 {
		expected += c.Settle.Std()
	}
	return expected + time.Duration(made)*time.Second/usualPace
}

// paceLimit is the longest time for making, or for deleting, all objects of a trial outside of the measurement.
func (c *Config) paceLimit() time.Duration {
	return time.Minute + time.Duration(c.Objects.One()+c.fixed())*time.Second/slowestPace
}

// slowestPace is the lowest pace, in objects per second, at which a cluster without other load makes and deletes
// objects.
const slowestPace = 10

func (c *Config) fixed() int {
	n := 0
	for _, t := range c.Templates {
		n += t.Fixed
	}
	return n
}

// rights lists the workload's rights to objects of its templates. Resources are named by Kubernetes' usual spelling of
// the kind: pods from Pod.
func (c *Config) rights(namespace string) []experiment.Right {
	verbs := append([]string{"create", "delete", "list", "patch", "watch"}, inventory.RemovalVerbs...)
	slices.Sort(verbs)
	verbs = slices.Compact(verbs)
	var list []experiment.Right
	for _, t := range c.Templates {
		s, err := t.compile()
		if err != nil {
			continue // Validate reports this error
		}
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.kind.group, Version: s.kind.version, Kind: s.kind.name})
		list = append(list, experiment.Right{Group: plural.Group, Resource: plural.Resource, Namespace: namespace,
			Verbs: verbs, Why: "the workload churn makes objects of the kind " + s.kind.name})
	}
	return list
}

// Bounds on the load of one trial.
const (
	mostObjects  = 200_000
	mostRequests = 500_000
	highestRate  = 10_000 // requests per second
	longest      = 6 * time.Hour
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	workload.CheckNumbers(&errs, "objects", c.Objects, mostObjects, "objects")
	for i, r := range c.Rate {
		if r > highestRate {
			errs.Add(fmt.Sprintf("rate[%d]", i), "%v is more than %d/s", r, highestRate)
		}
	}
	churned := false
	for i, share := range c.Churn {
		churned = churned || share > 0
		if share > 1 {
			errs.Add(fmt.Sprintf("churn[%d]", i), "%v is more than all objects", share)
		}
	}
	if !churned && c.Duration > 0 {
		errs.Add("duration", "%v has no effect without churn, where a trial lasts until all objects are made", c.Duration)
	}
	workload.CheckTime(&errs, "duration", c.Duration, 0, longest)
	workload.CheckTime(&errs, "settle", c.Settle, 0, longest)
	workload.CheckTime(&errs, "readyTimeout", c.Ready, time.Second, longest)
	workload.CheckTime(&errs, "requestTimeout", c.Request, 100*time.Millisecond, longest)
	workload.CheckTime(&errs, "late", c.Late, time.Millisecond, longest)
	if len(errs) == 0 && float64(slices.Max(c.Objects))*4+float64(c.fixed())+float64(slices.Max(c.Rate))*c.Duration.Std().Seconds() > mostRequests {
		errs.Add("objects", "a trial could send more than %d requests: fewer objects, a lower rate or a shorter duration will do", mostRequests)
	}
	return append(errs, c.validateTemplates()...)
}

func (c *Config) validateTemplates() []experiment.FieldError {
	var errs experiment.FieldErrors
	moving := 0
	for i, t := range c.Templates {
		at := fmt.Sprintf("templates[%d]", i)
		field := at + ".inline"
		switch {
		case t.File != "":
			field = at + ".file"
		case t.Inline == "":
			field = at
		}
		if t.Fixed == 0 {
			moving++
		}
		s, err := t.compile()
		if err != nil {
			errs.Add(field, "%v", err)
			continue
		}
		if err := s.tryOut(c.churnsBy(scale) && t.Fixed == 0); err != nil {
			errs.Add(field, "%v", err)
			continue
		}
		if err := s.checkUpdate(); err != nil && c.churnsBy(Update) && t.Fixed == 0 {
			errs.Add(field, "%v", err)
		}
	}
	if moving == 0 {
		errs.Add("templates", "no template is left to make objects from: one without fixed is needed")
	}
	return errs
}

// churnsBy reports whether trials churn objects by the operation o.
func (c *Config) churnsBy(o operation) bool {
	return c.Operation == o && slices.ContainsFunc(c.Churn, func(p quantity.Percent) bool { return p > 0 })
}

func (s *source) tryOut(scales bool) error {
	for i := range 2 {
		v := values{Index: i, Name: fmt.Sprintf("churn-%d-1", i), Namespace: "tare", Objects: 2, Revision: 1}
		object, err := s.render(v)
		if err != nil {
			return err
		}
		if scales {
			if _, err := scaling(object, up, 1); err != nil {
				return err
			}
		}
		if _, err := s.finish(object, v, ownership{}); err != nil {
			return err
		}
	}
	return nil
}

// judge returns an error if a trial breaks a rule that only this workload has.
func (c *Config) judge(t *workload.Trial, out *outcome) error {
	lag := time.Duration(out.lag.ValueAtPercentile(99))
	reached := out.rate()
	switch {
	case out.succeeded == 0:
		return workload.Invalidf(workload.RuleErrors, "no request of %d succeeded: %s", len(out.requests), out.commonest())
	case out.unready > 0 && out.ready.TotalCount() == 0:
		return workload.Invalidf(workload.RuleTimeout, "no object was ready %v after the last request", c.Ready)
	case t.Late(lag, c.Late.Std()):
		return workload.Invalidf(workload.RuleLate, "send lag %v at its 99th percentile, over the limit of %v", lag.Round(time.Microsecond), c.Late)
	case out.unseen > c.Late.Std():
		return workload.Invalidf(workload.RuleLate, "a watch was broken for %v, in which objects may have become ready unseen", out.unseen.Round(time.Millisecond))
	case reached < out.offered*(1-float64(c.Shortfall)):
		return workload.Invalidf(workload.RuleRate, "%.1f of %.1f requests per second reached, less than %v allows (%d answers of 429, %d failures)",
			reached, out.offered, c.Shortfall, out.throttled, len(out.requests)-out.succeeded)
	}
	return nil
}

func (out *outcome) commonest() string {
	most, message := 0, "no failure was recorded"
	for m, n := range out.failures {
		if n > most || n == most && m < message {
			most, message = n, m
		}
	}
	return message
}
