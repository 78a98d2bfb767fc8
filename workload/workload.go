// Package workload says what a workload is to the runner: something that runs
// once in a site and yields metrics. Each workload is one package below this
// one; package catalog lists them.
package workload

import (
	"context"
	"io"
	"time"

	"tare/experiment"
	"tare/machine"
	"tare/testbed"
)

// Workload is a workload's parameters, all at one level, ready to run.
type Workload interface {
	experiment.WorkloadConfig
	// Prepare begins one trial with whatever belongs to it but is not measured
	// (a search for the rate to measure at, warm-up runs, files to lay out) and
	// gives the part that is. Both parts may take time; CPU time, conditions and
	// Result.Used cover the second one only (but see Searching). A trial that
	// breaks one of the method's rules returns an *Invalid error; any other error
	// ends the run.
	Prepare(ctx context.Context, site testbed.Site, raw Raw) (Measured, error)
}

// Measured is the measured part of a trial.
type Measured func(ctx context.Context) (Result, error)

// Raw takes the output of tools as they wrote it, into the trial's own directory.
type Raw interface {
	// Create opens a file to be kept, by a plain name ("iperf3-client.json").
	Create(name string) (io.WriteCloser, error)
}

// Rounded is a Raw that tells the round of the trial, from 1: whatever a workload
// draws at random is best drawn anew in each round, and alike for all its arms.
type Rounded interface {
	Round() int
}

// Result is what one trial measured.
type Result struct {
	Values map[string]float64 // by metric name, in the metric's unit
	// Used is what the programs under test consumed, by part: "client", "server".
	Used map[string]testbed.Usage
	// Unavailable names metrics that the testbed cannot tell in this trial, such as those
	// of a program whose Usage is Unavailable. That they are missing breaks no rule.
	Unavailable []string
	// Work is the amount of work done in units of Unit, for cost metrics.
	Work float64
	// Sent is the payload moved between the pods in bytes; 0 if unknown.
	Sent uint64
	// Failed is the share of operations that failed, 0 to 1.
	Failed float64
}

// Bounded is a workload that says how long a trial may take at most; the runner
// allows others five times what they expect and half a minute more.
type Bounded interface {
	Bound() time.Duration
}

// Clearing is a workload that leaves a load behind in its site, such as objects
// that a cluster keeps. Clear takes it away after every trial, valid or not,
// before another one starts in whichever arm. The trial is recorded by then. An error
// has it tried again, all within the limit of a trial, and ends the run at last.
type Clearing interface {
	Clear(ctx context.Context, site testbed.Site) error
}

// Searching is a workload whose Prepare may search for what is then measured. A
// search on a busy machine finds something else, so that the limits on the
// machine's conditions hold for it as they do for the measured part.
type Searching interface {
	Searches() bool
}

// Tooled is a workload that runs programs whose versions belong into the
// environment record.
type Tooled interface {
	Tools() []machine.ToolQuery
}

// Rules by which a trial is invalid. They are fixed before the run and never
// look at the value of a metric.
const (
	RuleExit       = "exit-status"  // a program failed
	RuleParse      = "parse"        // output that cannot be read
	RuleMetric     = "metric"       // a metric is missing, zero, negative or not finite
	RuleTimeout    = "timeout"      // the trial took too long
	RuleErrors     = "errors"       // failed operations over the limit
	RuleRate       = "rate"         // the requested rate was not reached
	RuleLate       = "late"         // the generator fell behind
	RuleProof      = "proof"        // a proof of treatment failed
	RuleForeignCPU = "foreign-cpu"  // other programs used the CPU
	RuleSteal      = "steal"        // the hypervisor took the CPU
	RulePressure   = "cpu-pressure" // tasks waited for a CPU
	RuleThrottled  = "throttling"   // the clock or the cgroup was throttled
	RuleStopped    = "stopped"      // Tare or the machine stood still in between
	RuleLost       = "lost"         // the site broke: a pod, its node or the connection to it
)

// Invalid is a trial that broke a rule.
type Invalid struct {
	Rule   string
	Detail string
}

func (e *Invalid) Error() string { return e.Rule + ": " + e.Detail }

// Kind describes a workload to `tare list` and `tare doctor`.
type Kind struct {
	Name    string
	Summary string // one line
	New     func() Workload
	// Probe tries whether the workload works on this machine.
	Probe func(ctx context.Context) []testbed.Finding
}
